//! Triangle contraction, `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`, on tensor cores, stages by turns to two groups of warps.
//!
//! - **Parent**: `triangle_stagger`. Two groups of eight warps compute every other stage each, in place of one group that
//!   computes all; a warp has one sum of an output in place of two.
//! - **Ownership**: each warp of a group owns 16 i by 16 j of four channels for every other 8 of the block's k; a last warp
//!   asks for boxes. Of the 16 j, block r of the cluster finishes the eight from `8 r` on.
//! - **Memory**: as its parent, but that the block's own sums take the place of stages once those are used.
//! - **Dims**: n a multiple of 32, channels of 16.
//! - **Effect**: the parent's warps read a stage from shared memory all at once, and multiply all at once; here one group
//!   reads while the other multiplies, for twice the sums to add. Kernel time falls if reads and products took turns.

use crate::gpu::{
    Boxes, F32x4, In, Mbarrier, Out, array, barrier, block_x, block_y, block_z,
    cluster_arrive_relaxed, cluster_rank, cluster_wait, cut_tf32_by, each, fence_async_shared,
    kernel, mma_tf32, publish_barriers, shared, split, tf32_mask, thread_x, warp_barrier,
};
use core::array::from_fn;

/// Blocks of a cluster.
const BLOCKS: u32 = 2;
/// i of a cluster.
const TILE_I: u32 = 32;
/// j of a cluster.
const TILE_J: u32 = 16;
/// j that a block finishes.
const PART_J: u32 = TILE_J / BLOCKS;
/// Quads of channels of a cluster.
const QUADS: u32 = 4;
/// k of a stage.
const STEP: u32 = 8;
/// k and rows of a box.
const BOX_K: u32 = 4;
const BOX_ROWS: u32 = 16;
/// Boxes of 4 k: two of A, which are its halves of i, then that of B.
const PARTS: u32 = 3;
const B_PART: u32 = 2;
/// Stages in shared memory.
const STAGES: u32 = 8;
/// Quads from one k of a box to the next, from one row to the next, from one box to the next, and from the boxes of 4 k
/// to those of the next 4.
const PITCH_K: u32 = QUADS;
const PITCH_ROW: u32 = BOX_K * PITCH_K;
const PITCH_BOX: u32 = BOX_ROWS * PITCH_ROW;
const PITCH_PARTS: u32 = PARTS * PITCH_BOX;
/// Quads of a stage.
const STAGE: u32 = STEP / BOX_K * PITCH_PARTS;
/// Groups of warps, and warps of a group.
const GROUPS: u32 = 2;
const GROUP: u32 = 8;
/// Warps that compute; one more asks for boxes.
const WARPS: u32 = GROUPS * GROUP;
/// Threads that compute.
const THREADS: u32 = 32 * WARPS;
/// Channels of a warp.
const CHANNELS: usize = 4;
/// Matrices of 8 j of a warp: one for each block to finish.
const COLUMNS: usize = 2;
/// Quads of the sums of one quad of channels that a block finishes, and of those of one group of warps.
const SUM_PLANE: u32 = TILE_I * PART_J + 1;
const SUMS: u32 = QUADS * SUM_PLANE;

shared! {
    /// The stages, in whose place later stand the sums of the block's groups, those of the other block's, a barrier for
    /// each stage, all of which has arrived, and one for the sums of the other block.
    dynamic fn memory() -> Shared<f32, 57394>, aligned 1024;
}

/// Quad of a box that holds quad `q` of the channels at a row and k of it: the 64-byte swizzle.
fn place(row: u32, k: u32, q: u32) -> u32 {
    row * PITCH_ROW + k * PITCH_K + (q ^ (row % 2 * 2 + k / 2))
}

/// Quad of a plane of sums that holds those at i and j: without bank conflicts both for the lanes of a product, which
/// have every other j of neighbouring i, and for those that write neighbouring j.
fn sum_place(i: u32, j: u32) -> u32 {
    i * PART_J + (j % 2 * 4 + j / 2 ^ i % 2 * 4)
}

/// `first` and `second` for block 0 of the cluster, and the other way round for block 1.
fn order(rank: u32, first: f32, second: f32) -> (f32, f32) {
    if rank == 0 {
        (first, second)
    } else {
        (second, first)
    }
}

