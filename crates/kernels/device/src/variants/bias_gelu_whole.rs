//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, whole rows of
//! 768 a block, with nothing to check.
//!
//! - **Parent**: `bias_gelu_full`. Two quads a thread in place of three, in a block that is as wide as the matrix and of
//!   which no thread lies outside.
//! - **Ownership**: thread (x, y) of block i owns quad x of the rows `8 i + y` and `8 i + y + 4`.
//! - **Memory**: two 128-bit reads of x in flight, one of the bias before them, two 128-bit writes; no shared memory, no
//!   barrier. A block reads and writes 24 KiB without a gap.
//! - **Dims**: width 768, rows a multiple of 8.
//! - **Effect**: writes alone take most of a copy's time, so that kernel time falls with the time to the first of
//!   them: here one address and constants give all others, and nothing is compared. Two blocks of a multiprocessor leave
//!   half of the matrix for when they end: its reads meet writes.

use crate::gpu::{F32x4, In, Out, block_x, each, kernel, thread_x, thread_y};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Quads of a row.
const QUADS: u32 = 192;
/// Rows of threads of a block.
const DEPTH: u32 = 4;
/// Rows of a thread.
const ROWS: usize = 2;

kernel! {
    /// a (rows,768), b (768), out (rows,768). Grid rows / 8, block (192, 4).
    pub fn bias_gelu_whole(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, _width: u32) {
        let first = (block_x() * DEPTH * ROWS as u32 + thread_y()) * QUADS + thread_x();
        let a = a.from(4 * first);
        let quad = |i: usize| i as u32 * DEPTH * QUADS;
        let bias = b.get4_fixed(thread_x()).0;
        let x: [F32x4; ROWS] = from_fn(|i| a.get4_fixed(quad(i)));
        each::<ROWS>(|i| out.set4(first + quad(i), F32x4(from_fn(|v| gelu(x[i].0[v] + bias[v])))));
    }
}
