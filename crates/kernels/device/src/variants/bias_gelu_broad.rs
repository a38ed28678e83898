//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, in
//! blocks of 256 threads.
//!
//! - **Parent**: `bias_gelu_slab`. A block has 64 x 4 threads in place of 64 x 2.
//! - **Ownership**: thread (x, y) of block (i, j) owns quad `64 i + x` of rows `8 j + y` and 4 further.
//! - **Memory**: as its parent.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: half the blocks to start, each twice as coarse: kernel time says which counts.

use crate::gpu::{
    F32x4, In, Out, array, block_x, block_y, each, exp2, fma, kernel, reciprocal, thread_x,
    thread_y,
};
use core::array::from_fn;

/// Quads of a row of a block.
const COLUMNS: u32 = 64;
/// Rows of threads of a block.
const DEPTH: u32 = 4;
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
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 256), ceil(rows / 8)), block (64, 4).
    pub fn bias_gelu_broad(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
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
