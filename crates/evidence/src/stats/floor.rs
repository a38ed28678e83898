//! The noise floor: how far code that did not change moves.

use super::{Ratio, student_t};
use serde::Serialize;

/// Fewest controls that give a floor.
pub const MIN_CONTROLS: usize = 2;

/// How large a difference has to be before anything but noise is needed to explain it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Floor {
    /// The floor on the natural logarithm, above or at 0.
    pub log: f64,
    /// The largest difference of a control on the same scale.
    pub largest: f64,
    /// How many controls it comes from; none where it is that of a calibration.
    pub controls: usize,
}

impl Floor {
    /// From the log ratios of controls between two sessions: cases whose code is byte for byte the same.
    ///
    /// If a case without a difference moves like the controls do, normally about 0, then its movement over
    /// their root mean square is Student's t with one degree of freedom a control (no mean is estimated: a
    /// shift that all share is part of the noise), so `t * rms` is exceeded in 5% of such cases. The floor
    /// is that or the largest movement of a control, whichever is larger: what unchanged code was seen to
    /// do is never called a result. It takes for granted that the judged case is no noisier than the
    /// controls; where it is, its own interval is the wider one and decides.
    ///
    /// None from fewer than [`MIN_CONTROLS`], or where one of them is not finite.
    pub fn of_controls(logs: &[f64]) -> Option<Self> {
        if logs.len() < MIN_CONTROLS || logs.iter().any(|log| !log.is_finite()) {
            return None;
        }
        let n = logs.len() as f64;
        let rms = (logs.iter().map(|log| log * log).sum::<f64>() / n).sqrt();
        let largest = logs.iter().fold(0.0f64, |most, log| most.max(log.abs()));
        Some(Self {
            log: largest.max(student_t(n) * rms),
            largest,
            controls: logs.len(),
        })
    }

    /// Of a calibration: `effect`, as a part of 1, is the most that unchanged code moves from one process to another.
    pub fn calibrated(effect: f64) -> Self {
        Self {
            log: effect.ln_1p(),
            largest: effect.ln_1p(),
            controls: 0,
        }
    }

    /// From an A/A arm of the same session: one kernel under two names. The floor is the far end of its
    /// interval, the largest difference that the session leaves possible between a kernel and itself; a
    /// session that favours an arm has a floor above that favour.
    ///
    /// None where the arm has no interval.
    pub fn of_identical(ratio: &Ratio) -> Option<Self> {
        let log = ratio.log.abs() + ratio.half.ok()?;
        Some(Self {
            log,
            largest: ratio.log.abs(),
            controls: 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Unit, paired, single};
    use super::*;

    #[test]
    fn the_floor_is_above_every_control() {
        let floor = Floor::of_controls(&[0.01, -0.02, 0.0]).unwrap();
        assert_eq!((floor.controls, floor.largest), (3, 0.02));
        let rms = (5e-4f64 / 3.0).sqrt();
        assert!((floor.log - student_t(3.0) * rms).abs() < 1e-12);
        // One wild control among many quiet ones.
        let mut logs = vec![0.001; 30];
        logs.push(0.5);
        assert_eq!(Floor::of_controls(&logs).unwrap().log, 0.5);
    }

    #[test]
    fn a_calibration_takes_the_place_of_controls() {
        let floor = Floor::calibrated(0.032);
        assert_eq!(floor.controls, 0);
        assert!((crate::stats::percent(floor.log) - 3.2).abs() < 1e-9);
    }

    #[test]
    fn controls_that_stand_still_have_a_floor_of_zero() {
        assert_eq!(Floor::of_controls(&[0.0, 0.0]).unwrap().log, 0.0);
    }

    #[test]
    fn too_few_controls_and_nonsense_have_none() {
        assert!(Floor::of_controls(&[]).is_none());
        assert!(Floor::of_controls(&[0.01]).is_none());
        assert!(Floor::of_controls(&[0.01, f64::NAN]).is_none());
        assert!(Floor::of_identical(&single(1.0, 1.0, Unit::Round).unwrap()).is_none());
    }

    #[test]
    fn a_session_that_favours_an_arm_has_a_floor_above_the_favour() {
        let a = [1.0, 1.1, 1.2, 1.3];
        let b = [1.021, 1.121, 1.225, 1.326];
        let aa = paired(&a, &b, Unit::Cycle).unwrap();
        let floor = Floor::of_identical(&aa).unwrap();
        assert!(floor.log > aa.log && floor.largest == aa.log);
    }
}
