//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, reads
//! asked for as others are computed.
//!
//! - **Parent**: `bias_gelu_full`. Half the threads, of six rows each in place of three, of which three are in flight.
//! - **Ownership**: thread (x, y) of block (i, j) owns quad `64 i + x` of rows `24 j + y`, and every fourth further one.
//! - **Memory**: three 128-bit reads of x in flight, one of the bias, six 128-bit writes; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: the parent asks for all of x at once, and writes while what it asked for arrives; here reads and writes are
//!   spread over the whole time, as in the fastest copy (`copy_two`), without a second wave of blocks.

use crate::gpu::{F32x4, In, Out, array, block_x, block_y, each, kernel, thread_x, thread_y};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Quads of a row of a block.
const COLUMNS: u32 = 64;
/// Rows of threads of a block.
const DEPTH: u32 = 4;
/// Rows of a thread.
const ROWS: usize = 6;
/// Rows that a thread has asked for and not computed.
const AHEAD: usize = 3;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 256), ceil(rows / 24)), block (64, 4).
    pub fn bias_gelu_stream(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let column = block_x() * COLUMNS + thread_x();
        if column >= quads {
            return;
        }
        let row = |i: usize| block_y() * DEPTH * ROWS as u32 + i as u32 * DEPTH + thread_y();
        let quad = |i: usize| row(i) * quads + column;
        // Not `get4_fixed`: the driver's compiler would ask for all rows at the start.
        let read = |i: usize| {
            if row(i) < rows {
                a.get4(quad(i))
            } else {
                F32x4::ZERO
            }
        };
        let mut x: [F32x4; AHEAD] = array(read);
        let bias = b.get4_fixed(column).0;
        each::<ROWS>(|i| {
            if row(i) < rows {
                out.set4(quad(i), F32x4(from_fn(|v| gelu(x[i % AHEAD].0[v] + bias[v]))));
            }
            if i + AHEAD < ROWS {
                x[i % AHEAD] = read(i + AHEAD);
            }
        });
    }
}
