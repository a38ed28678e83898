//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, one row
//! after the other.
//!
//! - **Parent**: `bias_gelu_rows`. The bias is read before x in place of after it, and each row is computed behind a
//!   branch, which the driver's compiler moves nothing across.
//! - **Ownership**: a block of 192 threads owns eight rows, a thread one quad of each: a row at width 768.
//! - **Memory**: eight 128-bit reads of x in flight, one of the bias before them, eight 128-bit writes; no shared memory,
//!   no barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: a thread writes a row as soon as it has arrived, where its parent computes all eight side by side and
//!   writes them last; reads and writes of the whole kernel overlap, and kernel time nears a copy's.

use crate::gpu::{F32x4, In, Out, array, block_x, block_y, each, kernel, thread_x, warp_barrier};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 192;
/// Rows of a block.
const ROWS: usize = 8;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 768), ceil(rows / 8)), block 192.
    pub fn bias_gelu_order(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let column = block_x() * THREADS + thread_x();
        let row = |i: usize| block_y() * ROWS as u32 + i as u32;
        let inside = |i: usize| column < quads && row(i) < rows;
        let quad = |i: usize| row(i) * quads + column;
        let bias = b.get4_if(column < quads, column).0;
        warp_barrier(); // else the driver's compiler asks for the bias last
        let x: [F32x4; ROWS] = array(|i| a.get4_if(inside(i), quad(i)));
        each::<ROWS>(|i| {
            if inside(i) {
                out.set4(quad(i), F32x4(from_fn(|v| gelu(x[i].0[v] + bias[v]))));
            }
        });
    }
}
