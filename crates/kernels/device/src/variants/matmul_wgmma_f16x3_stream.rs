//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, B as a stream of copies for two blocks at once.
//!
//! - **Parent**: `matmul_wgmma_f16x3_cluster`. There a warpgroup loaded B through registers, a quarter of a stage at a
//!   time, and waited for the L2 cache four times a stage. Here copies that no thread carries out (`cp.async.bulk`)
//!   bring B as it is to shared memory, two stages ahead, each row for both blocks that have its columns, and two
//!   warpgroups split it from there.
//! - **Ownership**: a cluster of four blocks owns 256 x 128 of C, two of them a tile of 128 x 128, half of K each. In
//!   a block, warpgroups 0 and 1 split B, a thread half a column of a stage; warpgroups 2 and 3 own 64 rows each, a
//!   warp 16 of them, and with them the elements of A, which go from global memory to the registers of the warp
//!   that needs them. In the end block r of a tile owns the rows of its warpgroup r + 2.
//! - **Memory**: three stages of 64 steps along K of B as it is, 32768 bytes each, and three of its halves, with a
//!   barrier each for full and for empty; 32768 bytes more take the sums from the other block.
//! - **Dims**: m a multiple of 256, n and k of 128.
//! - **Accuracy**: as the parent.
//! - **Effect**: 50 MB in place of 67 leave the L2 cache at 1024 x 1024 x 1024, and nothing waits for it; kernel time
//!   falls by up to a third.

use crate::gpu::{
    Accumulators, Columns, F32x4, In, Mbarrier, Out, Pairs, Shared, barrier, block_x, block_y,
    cluster_arrive, cluster_arrive_relaxed, cluster_rank, cluster_wait, fence_async_shared,
    give_registers, kernel, publish_barriers, shared, take_registers, thread_x, unrolled,
    warp_barrier,
};
use crate::parts::f16x3::{Largest, UNSCALE, load_rows, split_column, split_rows};
use crate::parts::full_range::matmul_tile;
use core::array::from_fn;

/// Rows and columns of C a block.
const TILE: u32 = 128;
/// Steps of K a stage.
const STEP: u32 = 64;
/// Stages of B as it is, and of its halves.
const STAGES: u32 = 3;
/// Quads of the high halves of a stage; as many low ones follow.
const HALF: u32 = TILE * STEP / 8;
/// Quads of a stage of either kind.
const STAGE: u32 = 2 * HALF;
/// The quad after the stages of halves, where those of B as it is begin.
const RAW: u32 = STAGES * STAGE;
/// The quad after them, where the sums from the other block are.
const SUMS: u32 = 2 * STAGES * STAGE;
/// The word after them, where the barriers are.
const BARRIERS: u32 = 4 * (SUMS + 64 * TILE / 4);
/// The word that is not zero if a value lies outside the domain.
const OUTSIDE: u32 = BARRIERS + 8 * STAGES;
/// Words of shared memory.
const WORDS: usize = BARRIERS as usize + 32;

shared! {
    /// The stages, the sums, four barriers a stage, and the word that tells of values outside the domain.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

/// The barrier that is complete when the halves of stage `stage` are there.
fn full(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + stage)
}

/// The barrier that is complete when the halves of stage `stage` are read.
fn empty(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + STAGES + stage)
}

/// The barrier that is complete when B as it is has arrived in stage `stage`.
fn raw_full(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + 2 * STAGES + stage)
}

/// The barrier that is complete when B as it is has been read from stage `stage` in both blocks that share it.
fn raw_empty(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + 3 * STAGES + stage)
}

/// The stage after `stage`, of a round of stages, and its round.
fn next(stage: u32, round: u32) -> (u32, u32) {
    match stage + 1 < STAGES {
        true => (stage + 1, round),
        false => (0, round + 1),
    }
}

/// The copies of B that a thread starts: a row each step.
struct Copies {
    b: In<f32>,
    n: u32,
    ranks: u32,
    row: u32,
    stage: u32,
    round: u32,
    left: u32,
}

impl Copies {
    /// Starts those of the next step, if there is one, once both blocks have read what was in their stage.
    #[inline(always)]
    fn start(&mut self, words: Shared<u32, WORDS>) {
        if self.left == 0 {
            return;
        }
        if self.round > 0 {
            raw_empty(words, self.stage).wait(self.round + 1);
        }
        if thread_x() == 0 {
            raw_full(words, self.stage).arrive_and_expect(16 * STAGE);
        }
        let to = RAW + STAGE * self.stage + TILE / 4 * self.row;
        words.start_load_in(
            self.ranks,
            to,
            self.b,
            0,
            TILE / 4,
            raw_full(words, self.stage),
        );
        self.b = self.b.from(STEP * self.n);
        self.left -= 1;
        (self.stage, self.round) = next(self.stage, self.round);
    }
}

/// Splits half of a column of B a thread, `steps` times 64 steps along K. Four lanes a warp have `copies` run two steps
/// ahead. Tells the blocks of rank `sharer` and two more of each stage that it read, and the caller whether the column
/// lies in the domain.
#[inline(always)]
fn split_b(words: Shared<u32, WORDS>, mut copies: Copies, steps: u32, sharer: u32) -> bool {
    let thread = thread_x();
    let (side, column, lane) = (thread / TILE, thread % TILE, thread % 32);
    let copies_too = lane < 4;
    let mut largest = Largest::NONE;
    if copies_too {
        copies.start(words);
        copies.start(words);
    }
    let (mut stage, mut round) = (0, 0);
    for _ in 0..steps {
        if copies_too {
            copies.start(words);
        }
        raw_full(words, stage).wait(round);
        let values = words.as_f32();
        let load = |quarter: u32| -> [f32; 16] {
            let first = 4 * (RAW + STAGE * stage) + 16 * quarter * TILE + column;
            from_fn(|i| values.get(first + i as u32 * TILE))
        };
        let mut store = |quarter: u32, values: [f32; 16]| {
            let (high, low) = split_column(values, &mut largest);
            for quad in 0..2 {
                let place = STAGE * stage + 8 * column + (2 * quarter + quad as u32 ^ column % 8);
                words.set4(place, high[quad]);
                words.set4(place + HALF, low[quad]);
            }
        };
        let first = load(2 * side);
        if round > 0 {
            empty(words, stage).wait(round + 1);
        }
        store(2 * side, first);
        store(2 * side + 1, load(2 * side + 1));
        fence_async_shared();
        full(words, stage).arrive();
        warp_barrier();
        if lane < 2 {
            raw_empty(words, stage).arrive_in(sharer + 2 * lane);
        }
        (stage, round) = next(stage, round);
    }
    largest.fits()
}

