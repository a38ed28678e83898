//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, a warp a row.
//!
//! - **Parent**: `layer_norm`. A warp owns a row in place of a block, partial sums meet in registers in place
//!   of shared memory, and global memory is read and written in 128-bit quads.
//! - **Ownership**: each of the eight warps of a block owns a row, a lane every 32nd quad of it.
//! - **Memory**: three reads of the row (mean, centred variance, result), one write. Each of the two reductions
//!   is five shuffles, by 16, 8, 4, 2 and 1 lanes, and a broadcast; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: kernel time falls with the 20 barriers a row; shared memory falls from 1024 bytes to none,
//!   blocks to an eighth; registers a thread rise.

use crate::gpu::{
    F32x4, In, Out, block_x, broadcast, div, fma, kernel, rsqrt, shuffle_down, thread_x,
};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Rows of a block, one a warp.
const ROWS: u32 = 8;
/// Added to the variance.
const EPSILON: f32 = 1e-5;

/// The sum of the `value` of every lane of the warp, in every lane.
fn warp_sum(mut value: f32) -> f32 {
    for offset in [16, 8, 4, 2, 1] {
        value += shuffle_down(value, offset);
    }
    broadcast(value, 0)
}

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid ceil(rows/8), block 256.
    pub fn layer_norm_warp(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, rows: u32, width: u32,
    ) {
        let lane = thread_x() % LANES;
        let row = block_x() * ROWS + thread_x() / LANES;
        if row >= rows {
            return; // the whole warp
        }
        let quads = width / 4;
        let first = row * quads;

        let mut sum = 0.0;
        let mut q = lane;
        while q < quads {
            sum += a.get4(first + q).sum();
            q += LANES;
        }
        let mean = div(warp_sum(sum), width as f32);

        let mut squares = 0.0;
        let mut q = lane;
        while q < quads {
            for x in a.get4(first + q).0 {
                squares = fma(x - mean, x - mean, squares);
            }
            q += LANES;
        }
        let scale = rsqrt(div(warp_sum(squares), width as f32) + EPSILON);

        let mut q = lane;
        while q < quads {
            let (x, b, c) = (a.get4(first + q).0, b.get4(q).0, c.get4(q).0);
            out.set4(first + q, F32x4(from_fn(|i| fma((x[i] - mean) * scale, b[i], c[i]))));
            q += LANES;
        }
    }
}
