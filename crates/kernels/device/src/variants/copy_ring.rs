//! The twin of `triangle_ring`: the same copies to shared memory and the same writes, and nothing computed.
//!
//! - **Parent**: `triangle_ring`. The output is zero.
//! - **Ownership**: a block owns 16 i by 16 j of 16 channels.
//! - **Memory**: as its parent, but that nobody reads the stages.
//! - **Dims**: n and channels multiples of 16.
//! - **Effect**: its kernel time is the least that the copies allow, 33 MB from L2 in pieces of 64 bytes.

use crate::gpu::{
    F32x4, In, Out, barrier, block_x, block_y, block_z, close_copies, kernel, shared, thread_x,
    wait_for_copies,
};

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

shared! {
    /// The stages.
    dynamic fn memory() -> Shared<f32, 32768>;
}

/// Quad of a stage that holds quad `q` of the channels at a row and k. The quads of a k change places, so that
/// four neighbouring k of two neighbouring rows lie in different banks.
fn place(row: u32, k: u32, q: u32) -> u32 {
    row * PITCH + k * QUADS + (q ^ (k / 2 % 2 + row % 2 * 2))
}

kernel! {
    /// a, b, out (n,n,channels). Grid (channels/16, n/16, n/16), block 256, 131072 bytes of shared memory.
    pub fn copy_ring(a: In<f32>, b: In<f32>, out: Out<f32>, n: u32, channels: u32) {
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

        for stage in 0..stages {
            wait_for_copies::<{ STAGES - 2 }>();
            barrier(); // also: every warp is done with the stage before, whose place the next one takes
            if stage + STAGES - 1 < stages {
                load(stage + STAGES - 1);
            }
            close_copies();
        }

        for quad in (thread..TILE_I * TILE_J * QUADS).step_by(THREADS as usize) {
            let (i, j, q) = (quad / (TILE_J * QUADS), quad / QUADS % TILE_J, quad % QUADS);
            out.set4(((first_i + i) * n + first_j + j) * quads + first_quad + q, F32x4::ZERO);
        }
    }
}
