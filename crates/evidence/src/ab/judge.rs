//! What follows from a session's times.

use super::{CYCLE, Cache, Session, Times};
use crate::error::Invalid;
use crate::stats::{Floor, LOOK_LEVEL, Ratio, geometric_mean, paired_in_cycles_at, percent};
use crate::verdict::{Judgement, Question, Verdict, judge};
use serde::{Deserialize, Serialize};

/// What may be said of B against A with one state of the cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Which state.
    pub cache: Cache,
    /// Geometric mean over the rounds of A's medians, in microseconds.
    pub a_us: f64,
    /// And of B's.
    pub b_us: f64,
    /// B to A; its interval's coverage is [`LOOK_LEVEL`].
    pub ratio: Ratio,
    /// The largest difference that the session leaves possible between A and itself.
    pub floor: Option<Floor>,
    /// The interval that decides, and the verdict.
    pub judgement: Judgement,
}

/// [`Judged`] as it is stored: changes in percent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// State of the cache.
    pub cache: Cache,
    /// A's time in microseconds.
    pub a_us: f64,
    /// B's time in microseconds.
    pub b_us: f64,
    /// Change from A to B.
    pub change_percent: f64,
    /// The interval of the change that decides; none where there are too few cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_percent: Option<[f64; 2]>,
    /// The noise floor; none where there are too few cycles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_percent: Option<f64>,
    /// The verdict's word: of B.
    pub verdict: String,
    /// Why, where the word needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Row {
    /// What is stored of `judged`.
    pub fn of(judged: &Judged) -> Self {
        let interval = judged.judgement.interval;
        Self {
            cache: judged.cache,
            a_us: judged.a_us,
            b_us: judged.b_us,
            change_percent: percent(judged.ratio.log),
            interval_percent: interval.map(|i| [percent(i.low), percent(i.high)]),
            floor_percent: judged.floor.map(|floor| percent(floor.log)),
            verdict: judged.judgement.verdict.word().into(),
            reason: judged.judgement.verdict.why(),
        }
    }
}

impl Session {
    /// What may be said of B against A. Every session may have been ended at a look, so every interval has the
    /// coverage of one.
    ///
    /// # Errors
    /// [`Invalid`] on times that are no times, or on less than a cycle.
    pub fn judge(&self, cache: Cache, margin: f64, process_effect: f64) -> Result<Judged, Invalid> {
        let times = self.times(cache);
        let unchanged = self.a.name == self.b.name;
        Judged::of(
            cache,
            times,
            &self.throttled(),
            unchanged,
            margin,
            process_effect,
        )
    }

    /// Whether both ratios are known to half of the margin: then more rounds would change no verdict that matters.
    /// It looks at widths alone, never at which arm leads.
    ///
    /// # Errors
    /// As [`Session::judge`].
    pub fn is_narrow(&self, margin: f64) -> Result<bool, Invalid> {
        for cache in Cache::ALL {
            let half = ratio(&self.times(cache).a_us, &self.times(cache).b_us)?.half;
            if half.map_or(true, |half| half > margin.ln_1p() / 2.0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn ratio(a: &[f64], b: &[f64]) -> Result<Ratio, Invalid> {
    paired_in_cycles_at(a, b, CYCLE, LOOK_LEVEL)
}

impl Judged {
    /// Judges times; `unchanged` says that B is A.
    ///
    /// # Errors
    /// As [`Session::judge`].
    pub fn of(
        cache: Cache,
        times: &Times,
        throttled: &[String],
        unchanged: bool,
        margin: f64,
        process_effect: f64,
    ) -> Result<Self, Invalid> {
        let ratio = ratio(&times.a_us, &times.b_us).map_err(|e| e.under(cache.name()))?;
        let floor = Floor::of_identical(&self::ratio(&times.a_us, &times.again_us)?);
        let (a_us, b_us) = (geometric_mean(&times.a_us)?, geometric_mean(&times.b_us)?);
        let judgement = judge(&Question {
            ratio: &ratio,
            floor,
            tick: (times.tick_us / a_us.min(b_us)).ln_1p(),
            throttled,
            unchanged,
            margin,
            process_effect,
        });
        Ok(Self {
            cache,
            a_us,
            b_us,
            ratio,
            floor,
            judgement,
        })
    }

    /// The verdict.
    pub const fn verdict(&self) -> &Verdict {
        &self.judgement.verdict
    }
}
