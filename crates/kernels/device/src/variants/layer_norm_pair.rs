//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, two rows a warp.
//!
//! - **Parent**: `layer_norm_exact`. A warp owns two neighbouring rows in place of one, a block four warps in
//!   place of eight.
//! - **Ownership**: each of the four warps of a block owns two rows, a lane every 32nd quad of each, 12 in all.
//! - **Memory**: 12 128-bit reads a lane in flight; scale and shift come from L1 once for two rows, behind the second
//!   reduction. Both rows' shuffles alternate; no shared memory, no barrier.
//! - **Dims**: width 768, rows a multiple of 8.
//! - **Effect**: half the reads of scale and shift, which are two thirds of all reads that L1 serves; half the
//!   warps, each with twice the independent work.

use crate::gpu::{
    F32x4, In, Out, array, block_x, div, each, fma, kernel, rsqrt, shuffle_xor, thread_x,
};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Warps of a block.
const WARPS: u32 = 4;
/// Rows of a warp.
const ROWS: usize = 2;
/// Elements of a row.
const WIDTH: u32 = 768;
/// Quads that a lane holds.
const QUADS: usize = (WIDTH / 4 / LANES) as usize;
/// Added to the variance.
const EPSILON: f32 = 1e-5;

/// The sums of the `values` of every lane of the warp, in every lane.
fn warp_sums(mut values: [f32; ROWS]) -> [f32; ROWS] {
    for mask in [16, 8, 4, 2, 1] {
        values = values.map(|value| value + shuffle_xor(value, mask));
    }
    values
}

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid rows / 8, block 128.
    pub fn layer_norm_pair(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, _rows: u32, _width: u32,
    ) {
        let lane = thread_x() % LANES;
        let first = (block_x() * WARPS + thread_x() / LANES) * ROWS as u32;
        let quads = WIDTH / 4;
        let quad = |i: usize| i as u32 * LANES + lane;
        let at = |row: usize, i: usize| (first + row as u32) * quads + quad(i);

        let mut x: [[F32x4; QUADS]; ROWS] = array(|row| array(|i| a.get4_fixed(at(row, i))));
        let sums = from_fn(|row| x[row].iter().fold(0.0, |sum, x| sum + x.sum()));
        let means = warp_sums(sums).map(|sum| div(sum, WIDTH as f32));

        let mut squares = [0.0; ROWS];
        each::<ROWS>(|row| {
            each::<QUADS>(|i| {
                x[row][i] = x[row][i].map(|x| x - means[row]);
                for x in x[row][i].0 {
                    squares[row] = fma(x, x, squares[row]);
                }
            });
        });
        let scales = warp_sums(squares).map(|sum| rsqrt(div(sum, WIDTH as f32) + EPSILON));

        each::<QUADS>(|i| {
            let (b, c) = (b.get4_fixed(quad(i)).0, c.get4_fixed(quad(i)).0);
            each::<ROWS>(|row| {
                let x = x[row][i].0;
                out.set4(at(row, i), F32x4(from_fn(|v| fma(x[v] * scales[row], b[v], c[v]))));
            });
        });
    }
}
