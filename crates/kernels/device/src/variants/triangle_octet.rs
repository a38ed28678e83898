//! Triangle contraction, `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`, on tensor cores, eight channels a cluster.
//!
//! - **Parent**: `triangle_halves`. A cluster owns 32 i by 32 j of eight channels in place of 32 by 16 of 16.
//! - **Ownership**: each of eight warps owns 16 i by 16 j of four channels for the block's k; a ninth asks for boxes. Of
//!   each 16 j, block r of the cluster finishes the eight from `8 r` on.
//! - **Memory**: eight stages of 8 k, each of four boxes of A and four of B: 8 channels by 4 k by 16 rows, with the 32-byte
//!   swizzle, whose reads are without bank conflicts too.
//! - **Dims**: n a multiple of 32, channels of 8.
//! - **Effect**: 17 MB from L2 in place of 25, in pieces of 32 bytes in place of 64: kernel time falls by up to 1 us if
//!   bytes are its bound, and rises if the number of pieces is, a third more. It rises: a row of a box
//!   takes its time whatever its length.

use crate::gpu::{
    Boxes, F32x4, In, Mbarrier, Out, array, barrier, block_x, block_y, block_z,
    cluster_arrive_relaxed, cluster_rank, cluster_wait, cut_tf32_by, each, fence_async_shared,
    kernel, mma_tf32, publish_barriers, shared, tf32_mask, thread_x, warp_barrier,
};
use core::array::from_fn;

/// Blocks of a cluster.
const BLOCKS: u32 = 2;
/// i of a cluster.
const TILE_I: u32 = 32;
/// j of a cluster.
const TILE_J: u32 = 32;
/// j that a block finishes.
const PART_J: u32 = TILE_J / BLOCKS;
/// Quads of channels of a cluster.
const QUADS: u32 = 2;
/// k of a stage.
const STEP: u32 = 8;
/// k and rows of a box.
const BOX_K: u32 = 4;
const BOX_ROWS: u32 = 16;
/// Boxes of 4 k: two of A, which are its halves of i, then two of B.
const PARTS: u32 = 4;
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
/// Warps that compute; one more asks for boxes.
const WARPS: u32 = 8;
/// Threads that compute.
const THREADS: u32 = 32 * WARPS;
/// Channels of a warp.
const CHANNELS: usize = 4;
/// Matrices of 8 j of a warp: one for each block to finish.
const COLUMNS: usize = 2;
/// Quads of the sums of one quad of channels that a block finishes, and of those of one block of the cluster.
const SUM_PLANE: u32 = TILE_I * PART_J + 2;
const SUMS: u32 = QUADS * SUM_PLANE;

shared! {
    /// The stages, the sums of each block of the cluster, a barrier for each stage, all of which has arrived, and one
    /// for the sums of the other block.
    dynamic fn memory() -> Shared<f32, 41010>, aligned 1024;
}

/// Quad of a box that holds quad `q` of the channels at a row and k of it: the 32-byte swizzle.
fn place(row: u32, k: u32, q: u32) -> u32 {
    row * PITCH_ROW + k * PITCH_K + (q ^ row % 2)
}

