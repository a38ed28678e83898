//! Two variants or implementations of one operation in one session: what was measured, and what follows.
//!
//! Three arms take turns: A, A again (a second handle of the same code, for the noise floor) and B. Every cycle of
//! [`ORDERS`] gives each arm each place in a round twice, and every order with its mirror image, so that places and a
//! steady drift cancel; the cycle is the unit. A turn is a few calls that are not timed, which replace what the arm
//! before left behind, then calls with a warm cache, then calls with a cold one; each is reduced to its median.

mod judge;
mod show;

pub use judge::{Judged, Row};

use crate::artifact::{Build, Check, Device, GpuState, Host, Python, check_schema};
use crate::choice::Choice;
use crate::error::Invalid;
use crate::operation::Operation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Schema of [`Comparison`].
pub const SCHEMA: &str = "mage.ab/1";

/// Number of arms.
pub const ARMS: usize = 3;

/// The order of the arms (0: A, 1: A again, 2: B) in each round of a cycle: all six, each followed by its mirror
/// image.
pub const ORDERS: [[usize; ARMS]; 6] = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
    [0, 2, 1],
    [2, 0, 1],
    [1, 0, 2],
];

/// Rounds of a cycle.
pub const CYCLE: usize = ORDERS.len();

/// What the L2 cache holds when a call starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// What the call before left there.
    Hot,
    /// Nothing of the operation: other memory, larger than the cache, was written in between.
    Cold,
}

impl Cache {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Hot, Self::Cold];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Cold => "cold",
        }
    }
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What an arm does in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// Calls that are not timed.
    pub warmup: u32,
    /// Calls timed with a warm cache.
    pub hot: u32,
    /// Calls timed with a cold cache, after those.
    pub cold: u32,
    /// Bytes written before each of them.
    pub flush_bytes: u64,
}

/// Event spans of the three arms with one state of the cache: the median of each turn in microseconds, one a round,
/// whole cycles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// A.
    pub a_us: Vec<f64>,
    /// A again.
    pub again_us: Vec<f64>,
    /// B.
    pub b_us: Vec<f64>,
    /// Step of the clock, as the single spans show it.
    pub tick_us: f64,
}

impl Times {
    /// The arms, as [`ORDERS`] numbers them.
    pub const fn arms(&self) -> [&Vec<f64>; ARMS] {
        [&self.a_us, &self.again_us, &self.b_us]
    }
}

/// What one session measured of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// SHA-256 of each input file's bytes.
    pub input_sha256: BTreeMap<String, String>,
    /// What runs under A.
    pub a: Arm,
    /// What runs under B.
    pub b: Arm,
    /// What an arm does in its turn.
    pub turn: Turn,
    /// With a warm cache.
    pub hot: Times,
    /// With a cold cache.
    pub cold: Times,
    /// The GPU before the first round, at each look, and after the last round.
    pub gpu_states: Vec<GpuState>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// The variant or implementation, as asked for.
    pub name: String,
    /// The kernel variant that ran, for `rust`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// What it chose before anything was timed, where there is something to choose; A again runs the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// The full-output check before the first round, and after the last of each handle, of which this is the one
    /// with the larger error.
    pub check: Check,
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// Both intervals were narrow enough at a planned look.
    Narrow,
    /// Its time was up.
    Time,
    /// All cycles that were planned were measured.
    Planned,
}

/// A comparison as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// What follows from [`Comparison::session`]; checked against it when it is read.
    pub results: Vec<Row>,
    /// Largest difference of no interest, as a part of 1.
    pub margin: f64,
    /// Largest difference that one process can have by itself, as a part of 1.
    pub process_effect: f64,
    /// The time that it was given, in seconds.
    pub budget_s: f64,
    /// The time that its rounds took, in seconds.
    pub took_s: f64,
    /// Why it ended.
    pub ended: Ended,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// What was measured.
    pub session: Session,
    /// The machine.
    pub host: Host,
    /// The GPU.
    pub device: Device,
    /// The Python environment, where an arm needed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<Python>,
    /// What was built, from what.
    pub build: Build,
}

impl Session {
    /// Times with this state of the cache.
    pub const fn times(&self, cache: Cache) -> &Times {
        match cache {
            Cache::Hot => &self.hot,
            Cache::Cold => &self.cold,
        }
    }

