//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, two blocks a tile, each half of K.
//!
//! - **Parent**: `matmul_wgmma_f16x3`. A tile is 128 x 128, which takes two thirds of the traffic; the two blocks
//!   of a cluster each sum half of K and meet in distributed shared memory. In a block, one warpgroup splits B
//!   and two multiply, which run apart from each other, so that one's products hide the other's splitting.
//! - **Ownership**: warpgroup 0 splits B, a thread a column; warpgroups 1 and 2 own 64 rows each of a 128 x 128
//!   tile of C, a warp 16 of them, and with them the elements of A, which go from global memory to the registers
//!   of the warp that needs them. In the end block r of the cluster owns the rows of its warpgroup r + 1.
//! - **Memory**: three stages of 64 steps along K, 32768 bytes each, with a barrier each for full and for empty.
//!   32768 bytes more take the sums from the other block. Two cluster barriers in all: everyone has started;
//!   the sums are there.
//! - **Dims**: m, n and k multiples of 128.
//! - **Accuracy**: as the parent: a step's products start from zero; values outside the domain of
//!   [`f16x3`](crate::parts::f16x3) send the tile to FP32 multiply-adds.
//! - **Effect**: 67 MB in place of 100 leave the L2 cache at 1024 x 1024 x 1024, and tensor cores do not wait for
//!   splitting; kernel time falls by up to a third.

use crate::gpu::{
    Accumulators, Columns, F32x4, In, Mbarrier, Out, Pairs, Shared, barrier, block_x, block_y,
    cluster_arrive, cluster_rank, cluster_wait, fence_async_shared, give_registers, kernel, shared,
    take_registers, thread_x, unrolled,
};
use crate::parts::f16x3::{Largest, UNSCALE, load_column, load_rows, split_column, split_rows};
use crate::parts::full_range::matmul_tile;
use core::array::from_fn;

/// Rows and columns of C a cluster.
const TILE: u32 = 128;
/// Steps of K a stage.
const STEP: u32 = 64;
/// Stages.
const STAGES: u32 = 3;
/// Quads of the high halves of a stage; as many low ones follow.
const HALF: u32 = TILE * STEP / 8;
/// Quads of a stage.
const STAGE: u32 = 2 * HALF;
/// The quad after the stages, where the sums from the other block are.
const SUMS: u32 = STAGES * STAGE;
/// The word after them, where the barriers are.
const BARRIERS: u32 = 4 * (SUMS + 64 * TILE / 4);
/// The word that is not zero if a value lies outside the domain.
const OUTSIDE: u32 = BARRIERS + 4 * STAGES;
/// Words of shared memory.
const WORDS: usize = BARRIERS as usize + 16;

shared! {
    /// The stages, the sums, two barriers a stage, and the word that tells of values outside the domain.
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

/// The stage after `stage`, of a round of stages, and its round.
fn next(stage: u32, round: u32) -> (u32, u32) {
    match stage + 1 < STAGES {
        true => (stage + 1, round),
        false => (0, round + 1),
    }
}

/// Splits a column of B into the stages, `steps` times 64 steps along K. Tells whether it lies in the domain.
fn split_b(words: Shared<u32, WORDS>, b: In<f32>, n: u32, steps: u32) -> bool {
    let column = thread_x();
    let mut b = b.from(column);
    let mut largest = Largest::NONE;
    let mut store = |stage: u32, quarter: u32, values: [f32; 16]| {
        let (high, low) = split_column(values, &mut largest);
        for quad in 0..2 {
            let place = STAGE * stage + 8 * column + (2 * quarter + quad as u32 ^ column % 8);
            words.set4(place, high[quad]);
            words.set4(place + HALF, low[quad]);
        }
    };
    // One or two quarters of a stage are on their way while one is split.
    let mut first = load_column(&mut b, n);
    let mut second = load_column(&mut b, n);
    let (mut stage, mut round) = (0, 0);
    for step in 1..=steps {
        empty(words, stage).wait(round + 1);
        store(stage, 0, first);
        let third = load_column(&mut b, n);
        store(stage, 1, second);
        let fourth = load_column(&mut b, n);
        store(stage, 2, third);
        if step < steps {
            first = load_column(&mut b, n);
        }
        store(stage, 3, fourth);
        if step < steps {
            second = load_column(&mut b, n);
        }
        fence_async_shared();
        full(words, stage).arrive();
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

/// Once both blocks have started, tells both if a thread found a value outside the domain.
fn tell(words: Shared<u32, WORDS>, fits: bool) {
    cluster_wait();
    if !fits {
        words.set_in(0, OUTSIDE, 1);
        words.set_in(1, OUTSIDE, 1);
    }
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (2 * n/128, m/128), block 384, cluster 2.
    pub fn matmul_wgmma_f16x3_cluster(a: In<f32>, b: In<f32>, out: Out<f32>, _m: u32, n: u32, k: u32) {
        let words = shared_words();
        let thread = thread_x();
        let rank = cluster_rank();
        let (block_row, block_column) = (block_y() * TILE, block_x() / 2 * TILE);
        let (steps, begin) = (k / 2 / STEP, rank * (k / 2));
        if thread == 0 {
            for stage in 0..STAGES {
                full(words, stage).init(TILE);
                empty(words, stage).init(8);
            }
            words.set(OUTSIDE, 0);
        }
        barrier();
        cluster_arrive();

        let warpgroup = thread / 128;
        if warpgroup == 0 {
            give_registers::<88>();
            let fits = split_b(words, b.from(begin * n + block_column), n, steps);
            tell(words, fits);
            cluster_arrive();
        } else {
            take_registers::<208>();
            let owner = warpgroup - 1;
            let (warp, lane) = (thread / 32 - 4, thread % 32);
            let (g, t) = (lane / 4, lane % 4);
            let row = block_row + 16 * warp + g;
            let (sums, fits) = multiply(words, a.from(row * k + begin + 4 * t), k, steps);
            tell(words, fits);
            let quad = SUMS + thread % 128;
            if owner != rank {
                unrolled!(i in 16 {
                    let values = F32x4([sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]]);
                    words.as_f32().set4_in(owner, quad + 128 * i as u32, values);
                });
                cluster_arrive();
                return;
            }
            cluster_arrive();
            cluster_wait();
            if words.get(OUTSIDE) != 0 {
                for half in 0..2 {
                    let row = block_row + 64 * rank + 32 * half;
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