/// Multiplies two rows of A a thread, from row g and column 4t on, by the stages. Gives the sums, and whether the
/// rows lie in the domain.
fn multiply(words: Shared<u32, WORDS>, mut a: In<f32>, k: u32, steps: u32) -> ([f32; 64], bool) {
    let mut largest = [Largest::NONE; 2];
    let mut sums = [0.0; 64];
    let mut products = Accumulators::<64>::ZERO;
    let mut rows = load_rows(a, k);
    let (mut stage, mut round) = (0, 0);
    for step in 1..=steps {
        let pairs: [_; 4] = from_fn(|i| split_rows(rows[i], &mut largest));
        let (mut high, mut low): (Pairs<4>, Pairs<4>) =
            (pairs.map(|pair| pair.0), pairs.map(|pair| pair.1));
        if step < steps {
            a = a.from(STEP);
            rows = load_rows(a, k);
        }
        full(words, stage).wait(round);
        let b_high = Columns::swizzled(words, STAGE * stage);
        let b_low = b_high.after(HALF);
        products.fence(&mut [&mut high, &mut low]);
        products.multiply::<false>(low[0], b_high);
        for i in 1..4 {
            products.multiply::<true>(low[i], b_high.along_k(i as u32));
        }
        for i in 0..4 {
            products.multiply::<true>(high[i], b_low.along_k(i as u32));
        }
        for i in 0..4 {
            products.multiply::<true>(high[i], b_high.along_k(i as u32));
        }
        products.commit();
        products.wait(&mut [&mut high, &mut low]);
        if thread_x() % 32 == 0 {
            empty(words, stage).arrive();
        }
        products.add_to(&mut sums);
        (stage, round) = next(stage, round);
    }
    (sums, largest[0].fits() & largest[1].fits())
}

/// Tells both blocks of a tile if a thread found a value outside the domain.
fn tell(words: Shared<u32, WORDS>, rank: u32, fits: bool) {
    if !fits {
        words.set_in(rank, OUTSIDE, 1);
        words.set_in(rank ^ 1, OUTSIDE, 1);
    }
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (4 * n/128, m/256), block 512, cluster 4.
    pub fn matmul_wgmma_f16x3_stream(a: In<f32>, b: In<f32>, out: Out<f32>, _m: u32, n: u32, k: u32) {
        let words = shared_words();
        let thread = thread_x();
        let rank = cluster_rank();
        let (half, down) = (rank % 2, rank / 2);
        let (block_row, block_column) = ((2 * block_y() + down) * TILE, block_x() / 4 * TILE);
        let (steps, begin) = (k / 2 / STEP, half * (k / 2));
        if thread == 0 {
            for stage in 0..STAGES {
                full(words, stage).init(256);
                empty(words, stage).init(8);
                raw_full(words, stage).init(1);
                raw_empty(words, stage).init(16);
            }
            words.set(OUTSIDE, 0);
            publish_barriers();
        }
        barrier();
        cluster_arrive_relaxed();
        cluster_wait();

        if thread < 256 {
            give_registers::<48>();
            // The block stands for half of the rows of a stage, a warp for four of them.
            let row = 32 * down + thread / 32 * 4 + thread % 4;
            let b = b.from((begin + row) * n + block_column);
            let copies = Copies { b, n, ranks: 0b101 << half, row, stage: 0, round: 0, left: steps };
            let fits = split_b(words, copies, steps, half);
            tell(words, rank, fits);
            cluster_arrive();
        } else {
            take_registers::<208>();
            let owner = thread / 128 - 2;
            let (warp, lane) = (thread / 32 - 8, thread % 32);
            let (g, t) = (lane / 4, lane % 4);
            let row = block_row + 16 * warp + g;
            let (sums, fits) = multiply(words, a.from(row * k + begin + 4 * t), k, steps);
            tell(words, rank, fits);
            let quad = SUMS + thread % 128;
            if owner != half {
                unrolled!(i in 16 {
                    let values = F32x4([sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]]);
                    words.as_f32().set4_in(rank ^ 1, quad + 128 * i as u32, values);
                });
                cluster_arrive();
                return;
            }
            cluster_arrive();
            cluster_wait();
            if words.get(OUTSIDE) != 0 {
                for half in 0..2 {
                    let row = block_row + 64 * owner + 32 * half;
                    matmul_tile::<TILE>(thread % 128, a, b, out, row, block_column, n, k);
                }
                return;
            }
            unrolled!(j in 16 {
                let F32x4(values) = words.as_f32().get4(quad + 128 * j as u32);
                let pair = (row * n + block_column) / 2 + 4 * j as u32 + t;
                let value = |i: usize| (sums[4 * j + i] + values[i]) * UNSCALE;
                out.set2(pair, [value(0), value(1)]);
                out.set2(pair + 4 * n, [value(2), value(3)]);
            });
        }
    }
}
