//! Triangle contraction, `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`, on tensor cores, k in halves between two blocks whose
//! threads copy.
//!
//! - **Parent**: `triangle_halves`. Every thread copies 16 bytes at a time, as in `triangle_ring`, in place of boxes.
//! - **Ownership**: as its parent. A warp copies 8 k of every eighth row of a stage.
//! - **Memory**: as its parent; a thread asks for its share of the first four stages at once, and of each further one
//!   before it computes the one four before. A barrier in shared memory counts the threads whose copies have arrived.
//! - **Dims**: n a multiple of 32, channels of 16.
//! - **Effect**: no tensor map to fetch before the first byte, and all warps ask from the start, against 48 instructions a
//!   thread for the way to memory. It is slower: a warp that computes waits in order for the way to
//!   memory.

use crate::gpu::{
    F32x4, In, Mbarrier, Out, array, barrier, block_x, block_y, block_z, cluster_arrive_relaxed,
    cluster_rank, cluster_wait, cut_tf32_by, each, kernel, mma_tf32, publish_barriers, shared,
    tf32_mask, thread_x, warp_barrier,
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
/// k and rows that lie together in a stage.
const BOX_K: u32 = 4;
const BOX_ROWS: u32 = 16;
/// Of 4 k: two of A, which are its halves of i, then that of B.
const PARTS: u32 = 3;
const B_PART: u32 = 2;
/// Stages that are asked for before the first is computed.
const AHEAD: u32 = 4;
/// Stages in shared memory.
const STAGES: u32 = 8;
/// Quads from one k of a box to the next, from one row to the next, from one part to the next, and from the parts of 4 k
/// to those of the next 4.
const PITCH_K: u32 = QUADS;
const PITCH_ROW: u32 = BOX_K * PITCH_K;
const PITCH_BOX: u32 = BOX_ROWS * PITCH_ROW;
const PITCH_PARTS: u32 = PARTS * PITCH_BOX;
/// Quads of a stage.
const STAGE: u32 = STEP / BOX_K * PITCH_PARTS;
/// Warps and threads of a block.
const WARPS: u32 = 8;
const THREADS: u32 = 32 * WARPS;
/// Channels of a warp.
const CHANNELS: usize = 4;
/// Matrices of 8 j of a warp: one for each block to finish.
const COLUMNS: usize = 2;
/// Quads of the sums of one quad of channels that a block finishes, and of those of one block of the cluster.
const SUM_PLANE: u32 = TILE_I * PART_J + 1;
const SUMS: u32 = QUADS * SUM_PLANE;

shared! {
    /// The stages, the sums of each block of the cluster, a barrier for each stage, all of which has arrived, and one
    /// for the sums of the other block.
    dynamic fn memory() -> Shared<f32, 57394>, aligned 1024;
}

/// Quad of a part that holds quad `q` of the channels at a row and k of it, as the 64-byte swizzle has it.
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
    /// a, b, out (n,n,channels). Grid (2 * n/16, n/32, channels/16), clusters of 2, block 256, 229576 bytes of shared
    /// memory.
    pub fn triangle_async(a: In<f32>, b: In<f32>, out: Out<f32>, n: u32, channels: u32) {
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
        let quads = channels / 4;
        let ask = |stage: u32| {
            let (k, q) = (lane / QUADS, lane % QUADS);
            let to = stage % STAGES * STAGE + k / BOX_K * PITCH_PARTS;
            let from = (stage * STEP + first_k + k) * quads + first_quad + q;
            each::<6>(|i| {
                let row = warp + i as u32 * WARPS;
                let to = to + row / BOX_ROWS * PITCH_BOX + place(row % BOX_ROWS, k % BOX_K, q);
                if i < 4 {
                    memory.start_copy4(to, a, (first_i + row) * n * quads + from);
                } else {
                    memory.start_copy4(to, b, (first_j + row - TILE_I) * n * quads + from);
                }
            });
            arrived(stage).arrive_after_copies();
        };
        if thread == 0 {
            for stage in 0..STAGES {
                arrived(stage).init(THREADS);
            }
            received.init(1);
            publish_barriers();
            received.arrive_and_expect(16 * TILE_I * PART_J * QUADS);
        }
        warp_barrier();
        cluster_arrive_relaxed(); // this block has started: the other may write to its shared memory
        barrier();
        for stage in 0..AHEAD.min(stages) {
            ask(stage);
        }

        let mask = tf32_mask(n);
        let (g, t) = (lane / 4, lane % 4);
        let (q, half_i) = (warp % QUADS, warp / QUADS);
        let mut big = [[[0.0; 4]; COLUMNS]; CHANNELS];
        let mut small = big;
        for stage in 0..stages {
            if stage + AHEAD < stages {
                if stage + AHEAD >= STAGES {
                    barrier(); // every warp is done with the stage whose place the next one takes
                }
                ask(stage + AHEAD);
            }
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
                    small[c][column] = mma_tf32(a_low, b_high, small[c][column]);
                    big[c][column] = mma_tf32(a_high, b_high, big[c][column]);
                    small[c][column] = mma_tf32(a_high, b_low, small[c][column]);
                });
            });
        }

        cluster_wait();
        let other = (rank + 1) % BLOCKS;
        each::<4>(|element| {
            let i = half_i * BOX_ROWS + g + element as u32 / 2 * 8;
            let j = 2 * t + element as u32 % 2;
            let to = sums + rank * SUMS + q * SUM_PLANE + sum_place(i, j);
            let sum = |column: usize, c: usize| big[c][column][element] + small[c][column][element];
            let (mut kept, mut sent) = ([0.0; CHANNELS], [0.0; CHANNELS]);
            each::<CHANNELS>(|c| (kept[c], sent[c]) = order(rank, sum(0, c), sum(1, c)));
            memory.send4(other, to, F32x4(sent), received);
            memory.set4(to, F32x4(kept));
        });
        barrier();
        received.wait(0);
        for quad in (thread..TILE_I * PART_J * QUADS).step_by(THREADS as usize) {
            let (i, j, q) = (quad / (PART_J * QUADS), quad / QUADS % PART_J, quad % QUADS);
            let half = |half: u32| memory.get4(sums + half * SUMS + q * SUM_PLANE + sum_place(i, j)).0;
            let (low, high) = (half(0), half(1));
            let sum = from_fn(|v| low[v] + high[v]);
            let j = first_j + rank * PART_J + j;
            out.set4(((first_i + i) * n + j) * quads + first_quad + q, F32x4(sum));
        }
    }
}
