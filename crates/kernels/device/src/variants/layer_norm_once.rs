//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, the row read once and
//! centred in registers.
//!
//! - **Parent**: `layer_norm_tile`. Six quads a lane in place of eight, predicated reads in place of branches,
//!   butterflies in place of sums that are broadcast, and the centred row replaces the row.
//! - **Ownership**: each of the eight warps of a block owns a row, a lane every 32nd quad of it, six at most.
//! - **Memory**: one read of the row, six 128-bit reads a lane in flight; one write. Scale and shift come from L1
//!   for every row. Each of the two reductions is five shuffles; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4, at most 768; any rows.
//! - **Effect**: all blocks of 4096 x 768 run at once; kernel time nears a copy's plus one chain of 10 shuffles.

use crate::gpu::{F32x4, In, Out, block_x, div, fma, kernel, rsqrt, shuffle_xor, thread_x};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Rows of a block, one a warp.
const ROWS: u32 = 8;
/// Quads that a lane holds.
const QUADS: usize = 6;
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
    pub fn layer_norm_once(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, rows: u32, width: u32,
    ) {
        let lane = thread_x() % LANES;
        let row = block_x() * ROWS + thread_x() / LANES;
        if row >= rows {
            return; // the whole warp
        }
        let quads = width / 4;
        let quad = |i: usize| i as u32 * LANES + lane;
        let present = |i: usize| quad(i) < quads;

        let mut x: [F32x4; QUADS] = from_fn(|i| a.get4_if(present(i), row * quads + quad(i)));
        let sum = x.iter().fold(0.0, |sum, x| sum + x.sum());
        let mean = div(warp_sum(sum), width as f32);

        let mut squares = 0.0;
        for i in 0..QUADS {
            x[i] = x[i].map(|x| if present(i) { x - mean } else { 0.0 });
            for x in x[i].0 {
                squares = fma(x, x, squares);
            }
        }
        let scale = rsqrt(div(warp_sum(squares), width as f32) + EPSILON);

        for i in 0..QUADS {
            if present(i) {
                let (x, b, c) = (x[i].0, b.get4_fixed(quad(i)).0, c.get4_fixed(quad(i)).0);
                out.set4(row * quads + quad(i), F32x4(from_fn(|v| fma(x[v] * scale, b[v], c[v]))));
            }
        }
    }
}
