//! The ratio of two times with an interval from independent units.

use super::summary::{logs, mean};
use super::{LEVEL, student_t, student_t_at};
use crate::error::Invalid;
use serde::Serialize;
use std::fmt;

/// Fewest units that give an interval.
pub const MIN_UNITS: usize = 3;

/// What was repeated independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A round of a session.
    Round,
    /// As many rounds as the order takes to come round.
    Cycle,
    /// A profiler capture, each of its own process.
    Capture,
    /// A process.
    Process,
}

impl Unit {
    /// The unit's name, several of it.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Round => "rounds",
            Self::Cycle => "rotation cycles",
            Self::Capture => "captures",
            Self::Process => "processes",
        }
    }
}

/// Why a ratio has no interval: fewer than [`MIN_UNITS`] units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TooFew {
    /// What was repeated.
    pub unit: Unit,
    /// How often, on the side that has fewer.
    pub found: usize,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit.plural();
        write!(
            f,
            "too few {unit}: {}, and an interval takes at least {MIN_UNITS}",
            self.found
        )
    }
}

/// The ratio of B to A on the natural logarithm: below 0 where B takes less time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Logarithm of the ratio of geometric means.
    pub log: f64,
    /// Half width of the interval of coverage [`super::LEVEL`], or of the level asked for; 0 where all units agree to the last bit.
    pub half: Result<f64, TooFew>,
    /// What was repeated.
    pub unit: Unit,
    /// Whether the units are pairs from one session.
    pub paired: bool,
}

/// The ratio where A and B were measured in each unit together: Student's t on the log ratios.
///
/// # Errors
/// [`Invalid`] where the sides differ in length, or a value is not a finite time above 0.
pub fn paired(a: &[f64], b: &[f64], unit: Unit) -> Result<Ratio, Invalid> {
    let differences = differences(a, b)?;
    of_differences(&differences, unit, LEVEL)
}

/// [`paired`] where the order comes round after `cycle` rounds: the unit is the mean over a whole cycle, in
/// which each arm has had each place once. Rounds after the last whole cycle are left out.
///
/// # Errors
/// As [`paired`]; on a cycle of 0 rounds, or on no whole cycle.
pub fn paired_in_cycles(a: &[f64], b: &[f64], cycle: usize) -> Result<Ratio, Invalid> {
    paired_in_cycles_at(a, b, cycle, LEVEL)
}

/// [`paired_in_cycles`] with an interval of coverage `level`.
///
/// # Errors
/// As [`paired_in_cycles`].
pub fn paired_in_cycles_at(
    a: &[f64],
    b: &[f64],
    cycle: usize,
    level: f64,
) -> Result<Ratio, Invalid> {
    let differences = differences(a, b)?;
    if cycle == 0 || differences.len() < cycle {
        return Err(Invalid::new(
            "rounds",
            differences.len(),
            format!("at least one whole rotation of {} rounds", cycle.max(1)),
        ));
    }
    let cycles = differences
        .chunks_exact(cycle)
        .map(mean)
        .collect::<Result<Vec<_>, _>>()?;
    of_differences(&cycles, Unit::Cycle, level)
}

/// The ratio where A and B come from different sessions: Welch's interval on the logarithms, with
/// Satterthwaite's degrees of freedom. It holds for these two sessions; how far sessions differ is for a
/// [`super::Floor`] to say.
///
/// # Errors
/// [`Invalid`] where a side has no value, or one that is not a finite time above 0.
pub fn unpaired(a: &[f64], b: &[f64], unit: Unit) -> Result<Ratio, Invalid> {
    let (a, b) = (
        logs(a).map_err(|e| e.under("a"))?,
        logs(b).map_err(|e| e.under("b"))?,
    );
    let log = mean(&b)? - mean(&a)?;
    let found = a.len().min(b.len());
    let half = if found < MIN_UNITS {
        Err(TooFew { unit, found })
    } else {
        let (of_a, of_b) = (squared_error(&a)?, squared_error(&b)?);
        let freedom = (of_a + of_b).powi(2)
            / (of_a.powi(2) / (a.len() - 1) as f64 + of_b.powi(2) / (b.len() - 1) as f64);
        Ok(half_width(of_a + of_b, student_t(freedom)))
    };
    Ok(Ratio {
        log,
        half,
        unit,
        paired: false,
    })
}

