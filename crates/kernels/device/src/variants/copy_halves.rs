//! The twin of `triangle_halves`: the same reads to shared memory and the same writes, and nothing computed.
//!
//! - **Parent**: `triangle_halves`. The output is zero; the blocks of a cluster exchange nothing.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent, but that nobody reads the stages.
//! - **Dims**: n a multiple of 32, channels of 16.
//! - **Effect**: its kernel time is the least that the reads allow, 25 MB from L2 in pieces of 64 bytes.

use crate::gpu::{
    Boxes, F32x4, In, Mbarrier, Out, barrier, block_x, block_y, block_z, cluster_arrive_relaxed,
    cluster_rank, cluster_wait, fence_async_shared, kernel, publish_barriers, shared, thread_x,
    warp_barrier,
};

/// Blocks of a cluster.
const BLOCKS: u32 = 2;
/// i of a cluster.
const TILE_I: u32 = 32;
/// j of a cluster.
const TILE_J: u32 = 16;
/// j that a block writes.
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
/// Threads of a block.
const THREADS: u32 = 256;
/// Quads of the place for sums: of one quad of channels, and of one block of the cluster.
const SUM_PLANE: u32 = TILE_I * PART_J + 1;
const SUMS: u32 = QUADS * SUM_PLANE;

shared! {
    /// As the parent's: the stages, place for sums, and a barrier for each stage.
    dynamic fn memory() -> Shared<f32, 57394>, aligned 1024;
}

kernel! {
    /// a, b, out (n,n,channels). Grid (2 * n/16, n/32, channels/16), clusters of 2, block 256, 229576 bytes of shared
    /// memory. Boxes of a and b: 16 channels, 4 k, 16 rows.
    pub fn copy_halves(
        _a: In<f32>, _b: In<f32>, out: Out<f32>, n: u32, channels: u32, a_boxes: Boxes, b_boxes: Boxes,
    ) {
        let memory = memory();
        let thread = thread_x();
        let rank = cluster_rank();
        let (first_i, first_j) = (block_y() * TILE_I, block_x() / BLOCKS * TILE_J);
        let (first_quad, first_k) = (block_z() * QUADS, rank * (n / BLOCKS));
        let stages = n / (BLOCKS * STEP);
        let sums = STAGES * STAGE;
        let arrived = |stage: u32| Mbarrier::at(memory, 2 * (sums + BLOCKS * SUMS) + stage % STAGES);
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
            }
        };
        if thread == 0 {
            a_boxes.prefetch();
            b_boxes.prefetch();
            for stage in 0..STAGES {
                arrived(stage).init(1);
            }
            publish_barriers();
            fence_async_shared();
            for stage in 0..STAGES.min(stages) {
                ask(stage);
            }
        }
        warp_barrier();
        cluster_arrive_relaxed(); // this block has started: the other may write to its shared memory
        barrier();

        for stage in 0..stages {
            arrived(stage).wait(stage / STAGES);
            if stage % STAGES == STAGES - 1 && stage + 1 < stages {
                barrier(); // every warp is done with all stages
                if thread == 0 {
                    for later in stage + 1..stages.min(stage + 1 + STAGES) {
                        ask(later);
                    }
                }
                warp_barrier();
            }
        }
        cluster_wait();
        for quad in (thread..TILE_I * PART_J * QUADS).step_by(THREADS as usize) {
            let (i, j, q) = (quad / (PART_J * QUADS), quad / QUADS % PART_J, quad % QUADS);
            let j = first_j + rank * PART_J + j;
            out.set4(((first_i + i) * n + j) * (channels / 4) + first_quad + q, F32x4::ZERO);
        }
    }
}
