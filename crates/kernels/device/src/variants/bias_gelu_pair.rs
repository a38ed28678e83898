//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, two
//! rows a thread.
//!
//! - **Parent**: `bias_gelu_rows`. A thread owns the same quad of two rows in place of eight, and reads the bias
//!   before x in place of after it.
//! - **Ownership**: a block of 192 threads owns two rows, a thread every 192nd quad of both: one at width 768.
//! - **Memory**: two 128-bit reads of x in flight, one of the bias, two 128-bit writes; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4, even rows.
//! - **Effect**: the driver's compiler writes all rows of a thread after the last is computed, so that a thread of
//!   eight rows writes only once its last read arrives, and the kernel reads before it writes. Threads of two rows,
//!   2048 blocks of which 1320 run at once, do both side by side; kernel time nears a copy's.

use crate::gpu::{F32x4, In, Out, array, block_x, each, kernel, thread_x};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 192;
/// Rows of a block.
const ROWS: usize = 2;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows / 2, block 192.
    pub fn bias_gelu_pair(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
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
