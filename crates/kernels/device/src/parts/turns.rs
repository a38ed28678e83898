//! A tile of 64 x 128 of C from stages of binary16 halves in shared memory, of which two warpgroups multiply every second one
//! each, over all of the tile; one more thread has copies fill the stages. In the end the warpgroups exchange halves of
//! their sums, and warpgroup w writes the columns from 64 w on.

use crate::gpu::{
    Accumulators, Columns, F32x4, Mbarrier, Out, Scratch, Shared, each, publish_barriers,
    shuffle_xor, thread_x, unrolled,
};
use crate::parts::f16x3::UNSCALE;
use crate::parts::halves::PART;
use crate::parts::stages;
use core::array::from_fn;

/// Stages, an even number, each of 32 steps along K.
pub const STAGES: u32 = 8;
/// Rows of the tile.
pub const ROWS: u32 = 64;
/// Columns of the tile.
pub const COLUMNS: u32 = 128;
/// The thread after those that multiply, the first of a warp.
pub const OTHERS: u32 = 256;
/// Quads of a part of A: half of its panel.
pub const PART_A: u32 = PART / 2;
/// The quad where the parts of B begin, after those of A of all stages.
const OF_B: u32 = PART_A * STAGES;
/// The quad after the stages, where the sums of the other warpgroup are.
const SUMS: u32 = OF_B + PART * STAGES;
/// The word after them, where the barriers are.
const BARRIERS: u32 = 4 * (SUMS + 2 * 8 * 128);
/// The word that is not zero if a value lies outside the domain.
pub const OUTSIDE: u32 = BARRIERS + 4 * STAGES;
/// Words of shared memory: the stages, the sums, two barriers a stage, and the word that tells of values outside the domain, a
/// quad of its own. The array is aligned to 1024 bytes.
pub const WORDS: usize = OUTSIDE as usize + 4;

/// The barrier that is complete when stage `stage` is full.
fn full<const N: usize>(words: Shared<u32, N>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + stage)
}

/// The barrier that is complete when stage `stage` is read.
fn empty<const N: usize>(words: Shared<u32, N>, stage: u32) -> Mbarrier {
    Mbarrier::at(words, BARRIERS / 2 + STAGES + stage)
}

/// Prepares the barriers, as one thread, before a barrier of the block.
#[inline(always)]
pub fn prepare<const N: usize>(words: Shared<u32, N>) {
    for stage in 0..STAGES {
        full(words, stage).init(1);
        empty(words, stage).init(4);
    }
    words.set(OUTSIDE, 0);
    publish_barriers();
}

/// A stage, and which round of the stages it is.
type Turn = stages::Turn<STAGES>;

/// Has copies fill the stages in their order, as one thread.
pub struct Copies(Turn);

impl Copies {
    /// From the first stage on.
    pub const FIRST: Self = Self(Turn::FIRST);
    /// From the first stage on, all of which were filled once.
    pub const AGAIN: Self = Self(Turn { stage: 0, round: 1 });

    /// Starts to fill the next stage, once it was read, with the part of A at quad `a` of `scratch` and that of B at quad `b`.
    #[inline(always)]
    pub fn start<const N: usize>(
        &mut self,
        words: Shared<u32, N>,
        scratch: Scratch,
        a: u32,
        b: u32,
    ) {
        let Turn { stage, round } = self.0;
        if round > 0 {
            empty(words, stage).wait(round + 1);
        }
        let barrier = full(words, stage);
        barrier.arrive_and_expect(16 * (PART_A + PART));
        words.start_load(PART_A * stage, scratch, a, PART_A, barrier);
        words.start_load(OF_B + PART * stage, scratch, b, PART, barrier);
        self.0.advance();
    }
}

/// Starts the products of a stage: of the high halves, and of a high and a low one each; from zero on, or with `SUM` added to
/// what there is. `FED`, it waits until the stage is full.
#[inline(always)]
fn start_products<const FED: bool, const SUM: bool, const N: usize>(
    words: Shared<u32, N>,
    turn: Turn,
    high: &mut Accumulators<64>,
    low: &mut Accumulators<64>,
) {
    let a = Columns::swizzled(words, PART_A * turn.stage);
    let b = Columns::swizzled(words, OF_B + PART * turn.stage);
    if FED {
        full(words, turn.stage).wait(turn.round);
    }
    stages::start_products::<SUM>(a, b, high, low);
}

/// Multiplies 64 rows by 128 columns over `steps` stages, every second one from `part` on: stages that copies fill if they are
/// `FED`, and else what they hold.
#[inline(always)]
pub fn multiply<const FED: bool, const N: usize>(
    words: Shared<u32, N>,
    steps: u32,
    part: u32,
) -> [f32; 64] {
    let first_lane = thread_x() % 32 == 0;
    let mut high = Accumulators::<64>::ZERO;
    let mut low = Accumulators::<64>::ZERO;
    let mut turn = Turn {
        stage: part,
        round: 0,
    };
    start_products::<FED, false, N>(words, turn, &mut high, &mut low);
    for _ in 1..steps {
        let before = turn.stage;
        turn.advance_by(2);
        start_products::<FED, true, N>(words, turn, &mut high, &mut low);
        high.wait_shared::<1>();
        low.wait_shared::<1>();
        if FED && first_lane {
            empty(words, before).arrive();
        }
    }
    high.wait_shared::<0>();
    low.wait_shared::<0>();
    high.add_to(&mut low.0);
    low.0
}

/// Leaves the sums of those columns that the other warpgroup writes to it, and gives the others. A barrier of all that multiply follows.
#[inline(always)]
pub fn leave<const N: usize>(words: Shared<u32, N>, part: u32, sums: [f32; 64]) -> [f32; 32] {
    let quad = SUMS + thread_x() % 128 + 8 * 128 * part;
    let first = part == 0;
    let other: [f32; 32] = from_fn(|i| if first { sums[32 + i] } else { sums[i] });
    unrolled!(j in 8 {
        let values = F32x4([other[4 * j], other[4 * j + 1], other[4 * j + 2], other[4 * j + 3]]);
        words.as_f32().set4(quad + 128 * j as u32, values);
    });
    from_fn(|i| if first { sums[i] } else { sums[32 + i] })
}

/// Writes the tile at (`row`, `column`) of C: `mine` and what the other warpgroup left.
#[inline(always)]
pub fn write<const N: usize>(
    words: Shared<u32, N>,
    part: u32,
    mine: [f32; 32],
    out: Out<f32>,
    row: u32,
    column: u32,
    n: u32,
) {
    let thread = thread_x();
    let quad = SUMS + thread % 128 + 8 * 128 * (part ^ 1);
    let (g, t) = (thread % 32 / 4, thread % 4);
    let row = row + 16 * (thread % 128 / 32) + g;
    let column = column + COLUMNS / 2 * part;
    // A quad of outputs a lane: of every two eights lanes with an even t store the first, the others the second.
    let odd = t % 2;
    let place = (row * n + column) / 4 + 2 * odd + t / 2;
    unrolled!(i in 4 {
        let sums: [[f32; 4]; 2] = from_fn(|e| {
            let j = 2 * i + e;
            let F32x4(values) = words.as_f32().get4(quad + 128 * j as u32);
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
