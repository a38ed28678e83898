//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`.
//!
//! - **Parent**: none. The first bias + GELU.
//! - **Ownership**: blocks of 256 threads over the flat output, one output a thread.
//! - **Memory**: one read of x, one of the bias, one write; no shared memory, no barrier.
//! - **Dims**: any rows, width.
//! - **Effect**: bounded by memory traffic; one launch where a library takes two.

use crate::gpu::{In, Out, block_x, exp, fma, kernel, reciprocal, split, thread_x};

/// Threads of a block.
const THREADS: u32 = 256;
/// `sqrt(2 / pi)`.
const SCALE: f32 = 0.797_884_56;
/// Weight of the cubic term.
const CUBIC: f32 = 0.044_715;

/// `0.5 z (1 + tanh u)` is `z / (1 + e^(-2u))`, which neither cancels for negative z nor overflows into NaN:
/// the absolute error is below 1e-6 for |z| up to 8, and a few ulp of the result where that is larger.
fn gelu(z: f32) -> f32 {
    let u = SCALE * fma(CUBIC * z * z, z, z);
    z * reciprocal(1.0 + exp(-2.0 * u))
}

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid ceil(rows * width / 256), block 256.
    pub fn bias_gelu(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let index = block_x() * THREADS + thread_x();
        if index < rows * width {
            let (_, column) = split(index, width);
            out.set(index, gelu(a.get(index) + b.get(column)));
        }
    }
}
