//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, each block's first products from what it split itself.
//!
//! - **Parent**: `matmul_presplit`. There every block waited at a barrier of the grid for all tiles, and then for those
//!   that it had asked for to come back from the L2 cache. Here a block begins with a tile of A and one of B that
//!   it splits where it multiplies them, and waits meanwhile for the flags of those that it reads and no others
//!   ([`panels`](crate::parts::panels)).
//! - **Ownership**: a cluster of two blocks owns a tile of 128 x 128 of C, each block half of K. In a block, four
//!   warpgroups split, of which the first two then own 64 rows each and a warp of the third starts the copies. In the
//!   end block r of a tile owns the columns from 64 r on.
//! - **Memory**: six stages of 32 steps along K, 32768 bytes each, with a barrier each for full and for empty; 32768 bytes
//!   more take first what others read, then the sums from the other block, which are sent without a fence. Scratch
//!   memory as the parent, with flags in place of the barrier.
//! - **Dims**: m and n multiples of 128 up to 1024, so that every block is resident, k of 256.
//! - **Accuracy**: products of high halves, and those of a high and a low one, have sums of their own, in the tensor
//!   cores from the first step to the last of half of K; as the tensor cores truncate, what is lost is a few times
//!   what the parent loses. A tile of C computes its outputs from FP32 values if one of its tiles of A or B
//!   lies outside the domain; a segment of B is half as long as the parent's.
//! - **Effect**: tensor cores start sooner, never wait for sums to be added up, and rest less at the end, where all warps
//!   that multiply write; kernel time falls by up to a fifth.

use crate::gpu::{
    Accumulators, Columns, F32x4, In, Mbarrier, Out, Scratch, Shared, block_x, block_y,
    cluster_arrive_relaxed, cluster_rank, cluster_wait, fence_async_global, give_registers, kernel,
    publish_barriers, shared, take_registers, thread_x, uniform, unrolled, warp_barrier,
};
use crate::parts::f16x3::UNSCALE;
use crate::parts::full_range::matmul_tile;
use crate::parts::panels::{PART, Place, STARTER, Slots, TILE, split_shares};
use crate::parts::stages;
use core::array::from_fn;

/// Stages with which a block begins, and which it splits itself: those of a tile.
const FIRST: u32 = 2;
/// Stages.
const STAGES: u32 = 6;
/// Quads of a stage: a part of A, a part of B. The parts of A of all stages stand before those of B.
const STAGE: u32 = 2 * PART;
/// The quad after the stages, where what others read is split, and later the sums from the other block are.
const SUMS: u32 = STAGES * STAGE;
/// The word after them, where the barriers are.
const BARRIERS: u32 = 4 * (SUMS + 64 * TILE / 4);
/// The word that is not zero if a value lies outside the domain.
const OUTSIDE: u32 = BARRIERS + 4 * STAGES + 4;
/// Words of shared memory: the stages, the sums, two barriers a stage, two more, and the word that tells of
/// values outside the domain.
const WORDS: usize = OUTSIDE as usize + 4;

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

/// Copies the parts along K of A and B from [`FIRST`] on to the stages, as one thread.
#[inline(always)]
fn copy(words: Shared<u32, WORDS>, scratch: Scratch, place: Place) {
    let mut turn = Turn {
        stage: FIRST,
        round: 0,
    };
    for step in FIRST..place.parts() {
        if step >= STAGES {
            empty(words, turn.stage).wait(turn.round + 1);
        }
        let (barrier, [a, b]) = (full(words, turn.stage), place.quads(step));
        barrier.arrive_and_expect(16 * STAGE);
        words.start_load(PART * turn.stage, scratch, a, PART, barrier);
        words.start_load(PART * (STAGES + turn.stage), scratch, b, PART, barrier);
        turn.advance();
    }
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (2 * n/128, m/128), block 512, cluster 2.
    pub fn matmul_local(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let words = shared_words();
        let thread = thread_x();
        let rank = cluster_rank();
        let (panel_a, panel_b) = (block_y(), block_x() / 2);
        let place = Place::new(m, n, k, panel_a, panel_b, rank);
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
        let launch = place.launch(scratch);
        let slots = Slots { a: 0, b: PART * STAGES, others: SUMS };
        let outside = split_shares(words, slots, scratch, place, a, b, n, k);
        if thread >= STARTER + 128 {
            give_registers::<24>();
            return;
        }
        if thread >= STARTER {
            give_registers::<72>();
            if thread >= STARTER + 32 {
                return;
            }
            if thread == STARTER {
                for stage in 0..FIRST {
                    full(words, stage).arrive();
                }
                place.raise_flags(scratch, launch, outside);
            }
            warp_barrier();
            // What was split where sums go is stored.
            cluster_arrive_relaxed();
            let lane = thread % 32;
            let mut outside = place.wait(scratch, launch, rank, lane);
            if lane == 0 {
                fence_async_global();
                copy(words, scratch, place);
            }
            warp_barrier();
            outside |= place.wait(scratch, launch, rank ^ 1, lane);
            if outside {
                words.set(OUTSIDE, 1);
            }
            warp_barrier();
            if lane == 0 {
                there(words, 0).arrive_and_expect(4 * 32 * TILE);
                there(words, 1).arrive_and_expect(4 * 32 * TILE);
            }
            return;
        }
        cluster_arrive_relaxed();
        take_registers::<208>();

        let part = uniform(thread / 128);
        let sums = multiply(words, place.parts(), part);
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
        let (block_row, block_column) = (panel_a * TILE, panel_b * TILE + TILE / 2 * rank);
        if words.get(OUTSIDE) != 0 {
            matmul_tile::<{ TILE / 2 }>(thread, a, b, out, block_row, block_column, n, k);
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
