//! The twin of `triangle_ring` that computes: the same reads of shared memory, products and writes, and no copies.
//!
//! - **Parent**: `triangle_ring`. The stages hold what they happen to hold.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent, without the copies to shared memory.
//! - **Dims**: n and channels multiples of 16.
//! - **Effect**: its kernel time is the least that the products allow, in the order that they have.

use crate::gpu::{
    F32x4, In, Out, array, barrier, block_x, block_y, block_z, cut_tf32, each, kernel, mma_tf32,
    shared, thread_x,
};
use core::array::from_fn;

/// i of a block.
const TILE_I: u32 = 16;
/// j of a block.
const TILE_J: u32 = 16;
/// Quads of channels of a block.
const QUADS: u32 = 4;
/// k of a stage.
const STEP: u32 = 16;
/// Stages in shared memory.
const STAGES: u32 = 4;
/// Quads of a row of a stage.
const PITCH: u32 = STEP * QUADS;
/// Quads of a stage: the rows of A, then those of B.
const STAGE: u32 = (TILE_I + TILE_J) * PITCH;
/// Threads of a block.
const THREADS: u32 = 256;
/// Channels of a warp.
const CHANNELS: usize = 4;
/// Matrices of 8 j of a warp.
const COLUMNS: usize = 2;
/// Quads from one i of a sum to the next, and from one quad of channels to the next.
const SUM_PITCH: u32 = TILE_J + 1;
const SUM_PLANE: u32 = TILE_I * SUM_PITCH + 2;

shared! {
    /// The stages, and after them the sums of both halves of k.
    dynamic fn memory() -> Shared<f32, 32768>;
}

/// Quad of a stage that holds quad `q` of the channels at a row and k. The quads of a k change places, so that
/// four neighbouring k of two neighbouring rows lie in different banks.
fn place(row: u32, k: u32, q: u32) -> u32 {
    row * PITCH + k * QUADS + (q ^ (k / 2 % 2 + row % 2 * 2))
}

kernel! {
    /// a, b, out (n,n,channels). Grid (channels/16, n/16, n/16), block 256, 131072 bytes of shared memory.
    pub fn multiply_ring(_a: In<f32>, _b: In<f32>, out: Out<f32>, n: u32, channels: u32) {
        let memory = memory();
        let thread = thread_x();
        let (warp, lane) = (thread / 32, thread % 32);
        let quads = channels / 4;
        let (first_i, first_j) = (block_z() * TILE_I, block_y() * TILE_J);
        let first_quad = block_x() * QUADS;

        let stages = n / STEP;
        let (g, t) = (lane / 4, lane % 4);
        let (q, half_k) = (warp % QUADS, warp / QUADS);
        let mut big = [[[0.0; 4]; COLUMNS]; CHANNELS];
        let mut small = big;
        for stage in 0..stages {
            barrier();
            let at = |row: u32, k: u32| {
                memory.get4(stage % STAGES * STAGE + place(row + g, half_k * 8 + t + k, q))
            };
            let a_quads = [at(0, 0), at(8, 0), at(0, 4), at(8, 4)];
            let b_quads: [[F32x4; 2]; COLUMNS] = array(|column| {
                let j = TILE_I + 8 * column as u32;
                [at(j, 0), at(j, 4)]
            });
            each::<CHANNELS>(|c| {
                let a_parts = a_quads.map(|quad| cut_tf32(quad.0[c]));
                let (a_high, a_low) = (a_parts.map(|part| part.0), a_parts.map(|part| part.1));
                each::<COLUMNS>(|column| {
                    let b_parts = b_quads[column].map(|quad| cut_tf32(quad.0[c]));
                    let (b_high, b_low) = (b_parts.map(|part| part.0), b_parts.map(|part| part.1));
                    small[c][column] = mma_tf32(a_low, b_high, small[c][column]);
                    big[c][column] = mma_tf32(a_high, b_high, big[c][column]);
                    small[c][column] = mma_tf32(a_high, b_low, small[c][column]);
                });
            });
        }

        barrier();
        each::<COLUMNS>(|column| {
            each::<4>(|element| {
                let i = g + element as u32 / 2 * 8;
                let j = 8 * column as u32 + 2 * t + element as u32 % 2;
                let sum = from_fn(|c| big[c][column][element] + small[c][column][element]);
                memory.set4((half_k * QUADS + q) * SUM_PLANE + i * SUM_PITCH + j, F32x4(sum));
            });
        });
        barrier();
        for quad in (thread..TILE_I * TILE_J * QUADS).step_by(THREADS as usize) {
            let (i, j, q) = (quad / (TILE_J * QUADS), quad / QUADS % TILE_J, quad % QUADS);
            let half = |half: u32| memory.get4((half * QUADS + q) * SUM_PLANE + i * SUM_PITCH + j).0;
            let (low, high) = (half(0), half(1));
            let sum = from_fn(|v| low[v] + high[v]);
            out.set4(((first_i + i) * n + first_j + j) * quads + first_quad + q, F32x4(sum));
        }
    }
}
