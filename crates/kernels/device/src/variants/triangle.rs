//! Triangle contraction, `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`.
//!
//! - **Parent**: none. The first triangle contraction.
//! - **Ownership**: blocks of 256 threads over the flat output, one output a thread, the channel fastest.
//! - **Memory**: two reads a multiply-add, of neighbouring channels by neighbouring threads; no shared memory,
//!   no barrier. What threads share, the caches give.
//! - **Dims**: any n, channels.
//! - **Effect**: bounded by cache traffic; one launch, and no transposed copies.

use crate::gpu::{In, Out, block_x, fma, kernel, split, thread_x};

/// Threads of a block.
const THREADS: u32 = 256;

kernel! {
    /// a, b, out (n,n,channels). Grid ceil(n * n * channels / 256), block 256.
    pub fn triangle(a: In<f32>, b: In<f32>, out: Out<f32>, n: u32, channels: u32) {
        let index = block_x() * THREADS + thread_x();
        if index < n * n * channels {
            let (pair, channel) = split(index, channels);
            let (i, j) = split(pair, n);
            let mut sum = 0.0;
            for k in 0..n {
                let a_value = a.get((i * n + k) * channels + channel);
                let b_value = b.get((j * n + k) * channels + channel);
                sum = fma(a_value, b_value, sum);
            }
            out.set(index, sum);
        }
    }
}
