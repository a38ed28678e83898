//! What may be said of a ratio: faster, slower, equivalent, or why none of them.
//!
//! One interval decides. Its half width is the widest of three: the ratio's own (from its rounds or
//! captures), the [`Floor`] (what unchanged code moved), and one tick of the clock. So a winner is named
//! only where the ratio's own interval excludes 1 *and* the difference exceeds the floor *and* a tick; and
//! equality is stated only where all three fit inside the margin.

use crate::stats::{Floor, Ratio, TooFew, Unit, percent};
use serde::Serialize;
use std::fmt;

/// Default margin: smaller differences either way are of no interest. Not below what the committed calibrations
/// (`docs/calibration`) say that unchanged code moves; a test holds it to them.
pub const MARGIN: f64 = 0.03;

/// Differences below this can be the process's own (where its buffers lie, how its code is laid out). From the
/// committed calibrations, as [`MARGIN`] is.
pub const PROCESS_EFFECT: f64 = 0.03;

/// Differences of kernel time between single captures below this can be the captures' own: everything that the start of
/// a process decides. From the committed calibrations, as [`MARGIN`] is.
pub const KERNEL_TIME_EFFECT: f64 = 0.032;

/// Differences of event spans between two sessions below this can be the sessions' own. From the committed calibrations.
pub const SPAN_EFFECT: f64 = 0.133;

/// The outcome of a comparison of B with A.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// B takes less time than A.
    Faster,
    /// B takes more time than A.
    Slower,
    /// The interval lies inside the margin.
    Equivalent,
    /// Neither can be said.
    Inconclusive(Reason),
    /// A check failed: there is nothing to compare.
    Invalid(String),
    /// There is nothing on the other side to compare with.
    Unmatched(String),
}

/// Why neither winner nor equality can be stated.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// Fewer units than an interval takes.
    TooFew(TooFew),
    /// The ratio's own interval reaches beyond the margin by this many percent.
    TooWide {
        /// How far, in percent.
        by: f64,
    },
    /// Unchanged code moved as much; both in percent.
    BelowFloor {
        /// The difference.
        difference: f64,
        /// The floor.
        floor: f64,
    },
    /// One capture a side, and the difference is within what unchanged code moved (percent).
    SingleCapture {
        /// The floor.
        floor: f64,
    },
    /// The difference is below one tick of the clock that measured it.
    BelowTick {
        /// The tick, in percent of the time.
        tick: f64,
    },
    /// Clocks were held down; NVML's reasons.
    Throttled(Vec<String>),
    /// Nothing says how far unchanged code moves.
    NoControl,
    /// Code that is byte for byte the same moved by this many percent, beyond all other controls.
    UnchangedMoved(f64),
    /// A difference that a process, or the start of another, can have by itself (percent).
    ProcessEffect(f64),
    /// The sides are two GPUs.
    TwoGpus,
    /// A side has published values only: no rounds, no hashes.
    PublishedOnly,
}

impl Verdict {
    /// One word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Inconclusive(_) => "inconclusive",
            Self::Invalid(_) => "invalid",
            Self::Unmatched(_) => "unmatched",
        }
    }

    /// Why, where the word needs it.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Inconclusive(reason) => Some(reason.to_string()),
            Self::Invalid(why) | Self::Unmatched(why) => Some(why.clone()),
            _ => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why() {
            Some(why) => write!(f, "{}: {why}", self.word()),
            None => f.write_str(self.word()),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew(few) => few.fmt(f),
            Self::TooWide { by } => {
                write!(f, "the interval reaches {by:.1}% beyond the margin")
            }
            Self::BelowFloor { difference, floor } => write!(
                f,
                "{difference:.1}% is within the noise floor of {floor:.1}%"
            ),
            Self::SingleCapture { floor } => write!(
                f,
                "single capture, and within the noise floor of {floor:.1}%"
            ),
            Self::BelowTick { tick } => {
                write!(f, "below the event tick, which is {tick:.1}% of the time")
            }
            Self::Throttled(reasons) => write!(f, "clocks throttled: {}", reasons.join(", ")),
            Self::NoControl => f.write_str("no controls: nothing says what unchanged code moves"),
            Self::UnchangedMoved(by) => write!(
                f,
                "the code is unchanged and moved {by:.1}%, beyond all other controls"
            ),
            Self::ProcessEffect(by) => write!(
                f,
                "{by:.1}% is what the start of a process can do by itself"
            ),
            Self::TwoGpus => f.write_str("two GPUs have no common noise floor"),
            Self::PublishedOnly => f.write_str("published values have no rounds and no hashes"),
        }
    }
}

