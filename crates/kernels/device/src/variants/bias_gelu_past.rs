//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, x
//! past the L1 cache.
//!
//! - **Parent**: `bias_gelu_slab`. Reads of x make no room in the L1 cache.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent.
//! - **Dims**: width a multiple of 4, rows of 4.
//! - **Effect**: x is read once and pushes nothing out of L1, where the bias is. Kernel time falls if that costs anything.

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
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 256), rows / 4), block (64, 2).
    pub fn bias_gelu_past(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
        let quads = width / 4;
        let column = block_x() * COLUMNS + thread_x();
        if column >= quads {
            return;
        }
        let row = |i: usize| block_y() * DEPTH * ROWS as u32 + i as u32 * DEPTH + thread_y();
        let quad = |i: usize| row(i) * quads + column;
        let x: [F32x4; ROWS] = array(|i| a.get4_past_l1(quad(i)));
        let bias = b.get4_fixed(column).0;
        each::<ROWS>(|i| {
            out.set4(quad(i), F32x4(from_fn(|v| gelu(x[i].0[v] + bias[v]))));
        });
    }
}
