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
}
