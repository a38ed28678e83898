//! The twin of `bias_gelu_slab`: the same reads and writes of x and the output, and nothing computed.
//!
//! - **Parent**: `bias_gelu_slab`. The output is x; the bias is not read.
//! - **Ownership**: thread (x, y) of block (i, j) owns quad `64 i + x` of rows `4 j + y` and 2 further.
//! - **Memory**: two 128-bit reads in flight and two 128-bit writes a thread.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: its kernel time is the least that the access shape allows.

use crate::gpu::{F32x4, In, Out, array, block_x, block_y, each, kernel, thread_x, thread_y};

/// Quads of a row of a block.
const COLUMNS: u32 = 64;
/// Rows of threads of a block.
const DEPTH: u32 = 2;
/// Rows of a thread.
const ROWS: usize = 2;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 256), ceil(rows / 4)), block (64, 2).
    pub fn copy_slab(a: In<f32>, _b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let column = block_x() * COLUMNS + thread_x();
        if column >= quads {
            return;
        }
        let row = |i: usize| block_y() * DEPTH * ROWS as u32 + i as u32 * DEPTH + thread_y();
        let quad = |i: usize| row(i) * quads + column;
        let x: [F32x4; ROWS] = array(|i| a.get4_if(row(i) < rows, quad(i)));
        each::<ROWS>(|i| {
            if row(i) < rows {
                out.set4(quad(i), x[i]);
            }
        });
    }
}
