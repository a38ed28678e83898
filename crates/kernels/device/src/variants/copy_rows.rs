//! The twin of `bias_gelu_rows`: the same reads and writes of x and the output, and nothing computed.
//!
//! - **Parent**: `bias_gelu_rows`. The output is x; the bias is not read.
//! - **Ownership**: a block of 192 threads owns eight rows, a thread every 192nd quad of each.
//! - **Memory**: eight 128-bit reads in flight and eight 128-bit writes a thread.
//! - **Dims**: width a multiple of 4, rows of 8.
//! - **Effect**: its kernel time is the least that the access shape allows.

use crate::gpu::{F32x4, In, Out, array, block_x, each, kernel, thread_x};

/// Threads of a block.
const THREADS: u32 = 192;
/// Rows of a block.
const ROWS: usize = 8;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows / 8, block 192.
    pub fn copy_rows(a: In<f32>, _b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
        let quads = width / 4;
        let first = block_x() * ROWS as u32 * quads;
        let mut column = thread_x();
        while column < quads {
            let quad = |row: usize| first + row as u32 * quads + column;
            let x: [F32x4; ROWS] = array(|row| a.get4_fixed(quad(row)));
            each::<ROWS>(|row| out.set4(quad(row), x[row]));
            column += THREADS;
        }
    }
}
