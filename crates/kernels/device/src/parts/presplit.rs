//! `C[i,j] = sum_k A[i,k] B[k,j]` by a grid that first splits A and B together, each element once, into scratch
//! memory, and then multiplies the halves, which no thread touches again: copies bring them to shared memory, and
//! warpgroups multiply them from there.
//!
//! A cluster is `2 ACROSS DOWN` blocks: for each of its tiles of 128 x 128 of C, of which it has `ACROSS` side by
//! side in each of `DOWN` rows, two that sum half of K each. Each block starts a part of the copies that it
//! shares with others, for all of them. The two blocks of a tile meet in distributed shared memory.

use crate::gpu::{
    Accumulators, Columns, F32x4, In, Mbarrier, Out, Scratch, Shared, block_x, block_y,
    cluster_arrive, cluster_arrive_relaxed, cluster_rank, cluster_wait, fence_async_global,
    publish_barriers, thread_x, uniform, unrolled, warp_barrier,
};
use crate::parts::f16x3::UNSCALE;
use crate::parts::full_range::matmul_tile;
use crate::parts::tiles::{HALF, InFours, QUADS, SPLITTERS, TILE, Tiles, split_all};

/// Stages.
const STAGES: u32 = 3;
/// Quads of a stage: a tile of A, a tile of B.
const STAGE: u32 = 2 * QUADS;
/// The quad after the stages, where the sums from the other block are.
const SUMS: u32 = STAGES * STAGE;
/// The word after them, where the barriers are.
const BARRIERS: u32 = 4 * (SUMS + 64 * TILE / 4);
/// The word that is not zero if a value lies outside the domain.
const OUTSIDE: u32 = BARRIERS + 4 * STAGES;
/// Words of shared memory: the stages, the sums, two barriers a stage, and the word that tells of values outside the
/// domain.
pub const WORDS: usize = BARRIERS as usize + 16;

/// The barrier that is complete when stage `stage` is full.
fn full(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + stage)
}

/// The barrier that is complete when stage `stage` is read, here and in the blocks that get copies from here.
fn empty(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + STAGES + stage)
}

/// A stage, and which round of the stages it is.
#[derive(Clone, Copy)]
struct Place {
    stage: u32,
    round: u32,
}

impl Place {
    const FIRST: Self = Self { stage: 0, round: 0 };

    /// Moves to the next stage.
    fn advance(&mut self) {
        *self = match self.stage + 1 < STAGES {
            true => Self {
                stage: self.stage + 1,
                ..*self
            },
            false => Self {
                stage: 0,
                round: self.round + 1,
            },
        };
    }
}

/// Where a block stands in its cluster.
#[derive(Clone, Copy)]
struct Spot<const ACROSS: u32, const DOWN: u32> {
    half: u32,
    across: u32,
    down: u32,
}

impl<const ACROSS: u32, const DOWN: u32> Spot<ACROSS, DOWN> {
    const BLOCKS: u32 = 2 * ACROSS * DOWN;

    fn rank(self) -> u32 {
        self.half + 2 * (self.across + ACROSS * self.down)
    }

    /// The blocks with the same rows and half of K, a bit a rank.
    fn same_rows(self) -> u32 {
        let mut ranks = 0;
        for across in 0..ACROSS {
            ranks |= 1 << Self { across, ..self }.rank();
        }
        ranks
    }

    /// The blocks with the same columns and half of K, a bit a rank.
    fn same_columns(self) -> u32 {
        let mut ranks = 0;
        for down in 0..DOWN {
            ranks |= 1 << Self { down, ..self }.rank();
        }
        ranks
    }

    /// Of the `ACROSS + DOWN - 1` blocks that copy to this one, itself among them, the `index`th.
    fn source(self, index: u32) -> u32 {
        match index < ACROSS {
            true => Self {
                across: index,
                ..self
            }
            .rank(),
            false => Self {
                down: (self.down + index - ACROSS + 1) % DOWN,
                ..self
            }
            .rank(),
        }
    }

    /// Starts the copies of a stage for which this block stands: a part of the tile `a` for all that share it, a part
    /// of `b` for all that share that.
    fn start(self, words: Shared<u32, WORDS>, scratch: Scratch, stage: u32, a: u32, b: u32) {
        let barrier = full(words, stage);
        barrier.arrive_and_expect(16 * STAGE);
        let (part, first) = (QUADS / ACROSS, QUADS / ACROSS * self.across);
        copy::<ACROSS>(
            words,
            scratch,
            self.same_rows(),
            STAGE * stage + first,
            QUADS * a + first,
            part,
            barrier,
        );
        let (part, first) = (QUADS / DOWN, QUADS / DOWN * self.down);
        let to = STAGE * stage + QUADS + first;
        copy::<DOWN>(
            words,
            scratch,
            self.same_columns(),
            to,
            QUADS * b + first,
            part,
            barrier,
        );
    }
}

/// Starts a copy to `BLOCKS` blocks.
#[inline(always)]
fn copy<const BLOCKS: u32>(
    words: Shared<u32, WORDS>,
    scratch: Scratch,
    ranks: u32,
    to: u32,
    from: u32,
    quads: u32,
    barrier: Mbarrier,
) {
    match BLOCKS {
        1 => words.start_load(to, scratch, from, quads, barrier),
        _ => words.start_load_in(ranks, to, scratch, from, quads, barrier),
    }
}

