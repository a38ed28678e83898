//! Triangle contraction, `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`, on tensor cores, values cut where the products want
//! them.
//!
//! - **Parent**: `triangle_box`. The mask that cuts a value is one that the driver's compiler does not know.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent.
//! - **Dims**: n and channels multiples of 16.
//! - **Effect**: a stage takes a warp 125 instructions in place of 204: the parent copies every value to the register where
//!   a product wants it, up to three times. Kernel time falls by the share of the products that reads do not hide.

use crate::gpu::{
    Boxes, F32x4, In, Mbarrier, Out, array, barrier, block_x, block_y, block_z, cut_tf32_by, each,
    kernel, mma_tf32, publish_barriers, shared, tf32_mask, thread_x, warp_barrier,
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
/// k of a box.
const BOX_K: u32 = 4;
/// Stages in shared memory.
const STAGES: u32 = 6;
/// Quads from one k of a box to the next, from one row to the next, and from the four k of one box to the next four.
const PITCH_K: u32 = QUADS;
const PITCH_ROW: u32 = BOX_K * PITCH_K;
const PITCH_BOX: u32 = TILE_I * PITCH_ROW;
/// Quads of a stage: the boxes of A, then those of B.
const TILE: u32 = STEP / BOX_K * PITCH_BOX;
const STAGE: u32 = 2 * TILE;
/// Warps that compute; one more asks for boxes.
const WARPS: u32 = 8;
/// Threads that compute.
const THREADS: u32 = 32 * WARPS;
/// Channels of a warp.
const CHANNELS: usize = 4;
/// Matrices of 8 j of a warp.
const COLUMNS: usize = 2;
/// Quads from one i of a sum to the next, and from one quad of channels to the next.
const SUM_PITCH: u32 = TILE_J + 1;
const SUM_PLANE: u32 = TILE_I * SUM_PITCH + 2;

shared! {
    /// The stages, then two barriers for each: all of it has arrived, and nobody reads it any more. At the end, the
    /// sums of both halves of k.
    dynamic fn memory() -> Shared<f32, 49176>, aligned 1024;
}

/// Quad of a tile that holds quad `q` of the channels at a row and k: the 64-byte swizzle.
fn place(row: u32, k: u32, q: u32) -> u32 {
    let (k_box, k) = (k / BOX_K, k % BOX_K);
    k_box * PITCH_BOX + row * PITCH_ROW + k * PITCH_K + (q ^ (row % 2 * 2 + k / 2))
}

kernel! {
    /// a, b, out (n,n,channels). Grid (n/16, n/16, channels/16), block 288, 196704 bytes of shared memory. Boxes of a
    /// and b: 16 channels, 4 k, 16 rows.
    pub fn triangle_masked(
        _a: In<f32>, _b: In<f32>, out: Out<f32>, n: u32, channels: u32, a_boxes: Boxes, b_boxes: Boxes,
    ) {
        let memory = memory();
        let thread = thread_x();
        let (warp, lane) = (thread / 32, thread % 32);
        let quads = channels / 4;
        let (first_i, first_j) = (block_y() * TILE_I, block_x() * TILE_J);
        let first_quad = block_z() * QUADS;
        let arrived = |stage: u32| Mbarrier::at(memory, STAGES * STAGE * 2 + stage % STAGES);
        let read = |stage: u32| Mbarrier::at(memory, STAGES * (STAGE * 2 + 1) + stage % STAGES);
        if thread == 0 {
            for stage in 0..STAGES {
                arrived(stage).init(1);
                read(stage).init(WARPS);
            }
            publish_barriers();
        }
        barrier();

        let stages = n / STEP;
        let mask = tf32_mask(n);
        let (g, t) = (lane / 4, lane % 4);
        let (q, half_k) = (warp % QUADS, warp / QUADS);
        let mut big = [[[0.0; 4]; COLUMNS]; CHANNELS];
        let mut small = big;
        if warp == WARPS {
            if lane == 0 {
                a_boxes.prefetch();
                b_boxes.prefetch();
                for stage in 0..stages {
                    if stage >= STAGES {
                        read(stage).wait(stage / STAGES - 1);
                    }
                    arrived(stage).arrive_and_expect(16 * STAGE);
                    for k_box in 0..STEP / BOX_K {
                        let to = stage % STAGES * STAGE + k_box * PITCH_BOX;
                        let (channel, k) = (4 * first_quad, stage * STEP + k_box * BOX_K);
                        memory.start_box(to, a_boxes, [channel, k, first_i], arrived(stage));
                        memory.start_box(to + TILE, b_boxes, [channel, k, first_j], arrived(stage));
                    }
                }
            }
            warp_barrier();
        } else {
            for stage in 0..stages {
                arrived(stage).wait(stage / STAGES);
                let at = |tile: u32, row: u32, k: u32| {
                    memory.get4(stage % STAGES * STAGE + tile + place(row + g, half_k * 8 + k + t, q))
                };
                let a_quads = [at(0, 0, 0), at(0, 8, 0), at(0, 0, 4), at(0, 8, 4)];
                let b_quads: [[F32x4; 2]; COLUMNS] = array(|column| {
                    let j = 8 * column as u32;
                    [at(TILE, j, 0), at(TILE, j, 4)]
                });
                if stage + STAGES < stages {
                    warp_barrier();
                    if lane == 0 {
                        read(stage).arrive();
                    }
                }
                each::<CHANNELS>(|c| {
                    let a_parts = a_quads.map(|quad| cut_tf32_by(quad.0[c], mask));
                    let (a_high, a_low) = (a_parts.map(|part| part.0), a_parts.map(|part| part.1));
                    each::<COLUMNS>(|column| {
                        let b_parts = b_quads[column].map(|quad| cut_tf32_by(quad.0[c], mask));
                        let (b_high, b_low) = (b_parts.map(|part| part.0), b_parts.map(|part| part.1));
                        small[c][column] = mma_tf32(a_low, b_high, small[c][column]);
                        big[c][column] = mma_tf32(a_high, b_high, big[c][column]);
                        small[c][column] = mma_tf32(a_high, b_low, small[c][column]);
                    });
                });
            }
        }

        barrier();
        if warp < WARPS {
            each::<COLUMNS>(|column| {
                each::<4>(|element| {
                    let i = g + element as u32 / 2 * 8;
                    let j = 8 * column as u32 + 2 * t + element as u32 % 2;
                    let sum = from_fn(|c| big[c][column][element] + small[c][column][element]);
                    memory.set4((half_k * QUADS + q) * SUM_PLANE + i * SUM_PITCH + j, F32x4(sum));
                });
            });
        }
        barrier();
        if warp < WARPS {
            for quad in (thread..TILE_I * TILE_J * QUADS).step_by(THREADS as usize) {
                let (i, j, q) = (quad / (TILE_J * QUADS), quad / QUADS % TILE_J, quad % QUADS);
                let half =
                    |half: u32| memory.get4((half * QUADS + q) * SUM_PLANE + i * SUM_PITCH + j).0;
                let (low, high) = (half(0), half(1));
                let sum = from_fn(|v| low[v] + high[v]);
                out.set4(((first_i + i) * n + first_j + j) * quads + first_quad + q, F32x4(sum));
            }
        }
    }
}
