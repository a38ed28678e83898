//! The full-output check: every element finite and `|actual - expected| <= atol + rtol * |expected|`.

use mage_evidence::experiment::Tolerance;
use thiserror::Error;

/// The measurement contract's tolerance.
pub const TOLERANCE: Tolerance = Tolerance {
    rtol: 1e-4,
    atol: 1e-4,
};

/// A passed check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Largest `|actual - expected|`.
    pub max_abs_error: f64,
    /// Largest error as a share of what is allowed at its element, 0 to 1.
    pub max_error_share: f64,
    /// Number of elements compared: all of them.
    pub checked_elements: usize,
}

/// A failed check.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Mismatch {
    /// The slices do not hold what the shape holds.
    #[error("found {actual} elements and {expected} expected values, expected {shape} of both")]
    Length {
        /// Elements of the output.
        actual: usize,
        /// Expected values.
        expected: usize,
        /// Product of the shape.
        shape: usize,
    },
    /// Nothing to compare, which proves nothing.
    #[error("found an empty output, expected at least one element to check")]
    Empty,
    /// At least one element lies too far off or is not finite. The first such element is given.
    #[error(
        "element {index} at {coordinates:?}: found {actual:e}, expected {expected:e} within {tolerance:e}; \
         {failed} of {checked_elements} elements fail"
    )]
    Element {
        /// Flat index of the first failing element.
        index: usize,
        /// Its coordinates in the output's shape, outermost first.
        coordinates: Vec<usize>,
        /// Its value.
        actual: f64,
        /// The value expected there.
        expected: f64,
        /// The largest error allowed there.
        tolerance: f64,
        /// How many elements fail.
        failed: usize,
        /// How many were compared: all of them.
        checked_elements: usize,
    },
}

/// Compares every element of `actual` with `expected` (f32 or f64), both row-major of `shape`. The
/// difference is taken in f64. NaN and infinity never pass, on either side.
///
/// # Errors
/// [`Mismatch`]: other lengths than the shape's, nothing to compare, or a failing element.
pub fn compare<T: Copy + Into<f64>>(
    actual: &[f32],
    expected: &[T],
    shape: &[usize],
    tolerance: Tolerance,
) -> Result<Comparison, Mismatch> {
    let elements = shape.iter().product();
    if actual.len() != elements || expected.len() != elements {
        return Err(Mismatch::Length {
            actual: actual.len(),
            expected: expected.len(),
            shape: elements,
        });
    }
    if elements == 0 {
        return Err(Mismatch::Empty);
    }
    let allowed = |expected: f64| tolerance.atol + tolerance.rtol * expected.abs();
    let mut max_abs_error = 0.0f64;
    let mut max_error_share = 0.0f64;
    let mut first = None;
    let mut failed = 0;
    for (index, (&actual, &expected)) in actual.iter().zip(expected).enumerate() {
        let (actual, expected): (f64, f64) = (actual.into(), expected.into());
        let error = (actual - expected).abs();
        // Finite first: an infinite tolerance would allow an infinite error. A NaN compares as false.
        let finite = actual.is_finite() && expected.is_finite();
        if !(finite && error <= allowed(expected)) {
            first = first.or(Some((index, actual, expected)));
            failed += 1;
        }
        max_abs_error = max_abs_error.max(error);
        if error > 0.0 {
            max_error_share = max_error_share.max(error / allowed(expected));
        }
    }
    match first {
        None => Ok(Comparison {
            max_abs_error,
            max_error_share,
            checked_elements: elements,
        }),
        Some((index, actual, expected)) => Err(Mismatch::Element {
            index,
            coordinates: coordinates(index, shape),
            actual,
            expected,
            tolerance: allowed(expected),
            failed,
            checked_elements: elements,
        }),
    }
}

fn coordinates(mut index: usize, shape: &[usize]) -> Vec<usize> {
    let mut coordinates = vec![0; shape.len()];
    for (coordinate, &extent) in coordinates.iter_mut().zip(shape).rev() {
        *coordinate = index % extent;
        index /= extent;
    }
    coordinates
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Tolerance = Tolerance {
        rtol: 0.25,
        atol: 0.5,
    };

    fn one(actual: f32, expected: f64) -> Result<Comparison, Mismatch> {
        compare(&[actual], &[expected], &[1], EXACT)
    }

    #[test]
    fn the_tolerance_itself_passes_and_the_next_value_fails() {
        // 0.5 + 0.25 * 2 = 1, all exact.
        for (limit, expected) in [(3.0f32, 2.0), (1.0, 2.0), (-3.0, -2.0), (0.5, 0.0)] {
            let beyond = if f64::from(limit) > expected {
                limit.next_up()
            } else {
                limit.next_down()
            };
            assert!(one(limit, expected).is_ok(), "{limit}");
            assert!(one(beyond, expected).is_err(), "{beyond}");
        }
    }

    #[test]
    fn nothing_that_is_not_finite_passes() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(one(bad, 1.0).is_err(), "actual {bad}");
            assert!(one(1.0, bad.into()).is_err(), "expected {bad}");
            assert!(one(bad, bad.into()).is_err(), "both {bad}");
            // Not even where the tolerance would allow anything.
            let loose = Tolerance {
                rtol: 0.0,
                atol: f64::INFINITY,
            };
            assert!(
                compare(&[bad], &[1.0f32], &[1], loose).is_err(),
                "loose, {bad}"
            );
        }
        // A NaN among good elements is not lost in the maximum.
        assert!(compare(&[1.0, f32::NAN, 1.0], &[1.0f32; 3], &[3], EXACT).is_err());
    }

    #[test]
    fn the_first_failure_is_placed_and_all_are_counted() {
        let mut actual = [0.0f32; 24];
        actual[17] = 4.0;
        actual[23] = -4.0;
        let error = compare(&actual, &[0.0f64; 24], &[2, 3, 4], EXACT).unwrap_err();
        let Mismatch::Element {
            index,
            ref coordinates,
            failed,
            checked_elements,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((index, failed, checked_elements), (17, 2, 24));
        assert_eq!(coordinates, &[1, 1, 1]);
        let text = error.to_string();
        assert!(
            text.contains("element 17 at [1, 1, 1]: found 4e0, expected 0e0 within 5e-1"),
            "{text}"
        );
        assert!(text.contains("2 of 24"), "{text}");
    }

    #[test]
    fn both_widths_give_the_largest_error() {
        let passed = Comparison {
            max_abs_error: 0.25,
            max_error_share: 0.25,
            checked_elements: 2,
        };
        assert_eq!(
            compare(&[1.0, 2.25], &[1.0f32, 2.0], &[2], EXACT),
            Ok(passed)
        );
        assert_eq!(
            compare(&[1.0, 2.25], &[1.0f64, 2.0], &[1, 2], EXACT),
            Ok(passed)
        );
    }

    #[test]
    fn lengths_and_emptiness_are_refused() {
        let length = compare(&[0.0; 3], &[0.0f32; 4], &[2, 2], EXACT).unwrap_err();
        assert_eq!(
            length,
            Mismatch::Length {
                actual: 3,
                expected: 4,
                shape: 4
            }
        );
        assert!(compare(&[0.0; 4], &[0.0f32; 4], &[5], EXACT).is_err());
        assert_eq!(
            compare::<f32>(&[], &[], &[0, 4], EXACT),
            Err(Mismatch::Empty)
        );
    }
}
