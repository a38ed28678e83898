//! The twin of `bias_gelu_two`: the same reads and writes of x and the output, and nothing computed.
//!
//! - **Parent**: `bias_gelu_two`. The output is x; the bias is not read.
//! - **Ownership**: a block owns 256 neighbouring quads of the flat output, a thread two of them, 128 apart.
//! - **Memory**: two 128-bit reads in flight and two 128-bit writes a thread.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: its kernel time is the least that the access shape allows.

use crate::gpu::{F32x4, In, Out, array, block_x, each, kernel, thread_x};

/// Threads of a block.
const THREADS: u32 = 128;
/// Quads of a thread.
const QUADS: usize = 2;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid ceil(rows * width / 1024), block 128.
    pub fn copy_two(a: In<f32>, _b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let first = block_x() * THREADS * QUADS as u32 + thread_x();
        let quad = |i: usize| first + i as u32 * THREADS;
        let inside = |i: usize| quad(i) < rows * (width / 4);
        let x: [F32x4; QUADS] = array(|i| a.get4_if(inside(i), quad(i)));
        each::<QUADS>(|i| {
            if inside(i) {
                out.set4(quad(i), x[i]);
            }
        });
    }
}
