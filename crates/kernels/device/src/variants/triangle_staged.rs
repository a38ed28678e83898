//! Triangle contraction, `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`, from stages in shared memory, 8 x 8 outputs a
//! thread.
//!
//! - **Parent**: `triangle_tile`. A block owns 32 i by 16 j of eight channels in place of 16 by 8 of 32, a thread 64
//!   outputs in place of 16, k is shared out among warps, and A and B pass through shared memory.
//! - **Ownership**: a thread owns every other one of 16 i by every other one of 16 j of one channel: lane
//!   `16 s + 8 r + c` i from r and j from s on. Two warps cover the block's outputs; four such pairs take four of
//!   each 16 k, and their sums meet in shared memory.
//! - **Memory**: eight stages of 16 k arrive by asynchronous copies of 32 bytes a row and k; at n 128 all are
//!   asked for at the start. A step of k reads 16 values from shared memory, without bank conflicts, for 64
//!   multiply-adds. One barrier a stage, two while stages are refilled.
//! - **Dims**: n a multiple of 32, channels of 8.
//! - **Effect**: 25 MB from L2 in place of 50 at n 128, and 1/4 of a shared read a multiply-add; kernel time falls
//!   to the longer of both.

use crate::gpu::{
    F32x4, In, Out, barrier, block_x, block_y, block_z, close_copies, each, fma, kernel, shared,
    thread_x, wait_for_copies,
};
use core::array::from_fn;

/// i of a block.
const TILE_I: u32 = 32;
/// j of a block.
const TILE_J: u32 = 16;
/// Quads of channels of a block.
const QUADS: u32 = 2;
/// k of a stage.
const STEP: u32 = 16;
/// Stages in shared memory.
const STAGES: u32 = 8;
/// Quads from one row of a stage to the next: 8 words more than a multiple of 32, so that the values of two
/// rows lie in different banks.
const PITCH: u32 = STEP * QUADS + 2;
/// Quads of a stage: the rows of A, then those of B.
const STAGE: u32 = (TILE_I + TILE_J) * PITCH;
/// Threads of a block.
const THREADS: u32 = 256;
/// i and j of a thread.
const TILE: usize = 8;
/// Warps that share out k.
const PARTS: u32 = 4;
/// Quads from one i of a part's sums to the next: 16 words more than a multiple of 32.
const SUM_PITCH: u32 = TILE_J * QUADS + 4;

shared! {
    /// The stages, and after them the sums of each part.
    dynamic fn memory() -> Shared<f32, 52224>;
}

kernel! {
    /// a, b, out (n,n,channels). Grid (channels/8, n/16, n/32), block 256, 208896 bytes of shared memory.
    pub fn triangle_staged(a: In<f32>, b: In<f32>, out: Out<f32>, n: u32, channels: u32) {
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

        let (channel, r, s) = (lane % 8, lane / 8 % 2, lane / 16);
        let (part, i) = (warp / 2, warp % 2 * 16 + r);
        let a_word = (i * PITCH + part * (STEP / PARTS) * QUADS) * 4 + channel;
        let b_word = ((TILE_I + s) * PITCH + part * (STEP / PARTS) * QUADS) * 4 + channel;
        let mut sums = [[0.0; TILE]; TILE];
        for stage in 0..stages {
            wait_for_copies::<{ STAGES - 1 }>();
            barrier();
            let base = stage % STAGES * STAGE * 4;
            each::<{ (STEP / PARTS) as usize }>(|k| {
                let word = |row: usize| base + (row as u32 * 2 * PITCH + k as u32 * QUADS) * 4;
                let a_values: [f32; TILE] = from_fn(|row| memory.get(a_word + word(row)));
                let b_values: [f32; TILE] = from_fn(|row| memory.get(b_word + word(row)));
                for r in 0..TILE {
                    for s in 0..TILE {
                        sums[r][s] = fma(a_values[r], b_values[s], sums[r][s]);
                    }
                }
            });
            if stage + STAGES < stages {
                barrier();
                load(stage + STAGES);
            }
            close_copies();
        }

        barrier();
        for (row, sums) in sums.into_iter().enumerate() {
            for (column, sum) in sums.into_iter().enumerate() {
                let row = part * TILE_I + i + 2 * row as u32;
                memory.set((row * SUM_PITCH + (2 * column as u32 + s) * QUADS) * 4 + channel, sum);
            }
        }
        barrier();
        for quad in (thread..TILE_I * TILE_J * QUADS).step_by(THREADS as usize) {
            let (i, rest) = (quad / (TILE_J * QUADS), quad % (TILE_J * QUADS));
            let parts: [F32x4; PARTS as usize] =
                from_fn(|part| memory.get4((part as u32 * TILE_I + i) * SUM_PITCH + rest));
            let sum = from_fn(|v| (parts[0].0[v] + parts[1].0[v]) + (parts[2].0[v] + parts[3].0[v]));
            let (j, q) = (rest / QUADS, rest % QUADS);
            out.set4(((first_i + i) * n + first_j + j) * quads + first_quad + q, F32x4(sum));
        }
    }
}
