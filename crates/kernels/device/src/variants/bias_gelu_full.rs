//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, in
//! one wave of all threads that the device holds.
//!
//! - **Parent**: `bias_gelu_pair`. A block has 64 x 8 threads and owns a third of 24 rows at width 768, a thread three
//!   quads in place of two.
//! - **Ownership**: thread (x, y) of block (i, j) owns quad `64 i + x` of rows `24 j + y`, 8 and 16 further.
//! - **Memory**: three 128-bit reads of x in flight, one of the bias before them, three 128-bit writes; no shared
//!   memory, no barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: 513 blocks of 4096 x 768, of which 528 run at once with all 64 warps of each multiprocessor: no block
//!   waits for another, no thread has more than three quads. Kernel time falls if either counts.

use crate::gpu::{F32x4, In, Out, array, block_x, block_y, each, kernel, thread_x, thread_y};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Quads of a row of a block.
const COLUMNS: u32 = 64;
/// Rows of threads of a block.
const DEPTH: u32 = 8;
/// Rows of a thread.
const ROWS: usize = 3;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 256), ceil(rows / 24)), block (64, 8).
    pub fn bias_gelu_full(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let column = block_x() * COLUMNS + thread_x();
        if column >= quads {
            return;
        }
        let row = |i: usize| block_y() * DEPTH * ROWS as u32 + i as u32 * DEPTH + thread_y();
        let quad = |i: usize| row(i) * quads + column;
        let bias = b.get4_fixed(column).0;
        let x: [F32x4; ROWS] = array(|i| a.get4_if(row(i) < rows, quad(i)));
        each::<ROWS>(|i| {
            if row(i) < rows {
                out.set4(quad(i), F32x4(from_fn(|v| gelu(x[i].0[v] + bias[v]))));
            }
        });
    }
}
