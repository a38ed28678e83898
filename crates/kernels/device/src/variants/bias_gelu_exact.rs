//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, rows of
//! 768.
//!
//! - **Parent**: `bias_gelu_two`. The width is known, so that a column takes no division.
//! - **Ownership**: as its parent: a block owns 256 neighbouring quads of the flat output, a thread two of them, 128 apart.
//! - **Memory**: as its parent.
//! - **Dims**: width 768; any rows.
//! - **Effect**: its parent divides twice a thread, with conversions that the special function units make. Kernel time
//!   nears that of `copy_two`, the fastest of copies.

use crate::gpu::{F32x4, In, Out, array, block_x, each, exp2, fma, kernel, reciprocal, thread_x};
use core::array::from_fn;

/// Quads of a row.
const WIDTH: u32 = 192;
/// Threads of a block.
const THREADS: u32 = 128;
/// Quads of a thread.
const QUADS: usize = 2;
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
    /// a (rows,width), b (width), out (rows,width). Grid ceil(rows * 3 / 4), block 128.
    pub fn bias_gelu_exact(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, _width: u32) {
        let quad = |i: usize| (block_x() * QUADS as u32 + i as u32) * THREADS + thread_x();
        let inside = |i: usize| quad(i) < rows * WIDTH;
        let x: [F32x4; QUADS] = array(|i| a.get4_if(inside(i), quad(i)));
        let bias: [F32x4; QUADS] = array(|i| b.get4_fixed(quad(i) % WIDTH));
        each::<QUADS>(|i| {
            if inside(i) {
                out.set4(quad(i), F32x4(from_fn(|v| gelu(x[i].0[v] + bias[i].0[v]))));
            }
        });
    }
}
