//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, B split by the grid, A by the warps that need it.
//!
//! - **Parent**: `matmul_wgmma_f16x3_cluster`. Of its three warpgroups a block one did nothing but split B, which
//!   eight blocks did over again, and the tensor cores waited for it. Here the grid splits B first, each element
//!   once, into scratch memory ([`tiles`](crate::parts::tiles)); behind a barrier of the grid, copies that no thread
//!   carries out fill the stages, each for two blocks at once.
//! - **Ownership**: a cluster of four blocks owns 256 x 128 of C, two of them a tile of 128 x 128, half of K each. In
//!   a block, warpgroups 0 and 1 own 64 rows each, a warp 16 of them, and with them the elements of A, which go from
//!   global memory to the registers of the warp that needs them; one thread starts the copies. In the end block r
//!   of a tile owns the rows of its warpgroup r.
//! - **Memory**: five stages of 64 steps along K, 32768 bytes each, with a barrier each for full and for empty;
//!   32768 bytes more take the sums from the other block. 4 MB of scratch memory at 1024 x 1024 x 1024.
//! - **Dims**: m a multiple of 256, n and k of 128, m and n up to 1024, so that every block is resident.
//! - **Accuracy**: as the parent.
//! - **Effect**: 50 MB in place of 67 leave the L2 cache at 1024 x 1024 x 1024, a fifth of the instructions go, and
//!   what the main loop waits for is tensor cores; before it, splitting and the barrier take about 3 us. Kernel
//!   time falls by up to a third.

use crate::gpu::{
    Accumulators, Columns, F32x4, In, Mbarrier, Out, Pairs, Scratch, Shared, block_x, block_y,
    cluster_arrive, cluster_arrive_relaxed, cluster_rank, cluster_wait, fence_async_global,
    give_registers, kernel, publish_barriers, shared, take_registers, thread_x, unrolled,
    warp_barrier,
};
use crate::parts::f16x3::{Largest, UNSCALE, load_rows, split_rows};
use crate::parts::full_range::matmul_tile;
use crate::parts::tiles::{HALF, OfRows, QUADS, SPLITTERS, STEP, TILE, Tiles, split_all};
use core::array::from_fn;

/// Stages.
const STAGES: u32 = 5;
/// The quad after the stages, where the sums from the other block are.
const SUMS: u32 = STAGES * QUADS;
/// The word after them, where the barriers are.
const BARRIERS: u32 = 4 * (SUMS + 64 * TILE / 4);
/// The word that is not zero if a value lies outside the domain.
const OUTSIDE: u32 = BARRIERS + 4 * STAGES;
/// Words of shared memory.
const WORDS: usize = BARRIERS as usize + 24;

shared! {
    /// The stages, the sums, two barriers a stage, and the word that tells of values outside the domain.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

/// The barrier that is complete when stage `stage` is full.
fn full(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + stage)
}

/// The barrier that is complete when stage `stage` is read, in both blocks that share its copies.
fn empty(words: Shared<u32, WORDS>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + STAGES + stage)
}

/// The stage after `stage`, of a round of stages, and its round.
fn next(stage: u32, round: u32) -> (u32, u32) {
    match stage + 1 < STAGES {
        true => (stage + 1, round),
        false => (0, round + 1),
    }
}

/// Starts the copies of `steps` tiles from `first` on: part `part` of two of each, for both blocks in `ranks`.
fn copy(
    words: Shared<u32, WORDS>,
    scratch: Scratch,
    first: u32,
    steps: u32,
    part: u32,
    ranks: u32,
) {
    let (mut stage, mut round) = (0, 0);
    for step in 0..steps {
        if step >= STAGES {
            empty(words, stage).wait(round + 1);
        }
        full(words, stage).arrive_and_expect(16 * QUADS);
        let (to, from) = (
            QUADS * stage + HALF * part,
            QUADS * (first + step) + HALF * part,
        );
        words.start_load_in(ranks, to, scratch, from, HALF, full(words, stage));
        (stage, round) = next(stage, round);
    }
}

/// Multiplies two rows of A a thread by the stages: `a` from row g and column 4t on, `rows` its first 64 columns. Tells
/// the block of rank `sharer` of each stage that it read. Gives the sums, and whether the rows lie in the domain.
fn multiply(
    words: Shared<u32, WORDS>,
    mut a: In<f32>,
    mut rows: [[F32x4; 2]; 4],
    k: u32,
    steps: u32,
    sharer: u32,
) -> ([f32; 64], bool) {
    let lane = thread_x() % 32;
    let mut largest = [Largest::NONE; 2];
    let mut sums = [0.0; 64];
    let mut products = Accumulators::<64>::ZERO;
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
        let b_high = Columns::swizzled(words, QUADS * stage);
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
        if lane < 2 {
            empty(words, stage).arrive_in(sharer + 2 * lane);
        }
        products.add_to(&mut sums);
        (stage, round) = next(stage, round);
    }
    (sums, largest[0].fits() & largest[1].fits())
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (4 * n/128, m/256), block 384, cluster 4; every block is resident.
    pub fn matmul_presplit_b(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let words = shared_words();
        let thread = thread_x();
        let rank = cluster_rank();
        let (half, down) = (rank % 2, rank / 2);
        let (block_row, panel) = ((2 * block_y() + down) * TILE, block_x() / 4);
        let block_column = panel * TILE;
        let tiles = Tiles::new(0, n, k);
        let steps = tiles.along_k / 2;
        let (warp, lane) = (thread / 32, thread % 32);
        let (g, t) = (lane / 4, lane % 4);
        let row = block_row + 16 * warp + g;
        let multiplies = thread < SPLITTERS;
        let a_rows = a.from(row * k + half * (k / 2) + 4 * t);
        let mut rows = [[F32x4::ZERO; 2]; 4];
        if multiplies {
            rows = load_rows(a_rows, k);
        }
        if thread == SPLITTERS {
            for stage in 0..STAGES {
                full(words, stage).init(1);
                empty(words, stage).init(8 * 2);
            }
            words.set(OUTSIDE, 0);
            publish_barriers();
        }
        cluster_arrive_relaxed();

        let grid_x = 4 * (n / TILE);
        let (block, blocks) = (block_y() * grid_x + block_x(), grid_x * (m / TILE / 2));
        let barrier_of_grid =
            split_all::<OfRows, false, WORDS>(words, scratch, tiles, a, b, n, k, block, blocks);
        cluster_wait();

        if !multiplies {
            give_registers::<40>();
            if warp == SPLITTERS / 32 {
                let first = tiles.columns(panel);
                if lane == 0 {
                    barrier_of_grid.wait();
                    fence_async_global();
                    copy(words, scratch, first + half * steps, steps, down, 0b101 << half);
                }
                warp_barrier();
                if tiles.any_outside(scratch, first, lane) {
                    words.set(OUTSIDE, 1);
                }
            }
            cluster_arrive();
            return;
        }
        take_registers::<232>();
        let (sums, fits) = multiply(words, a_rows, rows, k, steps, half);
        if !fits {
            words.set_in(rank, OUTSIDE, 1);
            words.set_in(rank ^ 1, OUTSIDE, 1);
        }
        let owner = thread / 128;
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