/// Quad of a plane of sums that holds those at i and the j-th j that the block finishes: without bank conflicts for the
/// lanes of a product, which have every other j of neighbouring i, and for those that write neighbouring j.
fn sum_place(i: u32, j: u32) -> u32 {
    i * PART_J + j / 8 * 8 + (j % 2 * 4 + j / 2 % 4 ^ i % 2 * 4)
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
    /// a, b, out (n,n,channels). Grid (2 * n/32, n/32, channels/8), clusters of 2, block 288, 164040 bytes of shared
    /// memory. Boxes of a and b: 8 channels, 4 k, 16 rows.
    pub fn triangle_octet(
        _a: In<f32>, _b: In<f32>, out: Out<f32>, n: u32, channels: u32, a_boxes: Boxes, b_boxes: Boxes,
    ) {
        let memory = memory();
        let thread = thread_x();
        let (warp, lane) = (thread / 32, thread % 32);
        let rank = cluster_rank();
        let (first_i, first_j) = (block_y() * TILE_I, block_x() / BLOCKS * TILE_J);
        let (first_quad, first_k) = (block_z() * QUADS, rank * (n / BLOCKS));
        let stages = n / (BLOCKS * STEP);
        let sums = STAGES * STAGE;
        let arrived = |stage: u32| Mbarrier::at(memory, 2 * (sums + BLOCKS * SUMS) + stage % STAGES);
        let received = Mbarrier::at(memory, 2 * (sums + BLOCKS * SUMS) + STAGES);
        let ask = |stage: u32| {
            arrived(stage).arrive_and_expect(16 * STAGE);
            for k_box in 0..STEP / BOX_K {
                let to = stage % STAGES * STAGE + k_box * PITCH_PARTS;
                let (channel, k) = (4 * first_quad, first_k + stage * STEP + k_box * BOX_K);
                let ask = |part: u32, boxes: Boxes, row: u32| {
                    memory.start_box(to + part * PITCH_BOX, boxes, [channel, k, row], arrived(stage));
                };
                ask(0, a_boxes, first_i);
                ask(1, a_boxes, first_i + BOX_ROWS);
                ask(B_PART, b_boxes, first_j);
                ask(B_PART + 1, b_boxes, first_j + BOX_ROWS);
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
            received.arrive_and_expect(16 * TILE_I * PART_J * QUADS);
            fence_async_shared();
            ask(0);
        }
        warp_barrier();
        cluster_arrive_relaxed(); // this block has started: the other may write to its shared memory
        barrier();

        let mask = tf32_mask(n);
        let (g, t) = (lane / 4, lane % 4);
        let (q, half_i, half_j) = (warp % QUADS, warp / QUADS % 2, warp / QUADS / 2);
        let mut big = [[[0.0; 4]; COLUMNS]; CHANNELS];
        let mut small = big;
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
            for stage in 0..stages {
                arrived(stage).wait(stage / STAGES);
                let at = |k_box: u32, part: u32, row: u32| {
                    let quad = stage % STAGES * STAGE + k_box * PITCH_PARTS + part * PITCH_BOX;
                    memory.get4(quad + place(row + g, t, q))
                };
                let a_quads = [at(0, half_i, 0), at(0, half_i, 8), at(1, half_i, 0), at(1, half_i, 8)];
                let b_quads: [[F32x4; 2]; COLUMNS] = array(|column| {
                    let j = 8 * column as u32;
                    [at(0, B_PART + half_j, j), at(1, B_PART + half_j, j)]
                });
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
                if stage % STAGES == STAGES - 1 && stage + 1 < stages {
                    barrier(); // every warp is done with all stages
                }
            }
        }

        cluster_wait();
        let other = (rank + 1) % BLOCKS;
        if warp < WARPS {
            each::<4>(|element| {
                let i = half_i * BOX_ROWS + g + element as u32 / 2 * 8;
                let j = half_j * 8 + 2 * t + element as u32 % 2;
                let to = sums + rank * SUMS + q * SUM_PLANE + sum_place(i, j);
                let sum = |column: usize, c: usize| big[c][column][element] + small[c][column][element];
                let (mut kept, mut sent) = ([0.0; CHANNELS], [0.0; CHANNELS]);
                each::<CHANNELS>(|c| (kept[c], sent[c]) = order(rank, sum(0, c), sum(1, c)));
                memory.send4(other, to, F32x4(sent), received);
                memory.set4(to, F32x4(kept));
            });
        }
        barrier();
        if warp < WARPS {
            received.wait(0);
            for quad in (thread..TILE_I * PART_J * QUADS).step_by(THREADS as usize) {
                let (i, j, q) = (quad / (PART_J * QUADS), quad / QUADS % PART_J, quad % QUADS);
                let half = |half: u32| memory.get4(sums + half * SUMS + q * SUM_PLANE + sum_place(i, j)).0;
                let (low, high) = (half(0), half(1));
                let sum = from_fn(|v| low[v] + high[v]);
                let j = first_j + j / 8 * 16 + rank * 8 + j % 8;
                out.set4(((first_i + i) * n + j) * (channels / 4) + first_quad + q, F32x4(sum));
            }
        }
    }
}
