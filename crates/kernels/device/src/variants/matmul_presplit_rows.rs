//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, split by the grid, each copy of A for two blocks.
//!
//! - **Parent**: `matmul_presplit`. Of the tiles of A that two neighbouring tiles of C need, each of their blocks
//!   copies one half, to both at once (`multicast`).
//! - **Ownership**: a cluster of four blocks owns 128 x 256 of C; otherwise as the parent.
//! - **Memory**: as the parent.
//! - **Dims**: m a multiple of 128, n of 256, both up to 1024, k of 256.
//! - **Accuracy**: as the parent.
//! - **Effect**: 50 MB in place of 67 leave the L2 cache at 1024 x 1024 x 1024; kernel time falls if the main loop
//!   waits for them.

use crate::gpu::{In, Out, Scratch, kernel, shared};
use crate::parts::presplit::{WORDS, matmul};

shared! {
    /// What the kernel shares.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (2 * n/128, m/128), block 288, cluster 4.
    pub fn matmul_presplit_rows(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        matmul::<2, 1>(shared_words(), a, b, out, m, n, k, scratch);
    }
}
