//! The twin of `bias_gelu_pair`: the same reads and writes of x and the output, and nothing computed.
//!
//! - **Parent**: `bias_gelu_pair`. The output is x; the bias is not read.
//! - **Ownership**: a block of 192 threads owns two rows, a thread every 192nd quad of both.
//! - **Memory**: two 128-bit reads in flight and two 128-bit writes a thread.
//! - **Dims**: width a multiple of 4, even rows.
//! - **Effect**: its kernel time is the least that the access shape allows.

use crate::gpu::{F32x4, In, Out, array, block_x, each, kernel, thread_x};

/// Threads of a block.
const THREADS: u32 = 192;
/// Rows of a block.
const ROWS: usize = 2;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows / 2, block 192.
    pub fn copy_pair(a: In<f32>, _b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
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
