//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, in
//! blocks of 128 threads.
//!
//! - **Parent**: `bias_gelu_full`. A block has 64 x 2 threads in place of 64 x 8, a thread two quads in place of three, and
//!   the bias is read after x.
//! - **Ownership**: thread (x, y) of block (i, j) owns quad `64 i + x` of rows `4 j + y` and 2 further.
//! - **Memory**: two 128-bit reads of x in flight, one of the bias, two 128-bit writes; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: of all copies, that of 128 threads and two quads each (`copy_two`) is the fastest, where the copy of the
//!   parent's shape takes as long as the parent. This one has the faster shape, and a thread has one column, so that it
//!   divides nothing as `bias_gelu_two` does. Kernel time falls by the difference of the copies, 0.2 us.

use crate::gpu::{
    F32x4, In, Out, array, block_x, block_y, each, exp2, fma, kernel, reciprocal, thread_x,
    thread_y,
};
use core::array::from_fn;

/// Quads of a row of a block.
const COLUMNS: u32 = 64;
/// Rows of threads of a block.
const DEPTH: u32 = 2;
/// Rows of a thread.
const ROWS: usize = 2;
/// `-2 sqrt(2 / pi) log2(e)`: the exponent's linear term.
const LINEAR: f32 = -2.302_208_2;
/// `0.044715` times [`LINEAR`]: its cubic term.
const CUBIC: f32 = -0.102_943_24;

/// `0.5 z (1 + tanh u)` is `z / (1 + 2^p)` with `p = -2 u log2(e)`, which neither cancels for negative z nor
/// overflows into NaN.
fn gelu(z: f32) -> f32 {
    let p = z * fma(CUBIC, z * z, LINEAR);
    z * reciprocal(1.0 + exp2(p))
}

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 256), ceil(rows / 4)), block (64, 2).
    pub fn bias_gelu_slab(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let column = block_x() * COLUMNS + thread_x();
        if column >= quads {
            return;
        }
        let row = |i: usize| block_y() * DEPTH * ROWS as u32 + i as u32 * DEPTH + thread_y();
        let quad = |i: usize| row(i) * quads + column;
        let x: [F32x4; ROWS] = array(|i| a.get4_if(row(i) < rows, quad(i)));
        let bias = b.get4_fixed(column).0;
        each::<ROWS>(|i| {
            if row(i) < rows {
                out.set4(quad(i), F32x4(from_fn(|v| gelu(x[i].0[v] + bias[v]))));
            }
        });
    }
}
