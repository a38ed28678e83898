//! Panels of binary16 halves in scratch memory, which the blocks that multiply them split themselves, round by round, and of
//! which a block waits for those rounds that it needs.
//!
//! Halves stand as [`halves`](crate::parts::halves) has them. A block multiplies half a panel of A, 64 rows, by a panel of B.
//! The blocks of a row of the grid need the same rows of A, and share their parts along K out among themselves; those of a
//! column share out the halves of the parts of its panel of B, 64 columns each. In round r the block in column x splits the
//! part `x + r * columns` of its rows, and the one in row y the half `y + r * rows` of a part of its columns: what
//! there is of it.
//!
//! Behind the halves stands a [`Meeting`] for each round of each row and of each column, at which its blocks arrive once their
//! share of the round is stored. Then each block has a word: not zero if a segment of what it split, four steps of a row
//! or eight of a column, lies outside the domain of [`f16x3`](crate::parts::f16x3).

use crate::gpu::{
    F32x4, In, Mbarrier, Meeting, Scratch, Shared, array, each, fence_device, thread_x, uniform,
    warp_barrier,
};
use crate::parts::halves::{PANEL, PART, STEPS, store_eight, store_quad};

/// Threads that split the first round.
const FIRST: u32 = 256;
/// Threads that split the others.
const OTHERS: u32 = 64;

/// The place of a block among all, and their halves.
#[derive(Clone, Copy)]
pub struct Rounds {
    scratch: Scratch,
    /// Half panels of A, and which of them is the block's.
    rows: u32,
    row: u32,
    /// Panels of B, and which of them is the block's.
    columns: u32,
    column: u32,
    /// Parts of a panel.
    parts: u32,
    /// Rounds until all is split.
    rounds: u32,
}

/// Where in shared memory the threads of a block tell each other of rounds.
#[derive(Clone, Copy)]
pub struct Progress<const N: usize> {
    /// What the block shares.
    pub words: Shared<u32, N>,
    /// The word that is not zero if a segment that the block split lies outside the domain.
    pub outside: u32,
    /// The barrier that is complete when the first round is split.
    pub first: Mbarrier,
    /// Whose phases are complete when the others are.
    pub others: Mbarrier,
    /// Whose phases are complete when other blocks were told of a round.
    pub told: Mbarrier,
}

impl<const N: usize> Progress<N> {
    /// Prepares the barriers, as one thread, before what publishes them.
    #[inline(always)]
    pub fn prepare(self) {
        self.words.set(self.outside, 0);
        self.first.init(FIRST / 32);
        self.others.init(OTHERS / 32);
        self.told.init(1);
    }

    /// A warp has split its share of a round.
    #[inline(always)]
    fn arrive(self, at: Mbarrier, fits: bool) {
        if !fits {
            self.words.set(self.outside, 1);
        }
        warp_barrier();
        if thread_x() % 32 == 0 {
            at.arrive();
        }
    }
}

impl Rounds {
    /// Those of the block in row `row` and column `column`, for A (m,k) and B (k,n).
    #[inline(always)]
    pub fn new(scratch: Scratch, [m, n, k]: [u32; 3], row: u32, column: u32) -> Self {
        let (rows, columns, parts) = (m / (PANEL / 2), n / PANEL, k / STEPS);
        // There is one of each: told so, a division does not look for none.
        let of_a = parts.div_ceil(columns.max(1));
        let of_b = (2 * parts).div_ceil(rows.max(1));
        Self {
            scratch,
            rows,
            row,
            columns,
            column,
            parts,
            rounds: of_a.max(of_b),
        }
    }

    /// Parts of a panel.
    #[inline(always)]
    pub fn parts(self) -> u32 {
        self.parts
    }

    /// The quad of part `part` of the block's rows of A.
    #[inline(always)]
    pub fn quad_of_a(self, part: u32) -> u32 {
        PART * (self.row / 2 * self.parts + part) + PART / 2 * (self.row % 2)
    }

    /// The quad of part `part` of the block's columns of B.
    #[inline(always)]
    pub fn quad_of_b(self, part: u32) -> u32 {
        PART * ((self.rows / 2 + self.column) * self.parts + part)
    }

    /// The word after the halves.
    #[inline(always)]
    fn end(self) -> u32 {
        4 * PART * (self.rows / 2 + self.columns) * self.parts
    }

    /// Where the blocks of the row meet in a round.
    #[inline(always)]
    fn of_row(self, round: u32) -> Meeting {
        Meeting::at(self.scratch, self.end() + self.row * self.rounds + round)
    }

    /// Where the blocks of the column meet in a round.
    #[inline(always)]
    fn of_column(self, round: u32) -> Meeting {
        let before = self.rows + self.column;
        Meeting::at(self.scratch, self.end() + before * self.rounds + round)
    }

    /// The word that tells whether what a block split lies outside the domain.
    #[inline(always)]
    fn flag(self, row: u32, column: u32) -> u32 {
        self.end() + (self.rows + self.columns) * self.rounds + row * self.columns + column
    }

    /// Reads what thread `thread` of `512 / ROWS` splits of the block's share of A: a quad of every `64 / ROWS`-th row. Where
    /// there is no share it reads the last part, for nothing.
    #[inline(always)]
    fn load_a<const ROWS: usize>(
        self,
        round: u32,
        thread: u32,
        a: In<f32>,
        k: u32,
    ) -> [F32x4; ROWS] {
        let part = (round * self.columns + self.column).min(self.parts - 1);
        let a = a.from((self.row * (PANEL / 2) + thread / 8) * k + part * STEPS);
        array(|i| {
            let row = PANEL / 2 / ROWS as u32 * i as u32;
            a.from(row * k).get4_past_l1(thread % 8)
        })
    }