/// A ratio and what is known about its noise.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// B to A.
    pub ratio: &'a Ratio,
    /// What unchanged code moved; without it no verdict but inconclusive.
    pub floor: Option<Floor>,
    /// One tick of the clock, on the logarithm; 0 for a clock that is fine enough.
    pub tick: f64,
    /// NVML's reasons for clocks that were held down on either side.
    pub throttled: &'a [String],
    /// Whether the code is byte for byte the same on both sides.
    pub unchanged: bool,
    /// Largest difference that is of no interest, as a part of 1.
    pub margin: f64,
    /// Largest difference that a process, or the start of another, makes by itself, as a part of 1; 0 where processes
    /// are the unit.
    pub process_effect: f64,
}

/// What decides an interval's width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Width {
    /// The scatter of the units.
    Units,
    /// The noise floor.
    Floor,
    /// The clock's tick.
    Tick,
}

/// The interval that decides, on the logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Which of the three widths it has.
    pub width: Width,
}

/// The interval, where there is one, and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// None where there are too few units or no floor.
    pub interval: Option<Interval>,
    /// What may be said.
    pub verdict: Verdict,
}

/// Judges B against A.
pub fn judge(question: &Question<'_>) -> Judgement {
    let Question { ratio, floor, .. } = question;
    let inconclusive = |interval, reason| Judgement {
        interval,
        verdict: Verdict::Inconclusive(reason),
    };
    let own = match ratio.half {
        Ok(half) => Some(half),
        // A capture is a process of its own, and so is each capture of a control: the floor is made of the
        // very differences that one more capture would make. Rounds of one session are not.
        Err(few) if few.unit == Unit::Capture && floor.is_some() => None,
        Err(few) => return inconclusive(None, Reason::TooFew(few)),
    };
    let Some(floor) = floor else {
        return inconclusive(None, Reason::NoControl);
    };
    let interval = widest(ratio.log, own.unwrap_or(0.0), floor.log, question.tick);
    let verdict = if !question.throttled.is_empty() {
        Verdict::Inconclusive(Reason::Throttled(question.throttled.to_vec()))
    } else {
        decide(question, floor, &interval)
    };
    Judgement {
        interval: Some(interval),
        verdict,
    }
}

fn widest(log: f64, own: f64, floor: f64, tick: f64) -> Interval {
    let (half, width) = if tick > own && tick > floor {
        (tick, Width::Tick)
    } else if floor > own {
        (floor, Width::Floor)
    } else {
        (own, Width::Units)
    };
    Interval {
        low: log - half,
        high: log + half,
        width,
    }
}