    /// Whole cycles that were measured.
    pub fn cycles(&self) -> usize {
        self.hot.a_us.len() / CYCLE
    }

    /// Reasons for clocks that were held down, at any time.
    pub fn throttled(&self) -> Vec<String> {
        let mut reasons: Vec<String> = self
            .gpu_states
            .iter()
            .flat_map(GpuState::throttling)
            .collect();
        reasons.sort();
        reasons.dedup();
        reasons
    }

    /// Refuses what a session cannot have left.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        self.operation.check_dims(&self.dims)?;
        let rounds = self.hot.a_us.len();
        if !rounds.is_multiple_of(CYCLE) {
            let expected = format!("whole cycles of {CYCLE} rounds");
            return Err(Invalid::new("hot.a_us", rounds, expected));
        }
        let elements = self.operation.output_elements(&self.dims) as u64;
        for (name, arm) in [("a", &self.a), ("b", &self.b)] {
            if arm.check.checked_elements != elements {
                return Err(Invalid::new(
                    format!("{name}.check.checked_elements"),
                    arm.check.checked_elements,
                    format!("{elements}, the whole output"),
                ));
            }
            arm.check
                .fp64
                .check()
                .map_err(|e| e.under(&format!("{name}.check.fp64")))?;
            if let Some(choice) = &arm.choice {
                let under = format!("{name}.choice");
                choice.check().map_err(|e| e.under(&under))?;
            }
        }
        for cache in Cache::ALL {
            let times = self.times(cache);
            for (arm, name) in times.arms().into_iter().zip(["a_us", "again_us", "b_us"]) {
                let field = format!("{cache}.{name}");
                if arm.len() != rounds {
                    return Err(Invalid::new(field, arm.len(), format!("{rounds} rounds")));
                }
                if let Some(i) = arm.iter().position(|t| !(t.is_finite() && *t > 0.0)) {
                    let field = format!("{field}[{i}]");
                    return Err(Invalid::new(field, arm[i], "a finite time above 0"));
                }
            }
            if !(times.tick_us.is_finite() && times.tick_us > 0.0) {
                let field = format!("{cache}.tick_us");
                return Err(Invalid::new(field, times.tick_us, "a finite step above 0"));
            }
        }
        Ok(())
    }
}

impl Comparison {
    /// Refuses another schema, a session that cannot be, and results that do not follow from it.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, SCHEMA)?;
        self.session.check().map_err(|e| e.under("session"))?;
        for (i, (found, judged)) in self.results.iter().zip(self.judged()?).enumerate() {
            let expected = Row::of(&judged);
            if *found != expected {
                return Err(Invalid::new(
                    format!("results[{i}]"),
                    format!("{found:?}"),
                    format!("{expected:?}, as the session's times give it"),
                ));
            }
        }
        if self.results.len() != Cache::ALL.len() {
            return Err(Invalid::new(
                "results",
                self.results.len(),
                "one hot, one cold",
            ));
        }
        Ok(())
    }

    /// What may be said, hot and cold.
    ///
    /// # Errors
    /// [`Invalid`] on times that are no times.
    pub fn judged(&self) -> Result<[Judged; 2], Invalid> {
        let judge = |cache| self.session.judge(cache, self.margin, self.process_effect);
        Ok([judge(Cache::Hot)?, judge(Cache::Cold)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_has_every_place_and_every_order_its_mirror_image() {
        for arm in 0..ARMS {
            for place in 0..ARMS {
                let there = ORDERS.iter().filter(|order| order[place] == arm).count();
                assert_eq!(there, 2, "arm {arm} in place {place}");
            }
        }
        for pair in ORDERS.chunks(2) {
            let mirrored: Vec<usize> = pair[0].iter().rev().copied().collect();
            assert_eq!(pair[1].as_slice(), mirrored);
        }
    }

    /// By hand: a time that grows by 1 a turn gives each arm the same sum over a cycle.
    #[test]
    fn a_steady_drift_cancels_over_a_cycle() {
        let mut sums = [0; ARMS];
        for (turn, arm) in ORDERS.iter().flatten().enumerate() {
            sums[*arm] += turn;
        }
        assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    }
}