    /// Splits them; says whether they lie in the domain.
    #[inline(always)]
    fn split_a<const ROWS: usize>(self, round: u32, thread: u32, raw: [F32x4; ROWS]) -> bool {
        let part = round * self.columns + self.column;
        let to = self.quad_of_a(part);
        let mut fits = true;
        if part < self.parts {
            each::<ROWS>(|i| {
                let F32x4(values) = raw[i];
                let row = thread / 8 + PANEL / 2 / ROWS as u32 * i as u32;
                fits &= store_quad(self.scratch, to, row, thread % 8, values).fits(values);
            });
        }
        fits
    }

    /// Reads what thread `thread` of 128 splits of the block's share of B: eight steps of two columns. Where there is no share
    /// it reads the last part, for nothing.
    #[inline(always)]
    fn load_b(self, round: u32, thread: u32, b: In<f32>, n: u32) -> [[f32; 2]; 8] {
        let half = (round * self.rows + self.row).min(2 * self.parts - 1);
        let b = b.from(half / 2 * STEPS * n + self.column * PANEL + half % 2 * (PANEL / 2));
        let (pair, quad) = (thread / 4, thread % 4);
        array(|e| b.get2_past_l1((8 * quad + e as u32) * (n / 2) + pair))
    }

    /// Splits it; says whether it lies in the domain.
    #[inline(always)]
    fn split_b(self, round: u32, thread: u32, raw: [[f32; 2]; 8]) -> bool {
        let half = round * self.rows + self.row;
        let (pair, quad) = (thread / 4, thread % 4);
        let to = self.quad_of_b(half / 2) + PART / 2 * (half % 2);
        let mut fits = true;
        if half < 2 * self.parts {
            each::<2>(|i| {
                let values = raw.map(|row| row[i]);
                let column = 2 * pair + i as u32;
                fits &= store_eight(self.scratch, to, column, quad, values).fits(values);
            });
        }
        fits
    }

    /// Splits the first round, as one of 256 threads, of which a warpgroup has A and one B.
    #[inline(always)]
    pub fn split_first<const N: usize>(
        self,
        progress: Progress<N>,
        a: In<f32>,
        b: In<f32>,
        n: u32,
        k: u32,
    ) {
        let thread = thread_x() % 128;
        let fits = if uniform(thread_x() / 128) == 0 {
            let raw = self.load_a::<4>(0, thread, a, k);
            self.split_a(0, thread, raw)
        } else {
            let raw = self.load_b(0, thread, b, n);
            self.split_b(0, thread, raw)
        };
        progress.arrive(progress.first, fits);
    }

    /// Splits the others, as thread `thread` of [`OTHERS`]. It stores a round once other blocks were told of the one before,
    /// so that its stores do not hold up that.
    #[inline(always)]
    pub fn split_others<const N: usize>(
        self,
        progress: Progress<N>,
        thread: u32,
        a: In<f32>,
        b: In<f32>,
        n: u32,
        k: u32,
    ) {
        for round in 1..self.rounds {
            let of_a = self.load_a::<8>(round, thread, a, k);
            let of_b = (
                self.load_b(round, thread, b, n),
                self.load_b(round, thread + OTHERS, b, n),
            );
            progress.told.wait(round - 1);
            let fits = self.split_a(round, thread, of_a)
                & self.split_b(round, thread, of_b.0)
                & self.split_b(round, thread + OTHERS, of_b.1);
            progress.arrive(progress.others, fits);
        }
    }

    /// Tells other blocks of every round, as one thread.
    #[inline(always)]
    pub fn tell<const N: usize>(self, progress: Progress<N>) {
        for round in 0..self.rounds {
            match round {
                0 => progress.first.wait(0),
                _ => progress.others.wait(round - 1),
            }
            let last = round + 1 == self.rounds;
            let outside = progress.words.get(progress.outside);
            self.scratch
                .set_if(last, self.flag(self.row, self.column), outside);
            fence_device();
            self.of_row(round).arrive(self.column, self.columns);
            self.of_column(round).arrive(self.row, self.rows);
            progress.told.arrive();
        }
    }

    /// The phase of all meetings before the launch, where this block has told nothing.
    #[inline(always)]
    pub fn phase(self) -> u32 {
        self.of_row(0).phase()
    }

    /// Waits until part `part` of what the block multiplies is there, where `seen` rounds of A and of B are; says whether it
    /// had to. `phase` is that before the launch.
    #[inline(always)]
    pub fn wait(self, part: u32, phase: u32, seen: &mut [u32; 2]) -> bool {
        let before = *seen;
        while part >= self.columns * seen[0] {
            self.of_row(seen[0]).wait(phase);
            seen[0] += 1;
        }
        while 2 * part + 1 >= self.rows * seen[1] {
            self.of_column(seen[1]).wait(phase);
            seen[1] += 1;
        }
        *seen != before
    }

    /// Waits until all is there that the block multiplies, and [`any_outside`](Self::any_outside) knows of it.
    #[inline(always)]
    pub fn wait_for_all(self, phase: u32) {
        self.of_row(self.rounds - 1).wait(phase);
        self.of_column(self.rounds - 1).wait(phase);
    }

    /// Whether a block that split what this one multiplies met a segment outside the domain, as far as this lane of a warp asks
    /// for it, after [`wait_for_all`](Self::wait_for_all) in one of them and a barrier of the warp.
    #[inline(always)]
    pub fn any_outside(self, lane: u32) -> bool {
        let mut outside = 0;
        for row in (lane..self.rows).step_by(32) {
            outside |= self.scratch.get(self.flag(row, self.column));
        }
        for column in (lane..self.columns).step_by(32) {
            outside |= self.scratch.get(self.flag(self.row, column));
        }
        outside != 0
    }
}
