//! Statistics of times in microseconds: summaries, ratios with intervals, noise floors. Pure; every outcome
//! is defined, and a value that is no time is an error that names it.
//!
//! # What is compared, and why so
//!
//! *One number a round.* Samples of one round share what the round had in common (clocks, host load, where
//! buffers lie), so they are not independent of each other: a t-test on pooled samples finds winners where
//! nothing differs, in a fifth to two fifths of runs. A round is reduced to the median of its samples; the
//! round is the unit (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, section 6:
//! repeat at the highest level that varies).
//!
//! *Ratios, as logarithms.* Times are positive, and what matters is their ratio: on the logarithm a ratio
//! and its inverse are equally far from 1, and intervals are symmetric.
//!
//! *Within one session, pairs.* [`paired`]: the log ratio of two arms within each round, Student's t on
//! those. What a round does to both arms cancels. Where the order rotates, an arm's place in the round has an
//! effect of its own, which cancels only over a whole rotation: [`paired_in_cycles`] makes the cycle the
//! unit.
//!
//! *Between two sessions, no pairs.* Round 1 of one run and round 1 of another have nothing in common.
//! [`unpaired`]: Welch's interval on the log medians of the rounds (Welch, Biometrika 34, 1947). It knows
//! only how far rounds of one session scatter, not how far sessions do; that is what a [`Floor`] from
//! unchanged code adds, and without a floor no winner is named.
//!
//! *Never fewer than [`MIN_UNITS`] units.* Two give a t quantile of 12.7 and say nothing; the outcome is
//! [`TooFew`]. The percentile bootstrap is not used: over three to ten rounds it misses its level by two to
//! three times.
//!
//! *Looks are planned.* A comparison that stops when its interval is narrow enough looks at its data more than
//! once. [`LOOKS`] says after how many units, and each look's interval has the coverage [`LOOK_LEVEL`], so that all
//! of them together keep [`LEVEL`] under any rule of stopping (Bonferroni; see `looks`).
//!
//! # What has been simulated
//!
//! `stats::simulation` (a test) draws sessions with drift, round effects, slot effects and session effects.
//! With nothing different, [`crate::verdict`] names a winner in at most 5% of rows (its level); pooled
//! samples name one in over 20%. With rounds that shift each arm by 0.5% on its own, a true 1% is found by
//! 12 rotation cycles of one session in over 95% of runs, by 6 in over 80%, and by 3 in under a half.
//! Between two sessions of three rounds that vary by 2%, a true 10% is found in over 75% and 40% in over 99%,
//! without the bounds that a calibration puts below all that (`docs/calibration`).
//! A session that is looked at as planned, and ended at the first look that names a winner, names one where there is
//! none in at most 5% of sessions; one that is looked at after every unit at the full level does so in over 15%.

mod floor;
mod looks;
mod ratio;
mod summary;
mod tick;

#[cfg(test)]
mod simulation;

pub use floor::{Floor, MIN_CONTROLS};
pub use looks::{LOOK_LEVEL, LOOKS, next_look};
pub use ratio::{
    MIN_UNITS, Ratio, TooFew, Unit, interval, paired, paired_in_cycles, paired_in_cycles_at,
    single, unpaired,
};
pub use summary::{geometric_mean, mean, median, range};
pub use tick::{NOMINAL_TICK_US, tick};

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Coverage of every interval, and one minus the level of every verdict.
pub const LEVEL: f64 = 0.95;

/// Half width, in standard errors, of a two-sided interval of coverage [`LEVEL`] with `freedom` degrees of
/// freedom; infinite where there is no freedom.
pub fn student_t(freedom: f64) -> f64 {
    student_t_at(freedom, LEVEL)
}

/// [`student_t`] for an interval of coverage `level`.
fn student_t_at(freedom: f64, level: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(distribution) => distribution.inverse_cdf((1.0 + level) / 2.0),
        Err(_) => f64::INFINITY,
    }
}

/// A change of `log` (a natural logarithm of a ratio) in percent.
pub fn percent(log: f64) -> f64 {
    log.exp_m1() * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 26.10 of Abramowitz and Stegun, 0.95 two-sided.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [
            (1.0, 12.706),
            (2.0, 4.303),
            (3.0, 3.182),
            (10.0, 2.228),
            (30.0, 2.042),
            (120.0, 1.980),
        ] {
            let found = student_t(freedom);
            assert!((found - expected).abs() < 6e-4, "{freedom}: {found}");
        }
        assert_eq!(student_t(0.0), f64::INFINITY);
        assert_eq!(student_t(f64::NAN), f64::INFINITY);
    }

    #[test]
    fn percent_of_a_logarithm() {
        assert!((percent(0.5f64.ln()) + 50.0).abs() < 1e-12);
        assert_eq!(percent(0.0), 0.0);
    }
}
