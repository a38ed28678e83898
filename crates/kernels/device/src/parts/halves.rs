//! Panels of binary16 halves in scratch memory, which a launch of its own splits, each element once, before the launch
//! that multiplies them.
//!
//! A panel is 128 rows of A, or 128 columns of B; a part is 32 steps along K of it: 128 rows of 64 bytes of high
//! halves and as many of low ones, in the order in which [`Columns::swizzled`](crate::gpu::Columns::swizzled) reads
//! it. The panels of A stand before those of B, the parts of a panel in order along K. Behind them stands a word a part:
//! not zero if a segment of it, eight steps of a row or column, lies outside the domain of
//! [`f16x3`](crate::parts::f16x3).

use crate::gpu::{
    F32x4, In, Scratch, barrier_or, block_x, block_y, block_z, each, shuffle_xor_u32, thread_x,
    warp_barrier,
};
use crate::parts::f16x3::Segment;
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

    /// The word that tells whether part `part` of all lies outside the domain.
    #[inline(always)]
    fn flag(self, part: u32) -> u32 {
        4 * PART * (self.down + self.across) * self.parts + part
    }

    /// Whether a part of a panel, whose first is `first`, lies outside the domain; the lanes of a warp ask for some each, and
    /// learn of all.
    #[inline(always)]
    pub fn any_outside(self, first: u32, lane: u32) -> bool {
        let mut outside = 0;
        let mut part = lane;
        while part < self.parts {
            outside |= self.scratch.get(self.flag(first + part));
            part += 32;
        }
        warp_barrier();
        for lanes in [1, 2, 4, 8, 16] {
            outside |= shuffle_xor_u32(outside, lanes);
        }
        outside != 0
    }
}

/// Splits a part of A, or of B where the block has 1 along z, with 256 threads: the one of the block's place along x, of the
/// panel of its place along y.
#[inline(always)]
pub fn split_part(halves: Halves, a: In<f32>, b: In<f32>, n: u32, k: u32) {
    let (step, panel) = (block_x(), block_y());
    let (row, along) = (panel * PANEL, step * STEPS);
    let of_a = block_z() == 0;
    let part = step
        + if of_a {
            halves.of_a(panel)
        } else {
            halves.of_b(panel)
        };
    let (scratch, quad) = (halves.scratch, PART * part);
    let fits = if of_a {
        split_rows(scratch, quad, a.from(row * k + along), k)
    } else {
        split_columns(scratch, quad, b.from(along * n + row), n)
    };
    let outside = barrier_or(!fits);
    scratch.set_if(thread_x() == 0, halves.flag(part), outside as u32);
}

/// Splits 32 steps of 128 rows of A, from where `a` begins, to the part at quad `to`; says whether they lie in the domain.
/// Eight lanes have a row, four steps each, and a thread four rows, 32 from each other.
#[inline(always)]
fn split_rows(scratch: Scratch, to: u32, a: In<f32>, k: u32) -> bool {
    let (row, lane) = (thread_x() / 8, thread_x() % 8);
    let raw: [F32x4; 4] = from_fn(|i| a.from((row + 32 * i as u32) * k).get4_past_l1(lane));
    let mut fits = true;
    each::<4>(|i| {
        let F32x4(values) = raw[i];
        let segment = store_quad(scratch, to, row + 32 * i as u32, lane, values);
        fits &= segment.with_lane(1).fits(values);
    });
    fits
}

/// Splits 32 steps of 128 columns of B, from where `b` begins, to the part at quad `to`; says whether they lie in the domain.
/// Four lanes have two neighbouring columns, eight steps each.
#[inline(always)]
fn split_columns(scratch: Scratch, to: u32, b: In<f32>, n: u32) -> bool {
    let (pair, quad) = (thread_x() / 4, thread_x() % 4);
    let raw: [[f32; 2]; 8] = from_fn(|e| b.get2_past_l1((8 * quad + e as u32) * (n / 2) + pair));
    let mut fits = true;
    each::<2>(|i| {
        let values = raw.map(|row| row[i]);
        fits &= store_eight(scratch, to, 2 * pair + i as u32, quad, values).fits(values);
    });
    fits
}

/// Stores the halves of the four steps from `4 * place` on of row `row` of the part at quad `to`; gives their segment.
#[inline(always)]
pub fn store_quad(scratch: Scratch, to: u32, row: u32, place: u32, values: [f32; 4]) -> Segment {
    let [x, y, z, w] = values;
    let (quad, half) = (place / 2, place % 2);
    let mut segment = Segment::EMPTY;
    let pairs = [segment.split(x, y), segment.split(z, w)];
    let set = |quad: u32, pairs: [u32; 2]| {
        scratch.set2(2 * (to + 8 * row + (quad ^ row % 8)) + half, pairs);
    };
    set(quad, pairs.map(|(high, _)| high));
    set(quad + 4, pairs.map(|(_, low)| low));
    segment
}

/// Stores the halves of the eight steps from `8 * quad` on of column `column` of the part at quad `to`; gives their segment.
#[inline(always)]
pub fn store_eight(scratch: Scratch, to: u32, column: u32, quad: u32, values: [f32; 8]) -> Segment {
    let mut segment = Segment::EMPTY;
    let pairs: [(u32, u32); 4] = from_fn(|p| segment.split(values[2 * p], values[2 * p + 1]));
    let (first, swizzle) = (to + 8 * column, column % 8);
    scratch.set4(first + (quad ^ swizzle), pairs.map(|(high, _)| high));
    scratch.set4(first + (quad ^ 4 ^ swizzle), pairs.map(|(_, low)| low));
    segment
}