/// The ratio of two numbers that stand for a whole run each, such as published means: no interval.
///
/// # Errors
/// As [`unpaired`].
pub fn single(a: f64, b: f64, unit: Unit) -> Result<Ratio, Invalid> {
    unpaired(&[a], &[b], unit)
}

fn differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>, Invalid> {
    if a.len() != b.len() {
        return Err(Invalid::new(
            "b",
            format!("{} values", b.len()),
            format!("{}, one for each of a", a.len()),
        ));
    }
    let (a, b) = (
        logs(a).map_err(|e| e.under("a"))?,
        logs(b).map_err(|e| e.under("b"))?,
    );
    Ok(a.iter().zip(&b).map(|(a, b)| b - a).collect())
}

fn of_differences(differences: &[f64], unit: Unit, level: f64) -> Result<Ratio, Invalid> {
    let found = differences.len();
    let half = if found < MIN_UNITS {
        Err(TooFew { unit, found })
    } else {
        let quantile = student_t_at((found - 1) as f64, level);
        Ok(half_width(squared_error(differences)?, quantile))
    };
    Ok(Ratio {
        log: mean(differences)?,
        half,
        unit,
        paired: true,
    })
}

/// Interval of the typical time of independent units: of their geometric mean, by Student's t on the logarithm.
///
/// # Errors
/// [`Invalid`] on a time that is not finite and above 0. The inner error says that there are too few.
pub fn interval(times: &[f64], unit: Unit) -> Result<Result<(f64, f64), TooFew>, Invalid> {
    let logs = logs(times)?;
    let found = logs.len();
    if found < MIN_UNITS {
        return Ok(Err(TooFew { unit, found }));
    }
    let half = half_width(squared_error(&logs)?, student_t((found - 1) as f64));
    let middle = mean(&logs)?;
    Ok(Ok(((middle - half).exp(), (middle + half).exp())))
}

/// Units that agree leave nothing to divide by: their interval is a point.
fn half_width(squared_error: f64, quantile: f64) -> f64 {
    if squared_error > 0.0 {
        quantile * squared_error.sqrt()
    } else {
        0.0
    }
}