/// Starts the products of a stage, the smaller ones first, for the warpgroup with the rows from `64 * part` on: from
/// zero on, or with `SUM` from what `products` are.
#[inline(always)]
fn start_products<const SUM: bool>(
    words: Shared<u32, WORDS>,
    place: Place,
    part: u32,
    products: &mut Accumulators<64>,
) {
    let a_high = Columns::swizzled(words, STAGE * place.stage + HALF / 2 * part);
    let b_high = Columns::swizzled(words, STAGE * place.stage + QUADS);
    let (a_low, b_low) = (a_high.after(HALF), b_high.after(HALF));
    full(words, place.stage).wait(place.round);
    products.fence_shared();
    products.multiply_shared::<SUM>(a_low, b_high);
    for i in 1..4 {
        products.multiply_shared::<true>(a_low.along_k(i), b_high.along_k(i));
    }
    for i in 0..4 {
        products.multiply_shared::<true>(a_high.along_k(i), b_low.along_k(i));
    }
    for i in 0..4 {
        products.multiply_shared::<true>(a_high.along_k(i), b_high.along_k(i));
    }
    products.commit();
}

/// Multiplies 64 rows by 128 columns over `steps` stages, an even number. Tensor cores truncate where they add, so
/// that the products of two stages start from zero, and are added to the sums here.
#[inline(always)]
fn multiply<const ACROSS: u32, const DOWN: u32>(
    words: Shared<u32, WORDS>,
    spot: Spot<ACROSS, DOWN>,
    steps: u32,
) -> [f32; 64] {
    let thread = thread_x();
    let (part, lane) = (uniform(thread / 128), thread % 32);
    let source = spot.source(lane);
    let release = |stage: u32| {
        if lane < ACROSS + DOWN - 1 {
            empty(words, stage).arrive_in(source);
        }
    };
    let mut sums = [0.0; 64];
    let mut products = Accumulators::<64>::ZERO;
    let mut place = Place::FIRST;
    for _ in 0..steps / 2 {
        let first = place.stage;
        start_products::<false>(words, place, part, &mut products);
        place.advance();
        start_products::<true>(words, place, part, &mut products);
        products.wait_shared::<1>();
        release(first);
        products.wait_shared::<0>();
        release(place.stage);
        place.advance();
        products.add_to(&mut sums);
    }
    sums
}

/// The whole kernel: m a multiple of `128 DOWN`, n of `128 ACROSS`, k of 256. Grid (2 DOWN n/128, m/128/DOWN), block
/// 288; every block is resident.
#[inline(always)]
pub fn matmul<const ACROSS: u32, const DOWN: u32>(
    words: Shared<u32, WORDS>,
    a: In<f32>,
    b: In<f32>,
    out: Out<f32>,
    m: u32,
    n: u32,
    k: u32,
    scratch: Scratch,
) {
    let thread = thread_x();
    let rank = cluster_rank();
    let spot = Spot::<ACROSS, DOWN> {
        half: rank % 2,
        across: rank / 2 % ACROSS,
        down: rank / 2 / ACROSS,
    };
    let cluster = Spot::<ACROSS, DOWN>::BLOCKS;
    let panel_a = block_y() * DOWN + spot.down;
    let panel_b = block_x() / cluster * ACROSS + spot.across;
    let tiles = Tiles::new(m, n, k);
    let steps = tiles.along_k / 2;
    if thread == SPLITTERS {
        for stage in 0..STAGES {
            full(words, stage).init(1);
            empty(words, stage).init(8 * (ACROSS + DOWN - 1));
        }
        words.set(OUTSIDE, 0);
        publish_barriers();
    }
    cluster_arrive_relaxed();

    let grid_x = 2 * DOWN * (n / TILE);
    let (block, blocks) = (block_y() * grid_x + block_x(), grid_x * (m / TILE / DOWN));
    let barrier_of_grid =
        split_all::<InFours, true, WORDS>(words, scratch, tiles, a, b, n, k, block, blocks);
    cluster_wait();

    if thread >= SPLITTERS {
        let lane = thread - SPLITTERS;
        let (first_a, first_b) = (tiles.rows(panel_a), tiles.columns(panel_b));
        if lane == 0 {
            barrier_of_grid.wait();
            fence_async_global();
            let mut place = Place::FIRST;
            for step in 0..steps {
                if step >= STAGES {
                    empty(words, place.stage).wait(place.round + 1);
                }
                let chunk = spot.half * steps + step;
                spot.start(
                    words,
                    scratch,
                    place.stage,
                    first_a + chunk,
                    first_b + chunk,
                );
                place.advance();
            }
        }
        warp_barrier();
        if tiles.any_outside(scratch, first_a, lane) | tiles.any_outside(scratch, first_b, lane) {
            words.set(OUTSIDE, 1);
        }
        cluster_arrive();
        return;
    }

    let sums = multiply(words, spot, steps);
    let owner = thread / 128;
    let quad = SUMS + thread % 128;
    if owner != spot.half {
        unrolled!(i in 16 {
            let values = F32x4([sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]]);
            words.as_f32().set4_in(rank ^ 1, quad + 128 * i as u32, values);
        });
        cluster_arrive();
        return;
    }
    cluster_arrive();
    cluster_wait();
    let (block_row, block_column) = (panel_a * TILE, panel_b * TILE);
    if words.get(OUTSIDE) != 0 {
        for half in 0..2 {
            let row = block_row + 64 * owner + 32 * half;
            matmul_tile::<TILE>(thread % 128, a, b, out, row, block_column, n, k);
        }
        return;
    }
    let (g, t) = (thread % 32 / 4, thread % 4);
    let row = block_row + 16 * (thread / 32) + g;
    unrolled!(j in 16 {
        let F32x4(values) = words.as_f32().get4(quad + 128 * j as u32);
        let pair = (row * n + block_column) / 2 + 4 * j as u32 + t;
        let value = |i: usize| (sums[4 * j + i] + values[i]) * UNSCALE;
        out.set2(pair, [value(0), value(1)]);
        out.set2(pair + 4 * n, [value(2), value(3)]);
    });
}