fn decide(question: &Question<'_>, floor: &Floor, interval: &Interval) -> Verdict {
    let log = question.ratio.log;
    let difference = percent(log).abs();
    let margin = question.margin.ln_1p();
    if interval.low >= -margin && interval.high <= margin {
        return Verdict::Equivalent;
    }
    if interval.low > 0.0 || interval.high < 0.0 {
        if question.unchanged {
            return Verdict::Inconclusive(Reason::UnchangedMoved(difference));
        }
        if log.abs() < question.process_effect.ln_1p() {
            return Verdict::Inconclusive(Reason::ProcessEffect(difference));
        }
        return match log < 0.0 {
            true => Verdict::Faster,
            false => Verdict::Slower,
        };
    }
    Verdict::Inconclusive(match interval.width {
        Width::Tick => Reason::BelowTick {
            tick: percent(question.tick),
        },
        Width::Floor if question.ratio.half.is_err() => Reason::SingleCapture {
            floor: percent(floor.log),
        },
        Width::Floor => Reason::BelowFloor {
            difference,
            floor: percent(floor.log),
        },
        Width::Units => Reason::TooWide {
            by: percent(interval.high.max(-interval.low) - margin),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{paired, single, unpaired};

    fn floor(log: f64) -> Option<Floor> {
        Some(Floor {
            log,
            largest: log,
            controls: 9,
        })
    }

    fn question(ratio: &Ratio, floor: Option<Floor>) -> Question<'_> {
        Question {
            ratio,
            floor,
            tick: 0.0,
            throttled: &[],
            unchanged: false,
            margin: 0.01,
            process_effect: 0.0,
        }
    }

    fn ratio(log: f64, half: f64) -> Ratio {
        Ratio {
            log,
            half: Ok(half),
            unit: Unit::Round,
            paired: false,
        }
    }

    #[test]
    fn a_winner_excludes_one_and_exceeds_the_floor() {
        let verdict = |log, half, f| judge(&question(&ratio(log, half), floor(f))).verdict;
        assert_eq!(verdict(-0.5, 0.1, 0.02), Verdict::Faster);
        assert_eq!(verdict(0.5, 0.1, 0.02), Verdict::Slower);
        assert_eq!(verdict(0.001, 0.005, 0.004), Verdict::Equivalent);
        assert_eq!(
            verdict(0.03, 0.01, 0.05),
            Verdict::Inconclusive(Reason::BelowFloor {
                difference: percent(0.03),
                floor: percent(0.05)
            })
        );
        let wide = verdict(0.03, 0.05, 0.01);
        assert!(matches!(
            wide,
            Verdict::Inconclusive(Reason::TooWide { .. })
        ));
        assert_eq!(
            wide.to_string(),
            "inconclusive: the interval reaches 7.3% beyond the margin"
        );
    }

    #[test]
    fn a_floor_wider_than_the_margin_leaves_no_equality() {
        let same = ratio(0.0, 0.0);
        assert_eq!(
            judge(&question(&same, floor(0.0))).verdict,
            Verdict::Equivalent
        );
        let verdict = judge(&question(&same, floor(0.02))).verdict;
        assert!(matches!(
            verdict,
            Verdict::Inconclusive(Reason::BelowFloor { .. })
        ));
    }

    #[test]
    fn identical_samples_are_equal_to_a_tick() {
        let same = paired(&[5.0; 4], &[5.0; 4], Unit::Round).unwrap();
        let mut q = question(&same, floor(0.0));
        assert_eq!(judge(&q).verdict, Verdict::Equivalent);
        q.tick = 0.1f64.ln_1p();
        let judged = judge(&q);
        assert_eq!(judged.interval.unwrap().width, Width::Tick);
        assert!(judged.verdict.to_string().contains("event tick"));
    }

    #[test]
    fn two_rounds_are_too_few_and_one_capture_is_judged_by_the_floor() {
        let rounds = unpaired(&[9.0, 9.0], &[4.0, 4.0], Unit::Round).unwrap();
        let judged = judge(&question(&rounds, floor(0.01)));
        assert_eq!(judged.interval, None);
        assert!(
            judged
                .verdict
                .to_string()
                .starts_with("inconclusive: too few rounds: 2")
        );
        let capture = single(9.0, 4.0, Unit::Capture).unwrap();
        assert_eq!(
            judge(&question(&capture, floor(0.01))).verdict,
            Verdict::Faster
        );
        assert!(matches!(
            judge(&question(&capture, None)).verdict,
            Verdict::Inconclusive(Reason::TooFew(_))
        ));
        let close = single(9.0, 8.8, Unit::Capture).unwrap();
        assert!(matches!(
            judge(&question(&close, floor(0.05))).verdict,
            Verdict::Inconclusive(Reason::SingleCapture { .. })
        ));
    }

    #[test]
    fn without_a_floor_with_throttling_or_without_a_change_there_is_no_winner() {
        let big = ratio(-0.5, 0.01);
        let verdict = |q: &Question<'_>| judge(q).verdict;
        assert_eq!(
            verdict(&question(&big, None)),
            Verdict::Inconclusive(Reason::NoControl)
        );
        let mut q = question(&big, floor(0.01));
        let reasons = ["hw_slowdown".to_string()];
        q.throttled = &reasons;
        assert!(verdict(&q).to_string().contains("hw_slowdown"));
        q.throttled = &[];
        q.unchanged = true;
        assert!(matches!(
            verdict(&q),
            Verdict::Inconclusive(Reason::UnchangedMoved(_))
        ));
    }

    #[test]
    fn a_difference_that_a_process_can_have_is_not_named() {
        let small = ratio(0.008, 0.004);
        let mut q = question(&small, floor(0.001));
        assert_eq!(judge(&q).verdict, Verdict::Slower);
        q.process_effect = PROCESS_EFFECT;
        assert!(matches!(
            judge(&q).verdict,
            Verdict::Inconclusive(Reason::ProcessEffect(_))
        ));
    }

    #[test]
    fn the_margin_is_the_same_either_way() {
        let verdict = |log| judge(&question(&ratio(log, 0.0), floor(0.0))).verdict;
        assert_eq!(verdict(0.01f64.ln_1p()), Verdict::Equivalent);
        assert_eq!(verdict(-0.01f64.ln_1p()), Verdict::Equivalent);
        assert_eq!(verdict(0.0101f64.ln_1p()), Verdict::Slower);
        assert_eq!(verdict(-0.0101f64.ln_1p()), Verdict::Faster);
    }
}