/// Square of the standard error of the mean; `values` are at least two.
fn squared_error(values: &[f64]) -> Result<f64, Invalid> {
    // Equal logarithms have a mean that may differ from them in the last bit: that is not scatter.
    if values.iter().all(|v| *v == values[0]) {
        return Ok(0.0);
    }
    let middle = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - middle).powi(2)).sum();
    let n = values.len() as f64;
    Ok(squares / (n - 1.0) / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_cancel_what_a_round_does_to_both() {
        let a = [10.0, 20.0, 40.0, 80.0];
        let b = a.map(|t| t * 0.5);
        let ratio = paired(&a, &b, Unit::Round).unwrap();
        assert!((ratio.log - 0.5f64.ln()).abs() < 1e-12);
        assert!(ratio.half.unwrap() < 1e-12);
    }

    /// By hand: log ratios 0.1, 0.2, 0.3; mean 0.2, standard error 0.1/sqrt(3), t of 2 is 4.303.
    #[test]
    fn the_interval_is_students() {
        let b = [0.1f64, 0.2, 0.3].map(f64::exp);
        let ratio = paired(&[1.0; 3], &b, Unit::Round).unwrap();
        assert!((ratio.log - 0.2).abs() < 1e-12);
        assert!((ratio.half.unwrap() - 4.302_65 * 0.1 / 3f64.sqrt()).abs() < 1e-5);
    }

    /// By hand: logarithms 0.1, 0.2, 0.3 of microseconds; standard error 0.1/sqrt(3), t of 2 is 4.303.
    #[test]
    fn one_side_has_an_interval_too() {
        let times = [0.1f64, 0.2, 0.3].map(f64::exp);
        let (low, high) = interval(&times, Unit::Capture).unwrap().unwrap();
        let half = 4.302_65 * 0.1 / 3f64.sqrt();
        assert!((low.ln() - (0.2 - half)).abs() < 1e-5);
        assert!((high.ln() - (0.2 + half)).abs() < 1e-5);
        assert_eq!(
            interval(&[2.0; 3], Unit::Capture).unwrap(),
            Ok((2f64.ln().exp(), 2f64.ln().exp()))
        );
        assert_eq!(
            interval(&times[..2], Unit::Capture)
                .unwrap()
                .unwrap_err()
                .found,
            2
        );
        assert!(interval(&[1.0, 0.0, 1.0], Unit::Capture).is_err());
    }

    /// By hand: variances 0.01 and 0.04 over 3, squared errors 1/300 and 4/300, freedom 2 * 25 / 17.
    #[test]
    fn the_interval_is_welchs() {
        let a = [-0.1f64, 0.0, 0.1].map(f64::exp);
        let b = [0.8f64, 1.0, 1.2].map(f64::exp);
        let ratio = unpaired(&a, &b, Unit::Round).unwrap();
        assert!((ratio.log - 1.0).abs() < 1e-12);
        let expected = student_t(50.0 / 17.0) * (5.0f64 / 300.0).sqrt();
        assert!((ratio.half.unwrap() - expected).abs() < 1e-9);
    }

    #[test]
    fn identical_samples_give_a_point() {
        for t in [5.0, 0.3, 1e-9, 123.456] {
            for ratio in [
                paired(&[t; 5], &[t; 5], Unit::Round),
                unpaired(&[t; 3], &[t; 4], Unit::Capture),
                paired_in_cycles(&[t; 9], &[t; 9], 3),
            ] {
                let ratio = ratio.unwrap();
                assert!(ratio.log.abs() < 1e-15, "{ratio:?}");
                assert_eq!(ratio.half, Ok(0.0));
            }
        }
        // One side constant is no error either.
        let ratio = unpaired(&[5.0; 3], &[5.0, 5.5, 6.0], Unit::Round).unwrap();
        assert!(ratio.half.unwrap() > 0.0);
    }

    #[test]
    fn fewer_than_three_units_have_no_interval() {
        let two = paired(&[1.0, 2.0], &[1.0, 2.0], Unit::Round).unwrap();
        let reason = two.half.unwrap_err();
        assert_eq!(reason.found, 2);
        assert!(reason.to_string().starts_with("too few rounds: 2"));
        let one = unpaired(&[1.0], &[2.0, 2.0, 2.0], Unit::Capture).unwrap();
        assert_eq!(one.half.unwrap_err().found, 1);
        assert!((one.log - 2f64.ln()).abs() < 1e-12);
        let cycles = paired_in_cycles(&[1.0; 8], &[1.0; 8], 3).unwrap();
        assert_eq!(cycles.half.unwrap_err().found, 2);
    }

    #[test]
    fn a_slot_effect_cancels_over_a_cycle() {
        let slots = [1.0, 1.05, 1.1];
        let arm = |offset: usize| -> Vec<f64> { (0..9).map(|r| slots[(r + offset) % 3]).collect() };
        let cycles = paired_in_cycles(&arm(0), &arm(1), 3).unwrap();
        assert!(cycles.log.abs() < 1e-12);
        assert!(cycles.half.unwrap() < 1e-12);
        assert!(paired(&arm(0), &arm(1), Unit::Round).unwrap().half.unwrap() > 0.01);
    }

    #[test]
    fn what_is_no_time_is_named() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = paired(&[1.0; 3], &[1.0, bad, 1.0], Unit::Round).unwrap_err();
            assert_eq!(error.field, "b.[1]");
            let error = unpaired(&[bad], &[1.0], Unit::Round).unwrap_err();
            assert_eq!(error.field, "a.[0]");
        }
        assert!(paired(&[1.0], &[1.0, 2.0], Unit::Round).is_err());
        assert!(paired(&[], &[], Unit::Round).is_err());
        assert!(paired_in_cycles(&[1.0; 2], &[1.0; 2], 3).is_err());
        assert!(paired_in_cycles(&[1.0; 2], &[1.0; 2], 0).is_err());
    }
}
