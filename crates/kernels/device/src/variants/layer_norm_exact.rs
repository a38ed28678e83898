//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, for rows of 768.
//!
//! - **Parent**: `layer_norm_once`. The width is a constant.
//! - **Ownership**: each of the eight warps of a block owns a row, a lane every 32nd quad of it, six in all.
//! - **Memory**: as its parent.
//! - **Dims**: width 768; any rows.
//! - **Effect**: no predicates and no division at run time. Says what the generality of its parent costs.

use crate::gpu::{F32x4, In, Out, block_x, div, fma, kernel, rsqrt, shuffle_xor, thread_x};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Rows of a block, one a warp.
const ROWS: u32 = 8;
/// Elements of a row.
const WIDTH: u32 = 768;
/// Quads that a lane holds.
const QUADS: usize = (WIDTH / 4 / LANES) as usize;
/// Added to the variance.
const EPSILON: f32 = 1e-5;

/// The sum of the `value` of every lane of the warp, in every lane.
fn warp_sum(mut value: f32) -> f32 {
    for mask in [16, 8, 4, 2, 1] {
        value += shuffle_xor(value, mask);
    }
    value
}

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid ceil(rows/8), block 256.
    pub fn layer_norm_exact(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, rows: u32, _width: u32,
    ) {
        let lane = thread_x() % LANES;
        let row = block_x() * ROWS + thread_x() / LANES;
        if row >= rows {
            return; // the whole warp
        }
        let quads = WIDTH / 4;
        let quad = |i: usize| i as u32 * LANES + lane;

        let mut x: [F32x4; QUADS] = from_fn(|i| a.get4_fixed(row * quads + quad(i)));
        let sum = x.iter().fold(0.0, |sum, x| sum + x.sum());
        let mean = div(warp_sum(sum), WIDTH as f32);

        let mut squares = 0.0;
        for i in 0..QUADS {
            x[i] = x[i].map(|x| x - mean);
            for x in x[i].0 {
                squares = fma(x, x, squares);
            }
        }
        let scale = rsqrt(div(warp_sum(squares), WIDTH as f32) + EPSILON);

        for i in 0..QUADS {
            let (x, b, c) = (x[i].0, b.get4_fixed(quad(i)).0, c.get4_fixed(quad(i)).0);
            out.set4(row * quads + quad(i), F32x4(from_fn(|v| fma(x[v] * scale, b[v], c[v]))));
        }
    }
}
