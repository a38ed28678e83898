//! The twin of `layer_norm_wide`: the same reads and writes of x and the output, and nothing computed.
//!
//! - **Parent**: `layer_norm_wide`. The output is x; scale and shift are not read.
//! - **Ownership**: each of the 32 warps of a block owns a row, a lane every 32nd quad of it, six in all.
//! - **Memory**: six 128-bit reads in flight and six 128-bit writes a lane.
//! - **Dims**: width 768, rows a multiple of 32.
//! - **Effect**: its kernel time is the least that the access shape allows.

use crate::gpu::{F32x4, In, Out, array, block_x, each, kernel, thread_x};

/// Lanes of a warp.
const LANES: u32 = 32;
/// Rows of a block.
const ROWS: u32 = 32;
/// Quads that a lane holds.
const QUADS: usize = 6;

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid rows / 32, block 1024.
    pub fn copy_wide(a: In<f32>, _b: In<f32>, _c: In<f32>, out: Out<f32>, _rows: u32, _width: u32) {
        let row = block_x() * ROWS + thread_x() / LANES;
        let quad = |i: usize| row * (LANES * QUADS as u32) + i as u32 * LANES + thread_x() % LANES;
        let x: [F32x4; QUADS] = array(|i| a.get4_fixed(quad(i)));
        each::<QUADS>(|i| out.set4(quad(i), x[i]));
    }
}
