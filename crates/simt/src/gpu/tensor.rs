//! Tensor-core products of a warp, in binary16 and in TF32, and what feeds them.
//!
//! In all of them g is the lane divided by four and t the remainder. A pair is two binary16 values in one register, the
//! first in the lower half. A product of two such values is exact in FP32; sums are rounded to FP32 one after the
//! other, where the device keeps a few more bits and truncates.

use super::half::{cut, from_f16, to_f16, to_tf32};
use super::{Shared, warp};
use crate::count::memory::LANES;
use crate::count::op::Kind;
use crate::fault::Fault;
use crate::lane::{self, Event, Together};
use crate::worker::{Fragment, Shape, checked, with};
use std::array::from_fn;
use std::panic::Location;

type At = &'static Location<'static>;

/// Both values of a pair.
#[inline]
pub fn unpack_f16(pair: u32) -> [f32; 2] {
    [from_f16(pair as u16), from_f16((pair >> 16) as u16)]
}

/// Rounds two values to binary16, and rounds to binary16 what that leaves: `(high, low)`, each a pair. Beyond 65504 in
/// magnitude `high` is infinite.
#[inline]
pub fn split_f16(first: f32, second: f32) -> (u32, u32) {
    let join = |[first, second]: [u16; 2]| u32::from(first) | u32::from(second) << 16;
    let values = [first, second];
    let high = values.map(to_f16);
    let low = from_fn(|i| to_f16(values[i] - from_f16(high[i])));
    (join(high), join(low))
}

/// The larger magnitude, in each place of two pairs; NaN where either is.
pub fn max_magnitudes(x: u32, y: u32) -> u32 {
    // Magnitudes are ordered as their bits are, with NaN above all.
    let larger = |shift: u32| (x >> shift & 0x7fff).max(y >> shift & 0x7fff) << shift;
    larger(0) | larger(16)
}

/// `d += a b` for a (16,16), b (16,8) and d (16,8) spread over a warp. Pairs of a: row g, columns 2t and 2t+1; row
/// g+8, the same columns; row g, columns 2t+8 and 2t+9; row g+8, those. Pairs of b: column g, rows 2t and 2t+1; rows
/// 2t+8 and 2t+9. d: row g, columns 2t and 2t+1; row g+8, the same.
#[track_caller]
pub fn mma_f16(d: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
    let at = Location::caller();
    let ([k, l, m, n], [p, q]) = (a.map(unpack_f16), b.map(unpack_f16));
    let fragment = Fragment {
        a: [k[0], k[1], l[0], l[1], m[0], m[1], n[0], n[1]],
        b: [p[0], p[1], q[0], q[1]],
        c: *d,
        ..Fragment::default()
    };
    *d = multiply(Kind::ProductF16, Shape::F16, fragment, at);
}

/// `c + a b` of a 16 x 8 by an 8 x 8 matrix in TF32 (the upper 19 bits of each value count), summed in FP32. All lanes
/// must take part. A lane holds of `a` the elements (row, column) `(g, t)`, `(g + 8, t)`, `(g, t + 4)`,
/// `(g + 8, t + 4)`; of `b` `(t, g)`, `(t + 4, g)`; of `c` and the result `(g, 2t)`, `(g, 2t + 1)`, `(g + 8, 2t)`,
/// `(g + 8, 2t + 1)`.
#[track_caller]
pub fn mma_tf32(a: [f32; 4], b: [f32; 2], c: [f32; 4]) -> [f32; 4] {
    let at = Location::caller();
    let read = |value: f32| f32::from_bits(cut(value.to_bits()));
    let ([k, l, m, n], [p, q]) = (a.map(read), b.map(read));
    let fragment = Fragment {
        a: [k, l, m, n, 0.0, 0.0, 0.0, 0.0],
        b: [p, q, 0.0, 0.0],
        c,
        ..Fragment::default()
    };
    multiply(Kind::ProductTf32, Shape::Tf32, fragment, at)
}

/// Offers a part of a product, and gives what the lane gets of it.
#[inline(never)]
fn multiply(kind: Kind, shape: Shape, fragment: Fragment, at: At) -> [f32; 4] {
    let lane = together(Together::Product(shape), kind, fragment, at);
    with(|worker| worker.fragments[lane].c)
}

/// Waits for what a whole warp does, with this part of it. Gives the number of the lane in the warp.
fn together(together: Together, kind: Kind, fragment: Fragment, at: At) -> usize {
    let lane = checked(|worker| {
        let lanes = warp::warp_lanes(worker);
        if lanes < LANES as u32 {
            return Err(Box::new(Fault::NoLane {
                lane: lanes,
                lanes,
                place: worker.place(at),
            }));
        }
        if kind.multiply_adds() > 0 {
            worker.count(kind, at);
        }
        let lane = usize::from(worker.lane) % LANES;
        worker.fragments[lane] = fragment;
        Ok(lane)
    });
    lane::wait(Event::Warp { at, together });
    lane
}

impl<const N: usize> Shared<u32, N> {
    /// Four 8 x 8 matrices of binary16, each row a quad. Lane l names the `quad` that holds row `l % 8` of matrix
    /// `l / 8`, and gets the pair of columns 2t and 2t+1 in row g of each.
    #[track_caller]
    pub fn matrices(self, quad: u32) -> [u32; 4] {
        let (at, kind) = (Location::caller(), Kind::SharedLoad4);
        let words = checked(|worker| worker.shared_load_group(kind, self.place, quad, at));
        let fragment = Fragment {
            words,
            ..Fragment::default()
        };
        let lane = together(Together::Matrices, kind, fragment, at);
        with(|worker| worker.fragments[lane].words)
    }
}

/// `x` as a sum of two: the nearest value of 11 significant bits, and the rest, of which [`mma_tf32`] drops what lies
/// below `2^-22 |x|`.
#[inline]
pub fn split_tf32(x: f32) -> (f32, f32) {
    let high = to_tf32(x);
    (high, x - high)
}

/// As [`split_tf32`], but with the first 11 significant bits for the nearest 11. Of the rest, which has the sign of
/// `x`, [`mma_tf32`] drops what lies below `2^-21 |x|`.
#[inline]
pub fn cut_tf32(x: f32) -> (f32, f32) {
    let high = f32::from_bits(cut(x.to_bits()));
    (high, x - high)
}

/// The mask of the first 11 significant bits, for [`cut_tf32_by`]; `dim` lies below 2^20.
#[inline]
pub fn tf32_mask(dim: u32) -> u32 {
    cut(u32::MAX) | dim >> 20
}

/// As [`cut_tf32`] with [`tf32_mask`].
#[inline]
pub fn cut_tf32_by(x: f32, mask: u32) -> (f32, f32) {
    let high = f32::from_bits(x.to_bits() & mask);
    (high, x - high)
}
