//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, in two launches, with all of K in a block.
//!
//! - **Parent**: `matmul_two_pass`. There two blocks had a tile of C and sent each other sums, and stored pairs of outputs. Here a
//!   block has half a tile and all of K, two warpgroups take its stages in turn, and quads of outputs are stored. The
//!   second launch begins while the first runs, and waits for its end once its barriers are ready.
//! - **Ownership**: the first launch as the parent's. In the second a block owns 64 x 128 of C; warpgroup w multiplies the
//!   stages 2i + w, and in the end owns the columns from 64 w on; one more warp starts the copies.
//! - **Memory**: eight stages of 32 steps along K, 24576 bytes each, with a barrier each for full and for empty; 32768 bytes
//!   more for the sums of the other warpgroup. Scratch memory as the parent.
//! - **Dims**: m and n multiples of 128, k of 64.
//! - **Accuracy**: as the parent, with every second part of all of K in a sum in place of half of K. Tensor cores truncate
//!   what they add to a sum, so that its error grows with k.
//! - **Effect**: no cluster to set up, no sums between multiprocessors and fewer stores, for half as much again to copy: kernel
//!   time falls by a twentieth, and what lies between the launches by most of it.

use crate::gpu::{
    Accumulators, Columns, F32x4, In, Mbarrier, Out, Scratch, Shared, barrier, block_x, block_y,
    block_z, each, fence_async_global, kernel, launch_dependents, publish_barriers, shared,
    shuffle_xor, thread_x, uniform, unrolled, wait_for_prerequisites, warp_barrier,
};
use crate::parts::f16x3::UNSCALE;
use crate::parts::full_range::matmul_tile;
use crate::parts::halves::{Halves, PANEL, PART, split_part};
use core::array::from_fn;

/// Stages, an even number.
const STAGES: u32 = 8;
/// Quads of a part of A: half of its panel.
const PART_A: u32 = PART / 2;
/// The quad where the parts of B begin, after those of A of all stages.
const OF_B: u32 = PART_A * STAGES;
/// The quad after the stages, where the sums of the other warpgroup are.
const SUMS: u32 = OF_B + PART * STAGES;
/// The word after them, where the barriers are.
const BARRIERS: u32 = 4 * (SUMS + 2 * 8 * 128);
/// The word that is not zero if a value lies outside the domain.
const OUTSIDE: u32 = BARRIERS + 4 * STAGES;
/// Words of shared memory: the stages, the sums, two barriers a stage, and the word that tells of values outside the domain, a
/// quad of its own.
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

/// A stage, and which round of the stages it is.
#[derive(Clone, Copy)]
struct Turn {
    stage: u32,
    round: u32,
}

impl Turn {
    /// Moves `by` stages on; a round has so many times `by`.
    fn advance(&mut self, by: u32) {
        *self = match self.stage + by < STAGES {
            true => Self {
                stage: self.stage + by,
                ..*self
            },
            false => Self {
                stage: self.stage + by - STAGES,
                round: self.round + 1,
            },
        };
    }
}

/// Starts the products of a stage: of the high halves, and of a high and a low one each; from zero on, or with `SUM` added to
/// what there is.
#[inline(always)]
fn start_products<const SUM: bool>(
    words: Shared<u32, WORDS>,
    turn: Turn,
    high: &mut Accumulators<64>,
    low: &mut Accumulators<64>,
) {
    let a = Columns::swizzled(words, PART_A * turn.stage);
    let b = Columns::swizzled(words, OF_B + PART * turn.stage);
    full(words, turn.stage).wait(turn.round);
    high.fence_shared();
    low.fence_shared();
    low.multiply_shared::<SUM>(a.along_k(2), b);
    high.multiply_shared::<SUM>(a, b);
    low.multiply_shared::<true>(a, b.along_k(2));
    low.multiply_shared::<true>(a.along_k(3), b.along_k(1));
    high.multiply_shared::<true>(a.along_k(1), b.along_k(1));
    low.multiply_shared::<true>(a.along_k(1), b.along_k(3));
    high.commit();
}

