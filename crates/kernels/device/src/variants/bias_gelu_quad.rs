//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, four
//! outputs a thread.
//!
//! - **Parent**: `bias_gelu`. A thread owns a quad in place of one output, and the exponent is one product
//!   `z (c1 + c3 z^2)` with its constants folded.
//! - **Ownership**: blocks of 256 threads over the flat output, a quad a thread.
//! - **Memory**: one 128-bit read of x, one of the bias, one 128-bit write; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: kernel time falls with a quarter of the memory instructions and of the index arithmetic.

use crate::gpu::{F32x4, In, Out, block_x, kernel, split, thread_x};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 256;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid ceil(rows * width / 1024), block 256.
    pub fn bias_gelu_quad(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let quad = block_x() * THREADS + thread_x();
        if quad < rows * quads {
            let (_, column) = split(quad, quads);
            let (x, bias) = (a.get4(quad).0, b.get4(column).0);
            out.set4(quad, F32x4(from_fn(|i| gelu(x[i] + bias[i]))));
        }
    }
}
