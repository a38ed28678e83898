//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, A and B split by the grid before it multiplies.
//!
//! - **Parent**: `matmul_wgmma_f16x3_cluster`. There eight blocks split the same elements over again, and the tensor
//!   cores waited for a warpgroup that loaded, split and stored B. Here the grid splits A and B first, each element
//!   once, into scratch memory ([`tiles`](crate::parts::tiles)), and multiplies behind a barrier of the grid;
//!   then copies that no thread carries out feed shared memory, and warpgroups multiply from there.
//! - **Ownership**: a cluster of two blocks owns a tile of 128 x 128 of C, each block half of K. In a block, warpgroups
//!   0 and 1 split first, and then own 64 rows each; one more thread starts the copies. In the end block r of a
//!   tile owns the rows of its warpgroup r.
//! - **Memory**: three stages of 64 steps along K, 65536 bytes each, with a barrier each for full and for empty;
//!   32768 bytes more take the sums from the other block. 8 MB of scratch memory at 1024 x 1024 x 1024, which
//!   the L2 cache holds.
//! - **Dims**: m and n multiples of 128 up to 1024, so that every block is resident, k of 256.
//! - **Accuracy**: as the parent, with the products of 128 steps from zero in place of 64; a tile of C computes its
//!   outputs from FP32 values if one of its tiles of A or B lies outside the domain.
//! - **Effect**: tensor cores rest while the grid splits and waits; then they are what the main loop waits for, but for
//!   67 MB that the L2 cache delivers, at 1024 x 1024 x 1024. Kernel time falls a little.

use crate::gpu::{
    Accumulators, Columns, F32x4, In, Mbarrier, Out, Scratch, Shared, block_x, block_y,
    cluster_arrive, cluster_arrive_relaxed, cluster_rank, cluster_wait, fence_async_global, kernel,
    publish_barriers, shared, thread_x, uniform, unrolled, warp_barrier,
};
use crate::parts::f16x3::UNSCALE;
use crate::parts::full_range::matmul_tile;
use crate::parts::stages;
use crate::parts::tiles::{HALF, QUADS, SPLITTERS, TILE, Tiles, split_all};

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
const WORDS: usize = BARRIERS as usize + 16;

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

/// A stage, and which round of the stages it is.
type Place = stages::Turn<STAGES>;

/// Starts the copies of a stage: the tiles `a` and `b`.
fn start(words: Shared<u32, WORDS>, scratch: Scratch, stage: u32, a: u32, b: u32) {
    let barrier = full(words, stage);
    barrier.arrive_and_expect(16 * STAGE);
    words.start_load(STAGE * stage, scratch, QUADS * a, QUADS, barrier);
    words.start_load(STAGE * stage + QUADS, scratch, QUADS * b, QUADS, barrier);
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
fn multiply(words: Shared<u32, WORDS>, steps: u32) -> [f32; 64] {
    let thread = thread_x();
    let (part, lane) = (uniform(thread / 128), thread % 32);
    let release = |stage: u32| {
        if lane == 0 {
            empty(words, stage).arrive();
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

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (2 * n/128, m/128), block 288, cluster 2.
    pub fn matmul_presplit(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let words = shared_words();
        let thread = thread_x();
        let rank = cluster_rank();
        let (panel_a, panel_b) = (block_y(), block_x() / 2);
        let tiles = Tiles::new(m, n, k);
        let steps = tiles.along_k / 2;
        if thread == SPLITTERS {
            for stage in 0..STAGES {
                full(words, stage).init(1);
                empty(words, stage).init(8);
            }
            words.set(OUTSIDE, 0);
            publish_barriers();
        }
        cluster_arrive_relaxed();

        let grid_x = 2 * (n / TILE);
        let (block, blocks) = (block_y() * grid_x + block_x(), grid_x * (m / TILE));
        let barrier_of_grid = split_all(words, scratch, tiles, a, b, n, k, block, blocks);
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
                    let chunk = rank * steps + step;
                    start(words, scratch, place.stage, first_a + chunk, first_b + chunk);
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

        let sums = multiply(words, steps);
        let owner = thread / 128;
        let quad = SUMS + thread % 128;
        if owner != rank {
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
}
