//! Triangle contraction, `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`, on tensor cores, 32 x 32 outputs of a channel a
//! block.
//!
//! - **Parent**: `triangle_tf32`. A block owns 32 i by 32 j in place of 32 by 16.
//! - **Ownership**: a block owns 32 i by 32 j of eight channels, a warp 16 i by 32 j of four channels and every
//!   other eight k; the two sums of an output meet in shared memory.
//! - **Memory**: six stages of 16 k arrive by asynchronous copies, two of eight at n 128 after the first were used.
//!   As in its parent, a third fewer shared reads a product.
//! - **Dims**: n a multiple of 32, channels of 8.
//! - **Effect**: 17 MB from L2 in place of 25 at n 128, but on 64 multiprocessors in place of 128, each with twice
//!   the products. Says whether L2 as a whole or each multiprocessor's share of it is the bound.

use crate::gpu::{
    F32x4, In, Out, array, barrier, block_x, block_y, block_z, close_copies, each, kernel,
    mma_tf32, shared, split_tf32, thread_x, wait_for_copies,
};
use core::array::from_fn;

/// i of a block.
const TILE_I: u32 = 32;
/// j of a block.
const TILE_J: u32 = 32;
/// Quads of channels of a block.
const QUADS: u32 = 2;
/// k of a stage.
const STEP: u32 = 16;
/// Stages in shared memory.
const STAGES: u32 = 6;
/// Quads from one row of a stage to the next: one more than a multiple of 8, so that neighbouring rows lie in
/// different banks.
const PITCH: u32 = STEP * QUADS + 1;
/// Quads of a stage: the rows of A, then those of B.
const STAGE: u32 = (TILE_I + TILE_J) * PITCH;
/// Threads of a block.
const THREADS: u32 = 256;
/// Channels of a warp.
const CHANNELS: usize = 4;
/// Matrices of 8 j of a warp.
const COLUMNS: usize = 4;
/// Quads from one i of a sum to the next, and from one quad of channels to the next.
const SUM_PITCH: u32 = TILE_J + 1;
const SUM_PLANE: u32 = TILE_I * SUM_PITCH + 4;

shared! {
    /// The stages, and after them the sums of both halves of k.
    dynamic fn memory() -> Shared<f32, 50688>;
}

kernel! {
    /// a, b, out (n,n,channels). Grid (channels/8, n/32, n/32), block 256, 202752 bytes of shared memory.
    pub fn triangle_wide(a: In<f32>, b: In<f32>, out: Out<f32>, n: u32, channels: u32) {
        let memory = memory();
        let thread = thread_x();
        let (warp, lane) = (thread / 32, thread % 32);
        let quads = channels / 4;
        let (first_i, first_j) = (block_z() * TILE_I, block_y() * TILE_J);
        let first_quad = block_x() * QUADS;

        // A warp copies whole rows, a lane half of the eight channels of one k.
        let load = |stage: u32| {
            let k = stage * STEP + lane / QUADS;
            let to = stage % STAGES * STAGE + lane;
            for row in (0..TILE_I).step_by(8) {
                let from = ((first_i + row + warp) * n + k) * quads + first_quad + lane % QUADS;
                memory.start_copy4(to + (row + warp) * PITCH, a, from);
            }
            for row in (0..TILE_J).step_by(8) {
                let from = ((first_j + row + warp) * n + k) * quads + first_quad + lane % QUADS;
                memory.start_copy4(to + (TILE_I + row + warp) * PITCH, b, from);
            }
        };
        let stages = n / STEP;
        for stage in 0..STAGES {
            if stage < stages {
                load(stage);
            }
            close_copies();
        }

        let (g, t) = (lane / 4, lane % 4);
        let (q, half_i, half_k) = (warp % 2, warp / 2 % 2, warp / 4);
        let mut big = [[[0.0; 4]; COLUMNS]; CHANNELS];
        let mut small = big;
        for stage in 0..stages {
            wait_for_copies::<{ STAGES - 1 }>();
            barrier();
            let at = |row: u32, k: u32| {
                let k = half_k * 8 + t + k;
                memory.get4(stage % STAGES * STAGE + (row + g) * PITCH + k * QUADS + q)
            };
            let i = half_i * 16;
            let a_quads = [at(i, 0), at(i + 8, 0), at(i, 4), at(i + 8, 4)];
            let b_quads: [[F32x4; 2]; COLUMNS] = array(|column| {
                let j = TILE_I + 8 * column as u32;
                [at(j, 0), at(j, 4)]
            });
            each::<CHANNELS>(|c| {
                let a_parts = a_quads.map(|quad| split_tf32(quad.0[c]));
                let (a_high, a_low) = (a_parts.map(|part| part.0), a_parts.map(|part| part.1));
                each::<COLUMNS>(|column| {
                    let b_parts = b_quads[column].map(|quad| split_tf32(quad.0[c]));
                    let (b_high, b_low) = (b_parts.map(|part| part.0), b_parts.map(|part| part.1));
                    small[c][column] = mma_tf32(a_low, b_high, small[c][column]);
                    big[c][column] = mma_tf32(a_high, b_high, big[c][column]);
                    small[c][column] = mma_tf32(a_high, b_low, small[c][column]);
                });
            });
            if stage + STAGES < stages {
                barrier();
                load(stage + STAGES);
            }
            close_copies();
        }

        barrier();
        each::<COLUMNS>(|column| {
            each::<4>(|element| {
                let i = half_i * 16 + g + element as u32 / 2 * 8;
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
