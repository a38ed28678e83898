//! Arithmetic whose instruction and rounding a kernel chooses.

use crate::count::op::Kind;
use crate::worker::with;
use std::f32::consts::LOG2_E;
use std::panic::Location;

/// `x * y + z`, rounded once.
#[track_caller]
#[inline]
pub fn fma(x: f32, y: f32, z: f32) -> f32 {
    count(Kind::Fma, Location::caller());
    x.mul_add(y, z)
}

/// `1 / x`, rounded once; subnormal `x` counts as zero, a subnormal result is zero.
#[track_caller]
#[inline]
pub fn reciprocal(x: f32) -> f32 {
    count(Kind::Special, Location::caller());
    inverse(x)
}

/// `1 / sqrt(x)`, rounded once from f64; subnormal `x` counts as zero.
#[track_caller]
#[inline]
pub fn rsqrt(x: f32) -> f32 {
    count(Kind::Special, Location::caller());
    (1.0 / f64::from(flush(x)).sqrt()) as f32
}

/// `2^x`; a subnormal result is zero.
#[track_caller]
#[inline]
pub fn exp2(x: f32) -> f32 {
    count(Kind::Special, Location::caller());
    flush(x.exp2())
}

/// The larger of `x` and `y`, NaN where either is. Not counted, as other comparisons are not.
#[inline]
pub fn max(x: f32, y: f32) -> f32 {
    match x.is_nan() || y.is_nan() {
        true => f32::NAN,
        false => x.max(y),
    }
}

/// `e^x` as `2^(x log2 e)`; a subnormal result is zero.
#[track_caller]
#[inline]
pub fn exp(x: f32) -> f32 {
    count(Kind::Exp, Location::caller());
    flush((x * LOG2_E).exp2())
}

/// `x / y` for finite `x` and normal `y` whose reciprocal is normal too, as the approximate quotient corrected
/// once by its remainder.
#[track_caller]
#[inline]
pub fn div(x: f32, y: f32) -> f32 {
    count(Kind::Div, Location::caller());
    let inverse = inverse(y);
    let quotient = x * inverse;
    (-quotient).mul_add(y, x).mul_add(inverse, quotient)
}

#[inline(never)]
fn count(kind: Kind, at: &'static Location<'static>) {
    with(|worker| worker.count(kind, at));
}

fn inverse(x: f32) -> f32 {
    flush(1.0 / flush(x))
}

/// `x`, or a zero of its sign where it is subnormal.
fn flush(x: f32) -> f32 {
    match x.is_subnormal() {
        true => 0f32.copysign(x),
        false => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnormal_numbers_count_as_zero() {
        assert_eq!(flush(1e-40).to_bits(), 0f32.to_bits());
        assert_eq!(flush(-1e-40).to_bits(), (-0f32).to_bits());
        assert_eq!(flush(f32::MIN_POSITIVE), f32::MIN_POSITIVE);
        assert_eq!(inverse(1e-40), f32::INFINITY);
        assert_eq!(inverse(-1e-40), f32::NEG_INFINITY);
        assert_eq!(inverse(3e38), 0.0);
        assert_eq!(inverse(4.0), 0.25);
    }

    #[test]
    fn the_larger_of_two_is_nan_where_either_is() {
        assert_eq!(max(-1.0, 2.0), 2.0);
        assert_eq!(max(3.0, f32::NEG_INFINITY), 3.0);
        assert!(max(f32::NAN, 1.0).is_nan() && max(1.0, f32::NAN).is_nan());
    }
}
