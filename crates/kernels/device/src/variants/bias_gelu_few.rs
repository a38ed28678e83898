//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, one
//! reciprocal for four elements, in one wave.
//!
//! - **Parent**: `bias_gelu_full`. The four elements of a quad share one reciprocal, as in `bias_gelu_share`.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent.
//! - **Dims**: width a multiple of 4; any rows. A NaN in a quad makes the whole quad NaN.
//! - **Effect**: 1.25 operations of the special function unit an element in place of 2, which makes `bias_gelu_share`
//!   faster than its parent. Kernel time nears that of `copy_full`.

use crate::gpu::{
    F32x4, In, Out, array, block_x, block_y, each, exp2, fma, kernel, max, reciprocal, thread_x,
    thread_y,
};
use crate::parts::gelu::{CUBIC, LINEAR};
use core::array::from_fn;

/// Quads of a row of a block.
const COLUMNS: u32 = 64;
/// Rows of threads of a block.
const DEPTH: u32 = 8;
/// Rows of a thread.
const ROWS: usize = 3;

/// Below it, GELU lies within 3e-9 of zero and counts as its value here, where `2^p` is below `2^31`: four such
/// factors neither overflow nor have a subnormal reciprocal.
const LEAST: f32 = -5.6;

/// `0.5 z (1 + tanh u)` is `z / (1 + 2^p)` with `p = -2 u log2(e)`; of four denominators, each reciprocal is that of
/// their product times the other three.
fn gelu(z: [f32; 4]) -> [f32; 4] {
    let z = z.map(|z| max(z, LEAST));
    let d = z.map(|z| 1.0 + exp2(z * fma(CUBIC, z * z, LINEAR)));
    let (low, high) = (d[0] * d[1], d[2] * d[3]);
    let inverse = reciprocal(low * high);
    let (low, high) = (inverse * high, inverse * low);
    [
        z[0] * (low * d[1]),
        z[1] * (low * d[0]),
        z[2] * (high * d[3]),
        z[3] * (high * d[2]),
    ]
}

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 256), ceil(rows / 24)), block (64, 8).
    pub fn bias_gelu_few(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let column = block_x() * COLUMNS + thread_x();
        if column >= quads {
            return;
        }
        let row = |i: usize| block_y() * DEPTH * ROWS as u32 + i as u32 * DEPTH + thread_y();
        let quad = |i: usize| row(i) * quads + column;
        let bias = b.get4_fixed(column).0;
        let x: [F32x4; ROWS] = array(|i| a.get4_if(row(i) < rows, quad(i)));
        each::<ROWS>(|i| {
            if row(i) < rows {
                out.set4(quad(i), F32x4(gelu(from_fn(|v| x[i].0[v] + bias[v]))));
            }
        });
    }
}
