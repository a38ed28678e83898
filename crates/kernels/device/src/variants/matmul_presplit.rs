//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, A and B split by the grid before it multiplies.
//!
//! - **Parent**: `matmul_wgmma_f16x3_cluster`. There eight blocks split the same elements over again, and the tensor
//!   cores waited for a warpgroup that loaded, split and stored B. Here the grid splits A and B first, each element
//!   once, into scratch memory ([`tiles`](crate::parts::tiles)), and multiplies behind a barrier of the grid;
//!   then copies that no thread carries out feed shared memory, and warpgroups multiply from there
//!   ([`presplit`](crate::parts::presplit)).
//! - **Ownership**: a cluster of two blocks owns a tile of 128 x 128 of C, each block half of K. In a block, warpgroups
//!   0 and 1 split first, and then own 64 rows each; one more thread starts the copies. In the end block r of a
//!   tile owns the rows of its warpgroup r.
//! - **Memory**: three stages of 64 steps along K, 65536 bytes each, with a barrier each for full and for empty;
//!   32768 bytes more take the sums from the other block. 8 MB of scratch memory at 1024 x 1024 x 1024, which
//!   the L2 cache holds.
//! - **Dims**: m and n multiples of 128 up to 1024, so that every block is resident, k of 256.
//! - **Accuracy**: as the parent, with the products of 128 steps from zero in place of 64; a tile of C computes its
//!   outputs from FP32 values if one of its tiles of A or B lies outside the domain.
//! - **Effect**: splitting and the barrier take about 4 us, in which tensor cores rest; then they are what the main
//!   loop waits for, but for 67 MB that the L2 cache delivers, at 1024 x 1024 x 1024. Kernel time falls a little.

use crate::gpu::{In, Out, Scratch, kernel, shared};
use crate::parts::presplit::{WORDS, matmul};

shared! {
    /// What the kernel shares.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (2 * n/128, m/128), block 288, cluster 2.
    pub fn matmul_presplit(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        matmul::<1, 1>(shared_words(), a, b, out, m, n, k, scratch);
    }
}
