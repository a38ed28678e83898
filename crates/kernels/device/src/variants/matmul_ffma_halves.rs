//! `C[i,j] = sum_k A[i,k] B[k,j]`, an 8 x 8 tile of outputs a thread and half of each step of K, for every FP32
//! value.
//!
//! - **Parent**: `matmul_ffma_128x64`. It had one warp a scheduler, which waited for every shared read, and spent
//!   instructions on the way of A through registers. Here a second group of 128 threads takes half of each step,
//!   and copies that go through no register (`cp.async`) run two steps ahead.
//! - **Ownership**: a block of 256 threads owns a 128 x 64 tile of C. In each half of the block thread (x, y) of
//!   8 x 16 sums every 16th row from y on by the columns 4x to 4x + 3 and 32 more, over half of each step; in the
//!   end each half of the block adds up half of the rows.
//! - **Memory**: three stages of 32 steps along K, 26624 bytes each: A as it is, in rows of 36 elements, of which 32
//!   are used, so that neighbouring rows meet no bank twice, and B as it is. 16 quads, eight along K of A and eight
//!   of B, feed 256 multiply-adds. One barrier a step.
//! - **Dims**: m a multiple of 128, n of 64, k of 32.
//! - **Effect**: two warps a scheduler hide each other's reads; kernel time falls towards what FP32
//!   multiply-adds alone take.

use crate::gpu::{
    F32x4, In, Out, barrier, block_x, block_y, close_copies, fma, kernel, shared, thread_x,
    unrolled, wait_for_copies,
};
use core::array::from_fn;

/// Rows of C a block.
const ROWS: u32 = 128;
/// Columns of C a block.
const COLUMNS: u32 = 64;
/// Steps of K a stage.
const STEP: u32 = 32;
/// Stages.
const STAGES: u32 = 3;
/// Quads from one row of A to the next.
const A_PITCH: u32 = STEP / 4 + 1;
/// Quads of a row of B.
const B_QUADS: u32 = COLUMNS / 4;
/// Quads of A in a stage; those of B follow.
const A_SIZE: u32 = ROWS * A_PITCH;
/// Quads of a stage.
const STAGE: u32 = A_SIZE + STEP * B_QUADS;
/// Elements of the stages.
const ELEMENTS: usize = (4 * STAGES * STAGE) as usize;

shared! {
    /// The stages, and in the end sums.
    dynamic fn stages() -> Shared<f32, ELEMENTS>, aligned 16;
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (n/64, m/128), block 256.
    pub fn matmul_ffma_halves(a: In<f32>, b: In<f32>, out: Out<f32>, _m: u32, n: u32, k: u32) {
        let stages = stages();
        let thread = thread_x();
        let (half, t) = (thread / 128, thread % 128);
        let (x, y) = (t % 8, t / 8);
        let (block_row, block_column) = (block_y() * ROWS, block_x() * COLUMNS);

        // A thread copies a quad of every 32nd row of A, and of every 16th of B.
        let (a_row, a_quad) = (thread / 8, thread % 8);
        let (b_row, b_quad) = (thread / B_QUADS, thread % B_QUADS);
        let mut from_a = a.from((block_row + a_row) * k + 4 * a_quad);
        let mut from_b = b.from(b_row * n + block_column + 4 * b_quad);
        let (to_a, to_b) = (a_row * A_PITCH + a_quad, A_SIZE + b_row * B_QUADS + b_quad);
        let mut copied = 0;
        let mut copy = |stage: u32| {
            if copied < k {
                for i in 0..4 {
                    stages.start_copy4(stage * STAGE + to_a + 32 * A_PITCH * i, from_a, 8 * k * i);
                }
                for i in 0..2 {
                    stages.start_copy4(stage * STAGE + to_b + 16 * B_QUADS * i, from_b, 4 * n * i);
                }
                (from_a, from_b) = (from_a.from(STEP), from_b.from(STEP * n));
                copied += STEP;
            }
            close_copies();
        };

        copy(0);
        copy(1);
        let mut sums = [[0.0; 8]; 8];
        let (mut stage, mut ahead) = (0, 2);
        let mut step = 0;
        while step < k {
            wait_for_copies::<1>();
            barrier();
            copy(ahead);
            let a_tile = stage * STAGE + y * A_PITCH + 4 * half;
            let b_tile = stage * STAGE + A_SIZE + 16 * half * B_QUADS + x;
            unrolled!(q in 4 {
                let a_quads: [[f32; 4]; 8] =
                    from_fn(|i| stages.get4(a_tile + 16 * A_PITCH * i as u32 + q as u32).0);
                unrolled!(p in 4 {
                    let row = b_tile + (4 * q + p) as u32 * B_QUADS;
                    let b_quads = [stages.get4(row).0, stages.get4(row + 8).0];
                    for i in 0..8 {
                        for j in 0..8 {
                            sums[i][j] = fma(a_quads[i][p], b_quads[j / 4][j % 4], sums[i][j]);
                        }
                    }
                });
            });
            stage = (stage + 1) % STAGES;
            ahead = (ahead + 1) % STAGES;
            step += STEP;
        }

        // Half 0 ends with the rows of even i, half 1 with those of odd i.
        barrier();
        unrolled!(i in 8 {
            if i as u32 % 2 != half {
                for side in 0..2 {
                    let values = F32x4(from_fn(|j| sums[i][4 * side + j]));
                    stages.set4(128 * (2 * i + side) as u32 + t, values);
                }
            }
        });
        barrier();
        unrolled!(i in 8 {
            if i as u32 % 2 == half {
                let quad = ((block_row + 16 * i as u32 + y) * n + block_column) / 4 + x;
                for side in 0..2 {
                    let F32x4(values) = stages.get4(128 * (2 * i + side) as u32 + t);
                    out.set4(quad + 8 * side as u32, F32x4(from_fn(|j| sums[i][4 * side + j] + values[j])));
                }
            }
        });
    }
}
