//! One number for many: mean, median, geometric mean, range.

use crate::error::Invalid;

/// Arithmetic mean.
///
/// # Errors
/// [`Invalid`] on no values, or on a value that is not finite.
pub fn mean(values: &[f64]) -> Result<f64, Invalid> {
    check(values)?;
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

/// Median: the middle value, or the mean of the two middle values.
///
/// # Errors
/// As [`mean`].
pub fn median(values: &[f64]) -> Result<f64, Invalid> {
    check(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Ok(if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    })
}

/// Geometric mean: the mean on the logarithm.
///
/// # Errors
/// As [`mean`], and on a value that is not above 0.
pub fn geometric_mean(values: &[f64]) -> Result<f64, Invalid> {
    Ok(mean(&logs(values)?)?.exp())
}

/// Natural logarithms of times.
///
/// # Errors
/// [`Invalid`] naming the first value that is not a finite time above 0, or on no values.
pub(super) fn logs(times: &[f64]) -> Result<Vec<f64>, Invalid> {
    check(times)?;
    match times.iter().position(|&t| t <= 0.0) {
        Some(i) => Err(Invalid::new(
            format!("[{i}]"),
            times[i],
            "a finite time above 0",
        )),
        None => Ok(times.iter().map(|t| t.ln()).collect()),
    }
}

/// Smallest and largest value.
///
/// # Errors
/// As [`mean`].
pub fn range(values: &[f64]) -> Result<(f64, f64), Invalid> {
    check(values)?;
    Ok(values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| {
            (low.min(v), high.max(v))
        }))
}

fn check(values: &[f64]) -> Result<(), Invalid> {
    if values.is_empty() {
        return Err(Invalid::new("", "no values", "at least one"));
    }
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(Invalid::new(format!("[{i}]"), values[i], "a finite number")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_and_odd_medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]).unwrap(), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]).unwrap(), 2.5);
        assert_eq!(range(&[4.0, 1.0, 2.0]).unwrap(), (1.0, 4.0));
        assert_eq!(mean(&[1.0, 2.0, 6.0]).unwrap(), 3.0);
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_and_nan_are_refused() {
        assert!(mean(&[]).is_err());
        let error = median(&[1.0, f64::NAN]).unwrap_err().to_string();
        assert!(error.contains("[1]") && error.contains("NaN"), "{error}");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = geometric_mean(&[1.0, 2.0, bad]).unwrap_err().to_string();
            assert!(error.starts_with("[2]: found"), "{error}");
        }
    }
}
