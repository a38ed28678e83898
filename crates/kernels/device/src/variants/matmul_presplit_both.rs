//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, split by the grid, each copy of A and of B for two blocks.
//!
//! - **Parent**: `matmul_presplit_rows`. Blocks one above the other share the copies of B too.
//! - **Ownership**: a cluster of eight blocks owns 256 x 256 of C; otherwise as the parent.
//! - **Memory**: as the parent.
//! - **Dims**: m and n multiples of 256 up to 1024, k of 256. A device whose groups of processors do not hold 16
//!   clusters of eight at once refuses the launch.
//! - **Accuracy**: as the parent.
//! - **Effect**: 34 MB in place of 50 leave the L2 cache at 1024 x 1024 x 1024, less than tensor cores take; but a
//!   block waits for three others where it waited for one.

use crate::gpu::{In, Out, Scratch, kernel, shared};
use crate::parts::presplit::{WORDS, matmul};

shared! {
    /// What the kernel shares.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (4 * n/128, m/256), block 288, cluster 8.
    pub fn matmul_presplit_both(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        matmul::<2, 2>(shared_words(), a, b, out, m, n, k, scratch);
    }
}
