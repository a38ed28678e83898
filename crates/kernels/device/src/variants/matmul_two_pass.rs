//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, in two launches: one splits A and B, one multiplies.
//!
//! - **Parent**: `matmul_local`. There the blocks that multiply split first, so few threads that memory waits for them,
//!   and wait for each other's flags. Here a launch before, wide enough for memory, splits each element once
//!   ([`halves`](crate::parts::halves)); the end of a launch is the barrier.
//! - **Ownership**: in the first launch a block owns a part, a thread 16 elements of it. In the second a cluster of two
//!   blocks owns a tile of 128 x 128 of C, each block half of K; in a block, two warpgroups own 64 rows each, and one
//!   more warp starts the copies. In the end block r of a tile owns the columns from 64 r on.
//! - **Memory**: six stages of 32 steps along K, 32768 bytes each, with a barrier each for full and for empty; 32768 bytes
//!   more for the sums from the other block, which are sent without a fence. Scratch memory: 4 bytes an element of A
//!   and B.
//! - **Dims**: m and n multiples of 128, k of 64.
//! - **Accuracy**: as the parent, with segments of 32 steps.
//! - **Effect**: tensor cores start as soon as the second launch has its first stages, for the price of a launch: kernel
//!   time, of both, falls by a tenth.

use crate::gpu::{
    Accumulators, Columns, F32x4, In, Mbarrier, Out, Scratch, Shared, barrier, block_x, block_y,
    block_z, cluster_arrive_relaxed, cluster_rank, cluster_wait, fence_async_global, kernel,
    publish_barriers, shared, thread_x, uniform, unrolled, warp_barrier,
};
use crate::parts::f16x3::UNSCALE;
use crate::parts::full_range::matmul_tile;
use crate::parts::halves::{Halves, PANEL, PART, split_part};
use crate::parts::stages;
use core::array::from_fn;

/// Stages.
const STAGES: u32 = 6;
/// Quads of a stage: a part of A, a part of B. The parts of A of all stages stand before those of B.
const STAGE: u32 = 2 * PART;
/// The quad after the stages, where the sums from the other block are.
const SUMS: u32 = STAGES * STAGE;
/// The word after them, where the barriers are.
const BARRIERS: u32 = 4 * (SUMS + 64 * PANEL / 4);
/// The word that is not zero if a value lies outside the domain.
const OUTSIDE: u32 = BARRIERS + 4 * STAGES + 4;
/// Words of shared memory: the stages, the sums, two barriers a stage, two more, and the word that tells of
/// values outside the domain.
const WORDS: usize = OUTSIDE as usize + 4;
/// The thread that starts copies, with a warp whose first it is.
const STARTER: u32 = 256;

shared! {
    /// What the kernel shares.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

/// The barrier that is complete when stage `stage` is full.
fn full(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + stage)
}

/// The barrier that is complete when stage `stage` is read.
fn empty(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + STAGES + stage)
}

/// The barrier that is complete when the sums of warpgroup `part` of the other block are there, and it is known whether a
/// value lies outside the domain.
fn there(words: Shared<u32, WORDS>, part: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + 2 * STAGES + part)
}

/// A stage, and which round of the stages it is.
type Turn = stages::Turn<STAGES>;

/// Starts the products of a stage for the warpgroup with the rows from `64 * part` on: of the high halves, and of a high
/// and a low one each; from zero on, or with `SUM` added to what there is.
#[inline(always)]
fn start_products<const SUM: bool>(
    words: Shared<u32, WORDS>,
    turn: Turn,
    part: u32,
    high: &mut Accumulators<64>,
    low: &mut Accumulators<64>,
) {
    let a = Columns::swizzled(words, PART * turn.stage + PART / 2 * part);
    let b = Columns::swizzled(words, PART * (STAGES + turn.stage));
    full(words, turn.stage).wait(turn.round);
    stages::start_products::<SUM>(a, b, high, low);
}

/// Multiplies 64 rows by 128 columns over `steps` stages.
#[inline(always)]
fn multiply(words: Shared<u32, WORDS>, steps: u32, part: u32) -> [f32; 64] {
    let first_lane = thread_x() % 32 == 0;
    let mut high = Accumulators::<64>::ZERO;
    let mut low = Accumulators::<64>::ZERO;
    let mut turn = Turn::FIRST;
    start_products::<false>(words, turn, part, &mut high, &mut low);
    for _ in 1..steps {
        let before = turn.stage;
        turn.advance();
        start_products::<true>(words, turn, part, &mut high, &mut low);
        high.wait_shared::<1>();
        low.wait_shared::<1>();
        if first_lane {
            empty(words, before).arrive();
        }
    }
    high.wait_shared::<0>();
    low.wait_shared::<0>();
    high.add_to(&mut low.0);
    low.0
}

