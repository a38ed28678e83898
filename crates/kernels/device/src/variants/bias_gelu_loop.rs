//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, whole rows of
//! 768 a block, one written before the next is computed.
//!
//! - **Parent**: `bias_gelu_whole`. The driver's compiler computes both rows of a thread side by side there, and writes them at
//!   the end. Here they are turns of a loop, whose number it does not know.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent; both reads of x are in flight before the loop.
//! - **Dims**: width 768, rows a multiple of 8.
//! - **Effect**: writes take most of a copy's time and start half as much arithmetic earlier, so that it hides behind
//!   them; half the code to fetch. Kernel time comes near that of `copy_whole`.

use crate::gpu::{F32x4, In, Out, block_x, kernel, thread_x, thread_y};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Quads of a row.
const QUADS: u32 = 192;
/// Rows of threads of a block.
const DEPTH: u32 = 4;
/// Rows of a block.
const ROWS: u32 = 2 * DEPTH;

kernel! {
    /// a (rows,768), b (768), out (rows,768). Grid rows / 8, block (192, 4).
    pub fn bias_gelu_loop(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, _width: u32) {
        let mut row = block_x() * ROWS + thread_y();
        let end = rows.min((block_x() + 1) * ROWS);
        let mut quad = row * QUADS + thread_x();
        let a = a.from(4 * quad);
        let bias = b.get4_fixed(thread_x()).0;
        let mut x = a.get4_fixed(0);
        let mut next = a.get4_fixed(DEPTH * QUADS);
        // Two turns, of which the compilers know one: they interleave none.
        loop {
            out.set4(quad, F32x4(from_fn(|v| gelu(x.0[v] + bias[v]))));
            row += DEPTH;
            if row >= end {
                return;
            }
            quad += DEPTH * QUADS;
            (x, next) = (next, x);
        }
    }
}
