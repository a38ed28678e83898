//! Panels of binary16 halves in scratch memory, which a launch of its own splits, each element once, before the launch
//! that multiplies them.
//!
//! A panel is 128 rows of A, or 128 columns of B; a part is 32 steps along K of it: 128 rows of 64 bytes of high
//! halves and as many of low ones, in the order in which [`Columns::swizzled`](crate::gpu::Columns::swizzled) reads
//! it. The panels of A stand before those of B, the parts of a panel in order along K. Behind them stand two words a
//! part, one for each half of its rows: not zero if a segment of it, eight steps of a row or column, lies outside the domain of
//! [`f16x3`](crate::parts::f16x3).

use crate::gpu::{
    F32x4, In, Scratch, Shared, barrier_or, block_x, block_y, block_z, close_stores,
    fence_async_shared, shuffle_xor_u32, thread_x, wait_for_reads_of_stores, warp_barrier,
};
use crate::parts::f16x3::Largest;
use core::array::from_fn;

/// Rows, or columns, of a panel.
pub const PANEL: u32 = 128;
/// Steps along K of a part.
pub const STEPS: u32 = 32;
/// Quads of a part.
pub const PART: u32 = PANEL * STEPS / 4;
/// The halves of all panels.
#[derive(Clone, Copy)]
pub struct Halves {
    scratch: Scratch,
    /// Panels of A.
    down: u32,
    /// Panels of B.
    across: u32,
    /// Parts of a panel.
    parts: u32,
}

impl Halves {
    /// Those of A (m,k) and B (k,n).
    #[inline(always)]
    pub fn new(scratch: Scratch, m: u32, n: u32, k: u32) -> Self {
        Self {
            scratch,
            down: m / PANEL,
            across: n / PANEL,
            parts: k / STEPS,
        }
    }

    /// Parts of a panel.
    #[inline(always)]
    pub fn parts(self) -> u32 {
        self.parts
    }

    /// The number of the first part of panel `panel` of A.
    #[inline(always)]
    pub fn of_a(self, panel: u32) -> u32 {
        panel * self.parts
    }

    /// The number of the first part of panel `panel` of B.
    #[inline(always)]
    pub fn of_b(self, panel: u32) -> u32 {
        (self.down + panel) * self.parts
    }

    /// The word that tells whether half `half` of all parts lies outside the domain.
    #[inline(always)]
    fn flag(self, half: u32) -> u32 {
        4 * PART * (self.down + self.across) * self.parts + half
    }

    /// Whether a part of a panel, whose first is `first`, lies outside the domain; the lanes of a warp ask for some each, and
    /// learn of all.
    #[inline(always)]
    pub fn any_outside(self, first: u32, lane: u32) -> bool {
        self.any(2 * self.parts, lane, |half| 2 * first + half)
    }

    /// As [`any_outside`](Self::any_outside), of half `half` of the parts alone.
    #[inline(always)]
    pub fn half_outside(self, first: u32, half: u32, lane: u32) -> bool {
        self.any(self.parts, lane, |part| 2 * (first + part) + half)
    }

    /// Whether one of `count` halves, the i-th of which is number `half(i)`, lies outside the domain.
    #[inline(always)]
    fn any(self, count: u32, lane: u32, half: impl Fn(u32) -> u32) -> bool {
        let mut outside = 0;
        let mut i = lane;
        while i < count {
            outside |= self.scratch.get(self.flag(half(i)));
            i += 32;
        }
        warp_barrier();
        for lanes in [1, 2, 4, 8, 16] {
            outside |= shuffle_xor_u32(outside, lanes);
        }
        outside != 0
    }
}

/// Words of shared memory that [`split_part`] takes.
pub const WORDS: usize = 2 * PART as usize;

