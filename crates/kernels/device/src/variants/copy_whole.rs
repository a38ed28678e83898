//! The twin of `bias_gelu_whole`: the same reads and writes of x and the output, and nothing computed.
//!
//! - **Parent**: `bias_gelu_whole`. The output is x; the bias is not read.
//! - **Ownership**: thread (x, y) of block i owns quad x of the rows `8 i + y` and `8 i + y + 4`.
//! - **Memory**: two 128-bit reads in flight and two 128-bit writes a thread.
//! - **Dims**: width 768, rows a multiple of 8.
//! - **Effect**: its kernel time is the least that the access shape allows.

use crate::gpu::{F32x4, In, Out, block_x, each, kernel, thread_x, thread_y};
use core::array::from_fn;

/// Quads of a row.
const QUADS: u32 = 192;
/// Rows of threads of a block.
const DEPTH: u32 = 4;
/// Rows of a thread.
const ROWS: usize = 2;

kernel! {
    /// a (rows,768), b (768), out (rows,768). Grid rows / 8, block (192, 4).
    pub fn copy_whole(a: In<f32>, _b: In<f32>, out: Out<f32>, _rows: u32, _width: u32) {
        let first = (block_x() * DEPTH * ROWS as u32 + thread_y()) * QUADS + thread_x();
        let a = a.from(4 * first);
        let quad = |i: usize| i as u32 * DEPTH * QUADS;
        let x: [F32x4; ROWS] = from_fn(|i| a.get4_fixed(quad(i)));
        each::<ROWS>(|i| out.set4(first + quad(i), x[i]));
    }
}
