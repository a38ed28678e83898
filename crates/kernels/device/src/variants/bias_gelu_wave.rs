//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, in
//! blocks of 768 threads.
//!
//! - **Parent**: `bias_gelu_rows`. A block has 192 x 4 threads in place of 192, a thread four rows in place of
//!   eight.
//! - **Ownership**: a block owns 16 rows; thread (x, y) rows y, y + 4, y + 8 and y + 12, and of each every 192nd
//!   quad from x on: one at width 768.
//! - **Memory**: four 128-bit reads of x in flight, one of the bias for all of them, four 128-bit writes; no
//!   shared memory, no barrier.
//! - **Dims**: width a multiple of 4, rows of 16.
//! - **Effect**: half the blocks to launch and twice the warps to hide the arithmetic of one behind the accesses
//!   of another, with the same bytes in flight. Kernel time falls where either matters.

use crate::gpu::{F32x4, In, Out, array, block_x, each, kernel, thread_x, thread_y};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Threads of a block along a row.
const THREADS: u32 = 192;
/// Threads of a block across rows.
const DEPTH: u32 = 4;
/// Rows of a thread.
const ROWS: usize = 4;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows / 16, block (192, 4).
    pub fn bias_gelu_wave(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
        let quads = width / 4;
        let first = (block_x() * DEPTH * ROWS as u32 + thread_y()) * quads;
        let mut column = thread_x();
        while column < quads {
            let quad = |row: usize| first + row as u32 * DEPTH * quads + column;
            let x: [F32x4; ROWS] = array(|row| a.get4(quad(row)));
            let bias = b.get4(column).0;
            each::<ROWS>(|row| {
                let x = x[row].0;
                out.set4(quad(row), F32x4(from_fn(|i| gelu(x[i] + bias[i]))));
            });
            column += THREADS;
        }
    }
}