kernel! {
    /// Splits A and B. Grid (k/32, m/128 or n/128, 2), block 256; arguments as for the launch after it.
    pub fn matmul_two_pass_first(
        a: In<f32>, b: In<f32>, _out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let panels = if block_z() == 0 { m / PANEL } else { n / PANEL };
        if block_y() < panels {
            split_part(Halves::new(scratch, m, n, k), a, b, n, k);
        }
    }
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (2 * n/128, m/128), block 288, cluster 2.
    pub fn matmul_two_pass(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let words = shared_words();
        let thread = thread_x();
        let rank = cluster_rank();
        let (panel_a, panel_b) = (block_y(), block_x() / 2);
        let halves = Halves::new(scratch, m, n, k);
        let (first_a, first_b) = (halves.of_a(panel_a), halves.of_b(panel_b));
        let steps = halves.parts() / 2;
        if thread == STARTER {
            for stage in 0..STAGES {
                full(words, stage).init(1);
                empty(words, stage).init(8);
            }
            there(words, 0).init(1);
            there(words, 1).init(1);
            words.set(OUTSIDE, 0);
            publish_barriers();
        }
        let start = |step: u32, stage: u32| {
            let (barrier, part) = (full(words, stage), rank * steps + step);
            barrier.arrive_and_expect(16 * STAGE);
            words.start_load(PART * stage, scratch, PART * (first_a + part), PART, barrier);
            words.start_load(PART * (STAGES + stage), scratch, PART * (first_b + part), PART, barrier);
        };
        if thread == STARTER {
            fence_async_global();
            for stage in 0..STAGES {
                if stage < steps {
                    start(stage, stage);
                }
            }
        }
        warp_barrier();
        cluster_arrive_relaxed();
        barrier();
        if thread >= STARTER {
            let lane = thread % 32;
            if lane == 0 {
                let mut turn = Turn { stage: 0, round: 1 };
                for step in STAGES..steps {
                    empty(words, turn.stage).wait(turn.round + 1);
                    start(step, turn.stage);
                    turn.advance();
                }
            }
            warp_barrier();
            let outside =
                halves.any_outside(first_a, lane) | halves.any_outside(first_b, lane);
            if outside & (lane == 0) {
                words.set(OUTSIDE, 1);
            }
            warp_barrier();
            if lane == 0 {
                there(words, 0).arrive_and_expect(4 * 32 * PANEL);
                there(words, 1).arrive_and_expect(4 * 32 * PANEL);
            }
            return;
        }

        let part = uniform(thread / 128);
        let sums = multiply(words, steps, part);
        // Block 0 of a tile has the first eight eights of columns, block 1 the others.
        let first = rank == 0;
        let mine: [f32; 32] = from_fn(|i| if first { sums[i] } else { sums[32 + i] });
        let other: [f32; 32] = from_fn(|i| if first { sums[32 + i] } else { sums[i] });
        let quad = SUMS + 8 * 128 * part + thread % 128;
        cluster_wait();
        unrolled!(j in 8 {
            let values = F32x4([other[4 * j], other[4 * j + 1], other[4 * j + 2], other[4 * j + 3]]);
            words.as_f32().send4(rank ^ 1, quad + 128 * j as u32, values, there(words, part));
        });
        there(words, part).wait(0);
        let (block_row, block_column) = (panel_a * PANEL, panel_b * PANEL + PANEL / 2 * rank);
        if words.get(OUTSIDE) != 0 {
            matmul_tile::<{ PANEL / 2 }>(thread, a, b, out, block_row, block_column, n, k);
            return;
        }
        let (g, t) = (thread % 32 / 4, thread % 4);
        let row = block_row + 16 * (thread / 32) + g;
        unrolled!(j in 8 {
            let F32x4(values) = words.as_f32().get4(quad + 128 * j as u32);
            let pair = (row * n + block_column) / 2 + 4 * j as u32 + t;
            let value = |i: usize| (mine[4 * j + i] + values[i]) * UNSCALE;
            out.set2(pair, [value(0), value(1)]);
            out.set2(pair + 4 * n, [value(2), value(3)]);
        });
    }
}
