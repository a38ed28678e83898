//! FP32 products on tensor cores, as three products of binary16 halves: each value, times 256, is the sum of a
//! high and a low binary16 value, `x = (h + l) / 256`, and `x y` is `(l h' + h l' + h h') / 65536`; the part
//! left out, `l l'`, is below `2^-22` of it.
//!
//! **Domain.** The sum represents x within a relative error of `2^-22` or an absolute one of `2^-33`, whichever
//! is more. A segment is elements of a row of A, or of a column of B, that are split together; [`Largest`] or [`Segment`]
//! follows their largest magnitude. In the domain all of it is zero, or the largest is from `2^-10` to `2^7`. So no half
//! overflows, none vanishes that counts, and each element is represented within `2^-22` of the largest of its segment:
//! what FP32 itself gives, by norm. A tile that meets a segment outside of the domain, infinities and NaN included,
//! computes its outputs from the FP32 values instead ([`full_range`](crate::parts::full_range)).

use crate::gpu::{
    F32x4, In, max, max_magnitudes, shuffle_xor, shuffle_xor_u32, split_f16, unpack_f16,
};
use core::array::from_fn;

/// Factor of each value before it is split: it lifts low halves out of what binary16 cannot represent.
const SCALE: f32 = 256.0;
/// What undoes it in a product.
pub const UNSCALE: f32 = 1.0 / (SCALE * SCALE);

/// `2^-10` and `2^7`, times [`SCALE`].
const LEAST: f32 = SCALE / 1024.0;
const MOST: f32 = SCALE * 128.0;

/// The largest magnitude of a segment, times [`SCALE`].
#[derive(Clone, Copy)]
pub struct Largest(f32);

impl Largest {
    /// Of no element.
    pub const NONE: Self = Self(0.0);

    /// Whether the segment lies in the domain; a NaN does not.
    #[inline(always)]
    pub fn fits(self) -> bool {
        self.0 == 0.0 || (self.0 >= LEAST && self.0 <= MOST)
    }

    /// Of this segment and that of the lane whose number differs in the bits of `lanes`.
    #[inline(always)]
    pub fn with_lane(self, lanes: u32) -> Self {
        Self(max(self.0, shuffle_xor(self.0, lanes)))
    }

    /// Halves of two elements of the segment, which it counts: `(high, low)`.
    #[inline(always)]
    pub fn split(&mut self, first: f32, second: f32) -> (u32, u32) {
        let (first, second) = (first * SCALE, second * SCALE);
        self.0 = max(self.0, max(first.abs(), second.abs()));
        split_f16(first, second)
    }
}

/// The largest magnitudes of the first and of the second high halves of a segment whose elements are at hand until all are
/// split: it takes one instruction a pair, where [`Largest`] takes two. A half that is zero does not tell whether its
/// element is, so that the elements are looked at where all are. The domain's ends are met by the largest as it is rounded
/// to binary16.
#[derive(Clone, Copy)]
pub struct Segment(u32);

impl Segment {
    /// Of no element.
    pub const EMPTY: Self = Self(0);

    /// Whether the segment lies in the domain, as far as its high halves tell it, of which `elements` are some, or all that
    /// this lane has; a NaN does not.
    #[inline(always)]
    pub fn fits<const N: usize>(self, elements: [f32; N]) -> bool {
        let [first, second] = unpack_f16(self.0);
        let largest = max(first, second);
        if largest == 0.0 {
            let any = elements
                .map(f32::to_bits)
                .into_iter()
                .fold(0, |any, bits| any | bits);
            return any << 1 == 0;
        }
        largest >= LEAST && largest <= MOST
    }

    /// This segment with what the lane has of it whose number differs in the bits of `lanes`.
    #[inline(always)]
    pub fn with_lane(self, lanes: u32) -> Self {
        Self(max_magnitudes(self.0, shuffle_xor_u32(self.0, lanes)))
    }

    /// Halves of two elements of the segment, which it counts: `(high, low)`.
    #[inline(always)]
    pub fn split(&mut self, first: f32, second: f32) -> (u32, u32) {
        let (high, low) = split_f16(first * SCALE, second * SCALE);
        self.0 = max_magnitudes(self.0, high);
        (high, low)
    }
}

/// Splits 16 steps along K of the rows g and g + 8 of A, of which lane t of four holds the columns 4t to 4t + 3,
/// into the high and low pairs of a tensor-core product. That product numbers K its own way: the columns 2t and
/// 2t + 1 are here 4t and 4t + 1, and 2t + 8 and 2t + 9 are 4t + 2 and 4t + 3. [`split_column`] agrees.
#[inline(always)]
pub fn split_rows(rows: [F32x4; 2], largest: &mut [Largest; 2]) -> ([u32; 4], [u32; 4]) {
    let [F32x4(x), F32x4(y)] = rows;
    let halves = [
        largest[0].split(x[0], x[1]),
        largest[1].split(y[0], y[1]),
        largest[0].split(x[2], x[3]),
        largest[1].split(y[2], y[3]),
    ];
    (halves.map(|(high, _)| high), halves.map(|(_, low)| low))
}

/// Splits 16 steps along K of a column of B into the pairs of a tensor-core product, in the order that
/// [`split_rows`] asks for: two quads of high pairs, and two of low ones.
#[inline(always)]
pub fn split_column(column: [f32; 16], largest: &mut Largest) -> ([[u32; 4]; 2], [[u32; 4]; 2]) {
    let halves: [[(u32, u32); 4]; 2] = from_fn(|quad| {
        from_fn(|t| largest.split(column[4 * t + 2 * quad], column[4 * t + 2 * quad + 1]))
    });
    (
        halves.map(|quad| quad.map(|(high, _)| high)),
        halves.map(|quad| quad.map(|(_, low)| low)),
    )
}

/// Loads 64 steps along K of the rows g and g + 8 of A for [`split_rows`], 16 a pair of quads. `a` begins at row
/// g, column 4t; a row has `k` elements.
#[inline(always)]
pub fn load_rows(a: In<f32>, k: u32) -> [[F32x4; 2]; 4] {
    let b = a.from(8 * k);
    from_fn(|i| [a.get4(4 * i as u32), b.get4(4 * i as u32)])
}

/// Loads 16 steps along K of the column of B at whose top `b` begins, and moves `b` to the step after them; a row
/// has `n` elements.
#[inline(always)]
pub fn load_column(b: &mut In<f32>, n: u32) -> [f32; 16] {
    from_fn(|_| {
        let value = b.get(0);
        *b = b.from(n);
        value
    })
}