kernel! {
    /// a, b, out (n,n,channels). Grid (2 * n/16, n/32, channels/16), clusters of 2, block 544, 229576 bytes of shared
    /// memory. Boxes of a and b: 16 channels, 4 k, 16 rows.
    pub fn triangle_groups(
        _a: In<f32>, _b: In<f32>, out: Out<f32>, n: u32, channels: u32, a_boxes: Boxes, b_boxes: Boxes,
    ) {
        let memory = memory();
        let thread = thread_x();
        let (warp, lane) = (thread / 32, thread % 32);
        let rank = cluster_rank();
        let (first_i, first_j) = (block_y() * TILE_I, block_x() / BLOCKS * TILE_J);
        let (first_quad, first_k) = (block_z() * QUADS, rank * (n / BLOCKS));
        let stages = n / (BLOCKS * STEP);
        let place_of_sums = STAGES * STAGE;
        let arrived = |stage: u32| Mbarrier::at(memory, 2 * (place_of_sums + GROUPS * SUMS) + stage % STAGES);
        let received = Mbarrier::at(memory, 2 * (place_of_sums + GROUPS * SUMS) + STAGES);
        let ask = |stage: u32| {
            arrived(stage).arrive_and_expect(16 * STAGE);
            for k_box in 0..STEP / BOX_K {
                let to = stage % STAGES * STAGE + k_box * PITCH_PARTS;
                let (_, turn) = split(stage + block_y() + block_x() / BLOCKS, stages);
                let (channel, k) = (4 * first_quad, first_k + turn * STEP + k_box * BOX_K);
                let ask = |part: u32, boxes: Boxes, row: u32| {
                    memory.start_box(to + part * PITCH_BOX, boxes, [channel, k, row], arrived(stage));
                };
                ask(0, a_boxes, first_i);
                ask(1, a_boxes, first_i + BOX_ROWS);
                ask(B_PART, b_boxes, first_j);
            }
        };
        let asks = thread == THREADS;
        if asks {
            a_boxes.prefetch();
            b_boxes.prefetch();
            for stage in 0..STAGES {
                arrived(stage).init(1);
            }
            received.init(1);
            publish_barriers();
            received.arrive_and_expect(16 * GROUPS * TILE_I * PART_J * QUADS);
            fence_async_shared();
            ask(0);
        }
        warp_barrier();
        cluster_arrive_relaxed(); // this block has started: the other may write to its shared memory
        barrier();

        let mask = tf32_mask(n);
        let (g, t) = (lane / 4, lane % 4);
        let (group, warp_of_group) = (warp / GROUP, warp % GROUP);
        let (q, half_i) = (warp_of_group % QUADS, warp_of_group / QUADS);
        let mut sums = [[[0.0; 4]; COLUMNS]; CHANNELS];
        if warp == WARPS {
            if asks {
                for stage in 1..STAGES.min(stages) {
                    ask(stage);
                }
            }
            warp_barrier();
            for first in (STAGES..stages).step_by(STAGES as usize) {
                barrier(); // every warp is done with all stages
                if asks {
                    for stage in first..stages.min(first + STAGES) {
                        ask(stage);
                    }
                }
                warp_barrier();
            }
        } else {
            for stage in (group..stages).step_by(GROUPS as usize) {
                arrived(stage).wait(stage / STAGES);
                let at = |k_box: u32, part: u32, row: u32| {
                    let quad = stage % STAGES * STAGE + k_box * PITCH_PARTS + part * PITCH_BOX;
                    memory.get4(quad + place(row + g, t, q))
                };
                let a_quads = [at(0, half_i, 0), at(0, half_i, 8), at(1, half_i, 0), at(1, half_i, 8)];
                let b_quads: [[F32x4; 2]; COLUMNS] = array(|column| {
                    let j = 8 * column as u32;
                    [at(0, B_PART, j), at(1, B_PART, j)]
                });
                each::<CHANNELS>(|c| {
                    let a_parts = a_quads.map(|quad| cut_tf32_by(quad.0[c], mask));
                    let (a_high, a_low) = (a_parts.map(|part| part.0), a_parts.map(|part| part.1));
                    each::<COLUMNS>(|column| {
                        let b_parts = b_quads[column].map(|quad| cut_tf32_by(quad.0[c], mask));
                        let (b_high, b_low) = (b_parts.map(|part| part.0), b_parts.map(|part| part.1));
                        sums[c][column] = mma_tf32(a_low, b_high, sums[c][column]);
                        sums[c][column] = mma_tf32(a_high, b_low, sums[c][column]);
                        sums[c][column] = mma_tf32(a_high, b_high, sums[c][column]);
                    });
                });
                if stage % STAGES == STAGES - GROUPS + group && stage - group + GROUPS < stages {
                    barrier(); // every warp is done with all stages
                }
            }
        }

        cluster_wait();
        let other = (rank + 1) % BLOCKS;
        let sum_quad = |element: usize| {
            let i = half_i * BOX_ROWS + g + element as u32 / 2 * 8;
            group * SUMS + q * SUM_PLANE + sum_place(i, 2 * t + element as u32 % 2)
        };
        let mut kept = [[0.0; CHANNELS]; 4];
        if warp < WARPS {
            each::<4>(|element| {
                let mut sent = [0.0; CHANNELS];
                each::<CHANNELS>(|c| {
                    let (first, second) = (sums[c][0][element], sums[c][1][element]);
                    (kept[element][c], sent[c]) = order(rank, first, second);
                });
                memory.send4(other, place_of_sums + sum_quad(element), F32x4(sent), received);
            });
        }
        barrier(); // every warp is done with all stages
        if warp < WARPS {
            each::<4>(|element| memory.set4(sum_quad(element), F32x4(kept[element])));
        }
        barrier();
        if warp < WARPS {
            received.wait(0);
            for quad in (thread..TILE_I * PART_J * QUADS).step_by(THREADS as usize) {
                let (i, j, q) = (quad / (PART_J * QUADS), quad / QUADS % PART_J, quad % QUADS);
                let parts: [[f32; 4]; 4] = array(|part| {
                    let (from, group) = (part as u32 / 2 * place_of_sums, part as u32 % 2 * SUMS);
                    memory.get4(from + group + q * SUM_PLANE + sum_place(i, j)).0
                });
                let sum = from_fn(|v| parts[0][v] + parts[1][v] + (parts[2][v] + parts[3][v]));
                let j = first_j + rank * PART_J + j;
                out.set4(((first_i + i) * n + j) * (channels / 4) + first_quad + q, F32x4(sum));
            }
        }
    }
}
