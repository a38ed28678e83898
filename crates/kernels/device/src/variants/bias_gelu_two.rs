//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, two
//! quads a thread.
//!
//! - **Parent**: `bias_gelu_quad`. Blocks have 128 threads in place of 256, and a thread two quads in place of one.
//! - **Ownership**: a block owns 256 neighbouring quads of the flat output, a thread two of them, 128 apart.
//! - **Memory**: two 128-bit reads of x in flight, two of the bias, two 128-bit writes; no shared memory, no
//!   barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: twice the bytes in flight a thread, in the shape that tuned Triton chooses for a copy.

use crate::gpu::{F32x4, In, Out, block_x, kernel, split, thread_x};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 128;
/// Quads of a thread.
const QUADS: usize = 2;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid ceil(rows * width / 1024), block 128.
    pub fn bias_gelu_two(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let first = block_x() * THREADS * QUADS as u32 + thread_x();
        let quad: [u32; QUADS] = from_fn(|i| first + i as u32 * THREADS);
        let inside = |i: usize| quad[i] < rows * quads;
        let x: [F32x4; QUADS] = from_fn(|i| a.get4_if(inside(i), quad[i]));
        let bias: [F32x4; QUADS] = from_fn(|i| b.get4(split(quad[i], quads).1));
        for i in 0..QUADS {
            if inside(i) {
                out.set4(quad[i], F32x4(from_fn(|v| gelu(x[i].0[v] + bias[i].0[v]))));
            }
        }
    }
}
