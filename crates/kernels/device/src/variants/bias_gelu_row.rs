//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, a row
//! a block.
//!
//! - **Parent**: `bias_gelu_pair`. A block owns one row in place of two.
//! - **Ownership**: a block of 192 threads owns a row, a thread every 192nd quad of it: one at width 768.
//! - **Memory**: one 128-bit read of x in flight, one of the bias, one 128-bit write; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: the finest grain of reads and writes, against twice the reads of the bias and twice the blocks;
//!   kernel time says which of both counts.

use crate::gpu::{F32x4, In, Out, array, block_x, each, kernel, thread_x};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 192;
/// Rows of a block.
const ROWS: usize = 1;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows, block 192.
    pub fn bias_gelu_row(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
        let quads = width / 4;
        let first = block_x() * ROWS as u32 * quads;
        let mut column = thread_x();
        while column < quads {
            let quad = |row: usize| first + row as u32 * quads + column;
            let bias = b.get4_fixed(column).0;
            let x: [F32x4; ROWS] = array(|row| a.get4_fixed(quad(row)));
            each::<ROWS>(|row| {
                let x = x[row].0;
                out.set4(quad(row), F32x4(from_fn(|i| gelu(x[i] + bias[i]))));
            });
            column += THREADS;
        }
    }
}