/// Multiplies 64 rows by 128 columns over `steps` stages, every second one from `part` on.
#[inline(always)]
fn multiply(words: Shared<u32, WORDS>, steps: u32, part: u32) -> [f32; 64] {
    let first_lane = thread_x() % 32 == 0;
    let mut high = Accumulators::<64>::ZERO;
    let mut low = Accumulators::<64>::ZERO;
    let mut turn = Turn {
        stage: part,
        round: 0,
    };
    start_products::<false>(words, turn, &mut high, &mut low);
    for _ in 1..steps {
        let before = turn.stage;
        turn.advance(2);
        start_products::<true>(words, turn, &mut high, &mut low);
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
    pub fn matmul_narrow_first(
        a: In<f32>, b: In<f32>, _out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        launch_dependents();
        let panels = if block_z() == 0 { m / PANEL } else { n / PANEL };
        if block_y() < panels {
            split_part(Halves::new(scratch, m, n, k), a, b, n, k);
        }
    }
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (n/128, m/64), block 288.
    pub fn matmul_narrow(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let words = shared_words();
        let thread = thread_x();
        let (panel_a, half, panel_b) = (block_y() / 2, block_y() % 2, block_x());
        let halves = Halves::new(scratch, m, n, k);
        let (first_a, first_b) = (halves.of_a(panel_a), halves.of_b(panel_b));
        let steps = halves.parts();
        let start = |step: u32, stage: u32| {
            let barrier = full(words, stage);
            let (part_a, part_b) = (PART * (first_a + step) + PART_A * half, PART * (first_b + step));
            barrier.arrive_and_expect(16 * (PART_A + PART));
            words.start_load(PART_A * stage, scratch, part_a, PART_A, barrier);
            words.start_load(OF_B + PART * stage, scratch, part_b, PART, barrier);
        };
        if thread == STARTER {
            for stage in 0..STAGES {
                full(words, stage).init(1);
                empty(words, stage).init(4);
            }
            words.set(OUTSIDE, 0);
            publish_barriers();
            wait_for_prerequisites();
            fence_async_global();
            for stage in 0..STAGES {
                if stage < steps {
                    start(stage, stage);
                }
            }
        }
        barrier();

        // Warpgroup 0 has the first eight eights of columns in the end, warpgroup 1 the others.
        let part = uniform(thread / 128);
        let quad = SUMS + thread % 128;
        let mut mine = [0.0; 32];
        if thread >= STARTER {
            let lane = thread % 32;
            if lane == 0 {
                let mut turn = Turn { stage: 0, round: 1 };
                for step in STAGES..steps {
                    empty(words, turn.stage).wait(turn.round + 1);
                    start(step, turn.stage);
                    turn.advance(1);
                }
            }
            warp_barrier();
            let outside =
                halves.any_outside(first_a, lane) | halves.any_outside(first_b, lane);
            if outside & (lane == 0) {
                words.set(OUTSIDE, 1);
            }
        } else {
            let sums = multiply(words, steps / 2, part);
            let first = part == 0;
            mine = from_fn(|i| if first { sums[i] } else { sums[32 + i] });
            let other: [f32; 32] = from_fn(|i| if first { sums[32 + i] } else { sums[i] });
            unrolled!(j in 8 {
                let values = F32x4([other[4 * j], other[4 * j + 1], other[4 * j + 2], other[4 * j + 3]]);
                words.as_f32().set4(quad + 8 * 128 * part + 128 * j as u32, values);
            });
        }
        barrier();
        if thread >= STARTER {
            return;
        }
        let (block_row, block_column) = (block_y() * PANEL / 2, panel_b * PANEL);
        if words.get(OUTSIDE) != 0 {
            matmul_tile::<PANEL>(thread, a, b, out, block_row, block_column, n, k);
            return;
        }
        let (g, t) = (thread % 32 / 4, thread % 4);
        let row = block_row + 16 * (thread % 128 / 32) + g;
        let column = block_column + PANEL / 2 * part;
        // A quad of outputs a lane: of every two eights lanes with an even t store the first, the others the second.
        let odd = t % 2;
        let place = (row * n + column) / 4 + 2 * odd + t / 2;
        unrolled!(i in 4 {
            let sums: [[f32; 4]; 2] = from_fn(|e| {
                let j = 2 * i + e;
                let F32x4(values) = words.as_f32().get4(quad + 8 * 128 * (part ^ 1) + 128 * j as u32);
                from_fn(|v| (mine[4 * j + v] + values[v]) * UNSCALE)
            });
            each::<2>(|h| {
                let (first, second) = ([sums[0][2 * h], sums[0][2 * h + 1]], [sums[1][2 * h], sums[1][2 * h + 1]]);
                let (kept, sent) = if odd == 0 { (first, second) } else { (second, first) };
                let got = sent.map(|value| shuffle_xor(value, 1));
                let ([x, y], [z, w]) = if odd == 0 { (kept, got) } else { (got, kept) };
                out.set4(place + 4 * i as u32 + 2 * n * h as u32, F32x4([x, y, z, w]));
            });
        });
    }
}