/// Splits half of a part of A, or of B where the block has 1 along z, with 128 threads: the one of the block's place along x,
/// of the panel of its place along y.
#[inline(always)]
pub fn split_part(
    words: Shared<u32, WORDS>,
    halves: Halves,
    a: In<f32>,
    b: In<f32>,
    n: u32,
    k: u32,
) {
    let (step, panel) = (block_x() / 2, block_y());
    let half = block_x() % 2;
    let row = panel * PANEL + half * (PANEL / 2);
    let (part, fits) = if block_z() == 0 {
        let a = a.from(row * k + step * STEPS);
        (halves.of_a(panel) + step, split_rows(words, a, k))
    } else {
        let b = b.from(step * STEPS * n + row);
        (halves.of_b(panel) + step, split_columns(words, b, n))
    };
    fence_async_shared();
    let outside = barrier_or(!fits);
    let stores = thread_x() == 0;
    let part = 2 * part + half;
    halves
        .scratch
        .set_if(stores, halves.flag(part), outside as u32);
    words.start_store(stores, 0, halves.scratch, PART / 2 * part, PART / 2);
    close_stores();
    wait_for_reads_of_stores::<0>();
}

/// Splits 32 steps of 64 rows of A, from where `a` begins; says whether they lie in the domain. Eight lanes have a row, four
/// steps each, and four rows, 16 from each other. Lanes of half a warp have the rows r and r + 4, whose quads lie in
/// different banks.
#[inline(always)]
fn split_rows(words: Shared<u32, WORDS>, a: In<f32>, k: u32) -> bool {
    let (warp, lane) = (thread_x() / 32, thread_x() % 32);
    let row = 8 * (warp / 2) + 2 * (warp % 2) + 4 * (lane / 8 % 2) + lane / 16;
    let (quad, half) = (lane % 8 / 2, lane % 2);
    let raw: [F32x4; 4] = from_fn(|i| a.from((row + 16 * i as u32) * k).get4_past_l1(lane % 8));
    let mut fits = true;
    for (i, F32x4([x, y, z, w])) in raw.into_iter().enumerate() {
        let mut largest = Largest::NONE;
        let pairs = [largest.split(x, y), largest.split(z, w)];
        let first = 8 * (row + 16 * i as u32);
        let set = |quad: u32, pairs: [u32; 2]| {
            let place = 2 * (first + (quad ^ row % 8)) + half;
            words.as_f32().set2(place, pairs.map(f32::from_bits));
        };
        set(quad, pairs.map(|(high, _)| high));
        set(quad + 4, pairs.map(|(_, low)| low));
        fits &= largest.with_lane(1).fits();
    }
    fits
}

/// Splits 32 steps of 64 columns of B, from where `b` begins; says whether they lie in the domain. Half a warp has 32
/// neighbouring columns, eight steps of each.
#[inline(always)]
fn split_columns(words: Shared<u32, WORDS>, b: In<f32>, n: u32) -> bool {
    let thread = thread_x();
    let pair = thread % 16 + thread / 32 % 2 * 16;
    let quad = thread / 16 % 2 + thread / 64 * 2;
    let raw: [[f32; 2]; 8] = from_fn(|e| b.get2_past_l1((8 * quad + e as u32) * (n / 2) + pair));
    // Every second four lanes store their columns in the other order, so that eight lanes meet eight quads of banks.
    let turned = pair / 4 % 2;
    let mut fits = true;
    for i in 0..2 {
        let values = raw.map(|[x, y]| if turned == i { x } else { y });
        let column = 2 * pair + (turned ^ i);
        let mut largest = Largest::NONE;
        let pairs: [(u32, u32); 4] = from_fn(|p| largest.split(values[2 * p], values[2 * p + 1]));
        words.set4(
            8 * column + (quad ^ column % 8),
            pairs.map(|(high, _)| high),
        );
        words.set4(
            8 * column + (quad ^ 4 ^ column % 8),
            pairs.map(|(_, low)| low),
        );
        fits &= largest.fits();
    }
    fits
}
