//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, mean and variance
//! reduced together.
//!
//! - **Parent**: `layer_norm_exact`. Each lane has the mean of its 24 elements and the squares about it; both
//!   meet in one butterfly, where two equal parts of n elements whose means lie d apart add `n/2 d^2` to the
//!   squares. That is centred as two passes are: nothing large cancels.
//! - **Ownership**: each of the eight warps of a block owns a row, a lane every 32nd quad of it, six in all.
//! - **Memory**: as its parent; five steps of two independent shuffles in place of two chains of five.
//! - **Dims**: width 768; any rows.
//! - **Effect**: the chain from the last read to the first write loses five shuffles.

use crate::gpu::{F32x4, In, Out, block_x, each, fma, kernel, rsqrt, shuffle_xor, thread_x};
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

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid ceil(rows/8), block 256.
    pub fn layer_norm_merge(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, rows: u32, _width: u32,
    ) {
        let lane = thread_x() % LANES;
        let row = block_x() * ROWS + thread_x() / LANES;
        if row >= rows {
            return; // the whole warp
        }
        let quads = WIDTH / 4;
        let quad = |i: usize| i as u32 * LANES + lane;

        let x: [F32x4; QUADS] = from_fn(|i| a.get4_fixed(row * quads + quad(i)));
        let mut elements = (QUADS * 4) as f32;
        let mut mean = x.iter().fold(0.0, |sum, x| sum + x.sum()) * (1.0 / elements);
        let mut squares = 0.0;
        for x in x {
            for x in x.0 {
                squares = fma(x - mean, x - mean, squares);
            }
        }
        each::<5>(|step| {
            let mask = 16 >> step;
            let (other_mean, other_squares) = (shuffle_xor(mean, mask), shuffle_xor(squares, mask));
            let apart = other_mean - mean;
            squares = fma(apart * apart, 0.5 * elements, squares + other_squares);
            mean = 0.5 * (mean + other_mean);
            elements *= 2.0;
        });
        let scale = rsqrt(squares * (1.0 / WIDTH as f32) + EPSILON);

        for i in 0..QUADS {
            let (x, b, c) = (x[i].0, b.get4_fixed(quad(i)).0, c.get4_fixed(quad(i)).0);
            out.set4(row * quads + quad(i), F32x4(from_fn(|v| fma((x[v] - mean) * scale, b[v], c[v]))));
        }
    }
}
