//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, one
//! reciprocal for four elements.
//!
//! - **Parent**: `bias_gelu_pair`. The four elements of a quad share one reciprocal, of their product.
//! - **Ownership**: a block of 192 threads owns two rows, a thread every 192nd quad of both: one at width 768.
//! - **Memory**: as its parent.
//! - **Dims**: width a multiple of 4, even rows. A NaN in a quad makes the whole quad NaN.
//! - **Effect**: 1.25 operations of the special function unit an element in place of 2, for 2.25 more products: its 16
//!   lanes are busy for less. Kernel time falls if they are what a thread waits for.

use crate::gpu::{
    F32x4, In, Out, array, block_x, each, exp2, fma, kernel, max, reciprocal, thread_x,
};
use crate::parts::gelu::{CUBIC, LINEAR};
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 192;
/// Rows of a block.
const ROWS: usize = 2;
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
    /// a (rows,width), b (width), out (rows,width). Grid rows / 2, block 192.
    pub fn bias_gelu_share(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
        let quads = width / 4;
        let first = block_x() * ROWS as u32 * quads;
        let mut column = thread_x();
        while column < quads {
            let quad = |row: usize| first + row as u32 * quads + column;
            let bias = b.get4_fixed(column).0;
            let x: [F32x4; ROWS] = array(|row| a.get4_fixed(quad(row)));
            each::<ROWS>(|row| {
                let x = x[row].0;
                out.set4(quad(row), F32x4(gelu(from_fn(|i| x[i] + bias[i]))));
            });
            column += THREADS;
        }
    }
}
