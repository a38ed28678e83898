//! Triangle contraction, `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`, on tensor cores, stages asked for as others are
//! used.
//!
//! - **Parent**: `triangle_sector`. Three stages are asked for at the start in place of six, and the next whenever one is
//!   used; values are split in two instructions in place of five.
//! - **Ownership**: a warp owns 16 i by 16 j of four channels and every other eight k; the two sums of an output
//!   meet in shared memory.
//! - **Memory**: four stages of 16 k arrive by asynchronous copies of 64 bytes a row and k, one barrier a stage. Quads
//!   change places in a stage to keep reads without bank conflicts.
//! - **Dims**: n and channels multiples of 16.
//! - **Effect**: its parent's warps ask for 192 KiB of a block's 256 before they compute anything, and the copies move
//!   some 23 bytes a clock; here they compute meanwhile. Kernel time falls to the longer of both.

use crate::gpu::{
    F32x4, In, Out, array, barrier, block_x, block_y, block_z, close_copies, cut_tf32, each,
    kernel, mma_tf32, shared, thread_x, wait_for_copies,
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
    pub fn triangle_ring(a: In<f32>, b: In<f32>, out: Out<f32>, n: u32, channels: u32) {
        let memory = memory();
        let thread = thread_x();
        let (warp, lane) = (thread / 32, thread % 32);
        let quads = channels / 4;
        let (first_i, first_j) = (block_z() * TILE_I, block_y() * TILE_J);
        let first_quad = block_x() * QUADS;

        // A warp copies eight k of a row, a lane a quarter of the 16 channels of one.
        let load = |stage: u32| {
            let (k, q) = (warp % 2 * 8 + lane / QUADS, lane % QUADS);
            let to = stage % STAGES * STAGE;
            for row in (0..TILE_I).step_by(4) {
                let row = row + warp / 2;
                let from = |first: u32| ((first + row) * n + stage * STEP + k) * quads + first_quad + q;
                memory.start_copy4(to + place(row, k, q), a, from(first_i));
                memory.start_copy4(to + place(TILE_I + row, k, q), b, from(first_j));
            }
        };
        let stages = n / STEP;
        for stage in 0..STAGES - 1 {
            if stage < stages {
                load(stage);
            }
            close_copies();
        }

        let (g, t) = (lane / 4, lane % 4);
        let (q, half_k) = (warp % QUADS, warp / QUADS);
        let mut big = [[[0.0; 4]; COLUMNS]; CHANNELS];
        let mut small = big;
        for stage in 0..stages {
            wait_for_copies::<{ STAGES - 2 }>();
            barrier(); // also: every warp is done with the stage before, whose place the next one takes
            if stage + STAGES - 1 < stages {
                load(stage + STAGES - 1);
            }
            close_copies();
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
