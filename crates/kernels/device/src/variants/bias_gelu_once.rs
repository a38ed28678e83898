//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, with
//! hints to the caches.
//!
//! - **Parent**: `bias_gelu_rows`. Reads of x and writes tell the caches that nothing follows.
//! - **Ownership**: a block of 192 threads owns eight rows, a thread every 192nd quad of each: one at width 768.
//! - **Memory**: eight 128-bit reads of x in flight, evicted first, one of the bias for all of them, eight
//!   128-bit writes, evicted first; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4, rows of 8.
//! - **Effect**: lines that nobody reads again make no room for themselves in L1; kernel time falls if that
//!   costs anything, and rises if what the next launch reads leaves L2.

use crate::gpu::{F32x4, In, Out, array, block_x, each, kernel, thread_x};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 192;
/// Rows of a block.
const ROWS: usize = 8;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows / 8, block 192.
    pub fn bias_gelu_once(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
        let quads = width / 4;
        let first = block_x() * ROWS as u32 * quads;
        let mut column = thread_x();
        while column < quads {
            let quad = |row: usize| first + row as u32 * quads + column;
            let x: [F32x4; ROWS] = array(|row| a.get4_once(quad(row)));
            let bias = b.get4(column).0;
            each::<ROWS>(|row| {
                let x = x[row].0;
                out.set4_once(quad(row), F32x4(from_fn(|i| gelu(x[i] + bias[i]))));
            });
            column += THREADS;
        }
    }
}
