//! `comparison-ladder.json`: every kernel variant of a namespace's operations, each measured beside the variant that
//! it was made from.
//!
//! All variants of one operation run in one process and one capture, in an order that rotates, so that a ratio of two
//! of them is taken within each capture. One more arm runs the experiment's own variant a second time: what it
//! differs from itself is the [noise floor](crate::stats::Floor) of the operation.

mod judge;
pub mod raw;
mod show;

pub use judge::{Judged, JudgedStep, Times, judge};

use crate::artifact::{Check, Device, SourceTree};
use crate::error::Invalid;
use crate::operation::Operation;
use crate::results::check_major;
use crate::stats;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// File name within a namespace's results.
pub const FILE: &str = "comparison-ladder.json";
/// Schema version that this crate writes.
pub const SCHEMA_VERSION: &str = "1.0";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// `<experiment>-ladder`.
    pub experiment_id: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// GPU name.
    pub gpu: String,
    /// The profiler, in words.
    pub backend: String,
    /// What kernel time is, in words.
    pub timing: String,
    /// Captures an operation; each is a process of its own and holds every variant.
    pub captures: u32,
    /// Measured calls a variant and capture.
    pub iterations: u32,
    /// Calls of a variant before each of its turns.
    pub warmup: u32,
    /// Turns of a variant in a capture; the order rotates by one place a turn.
    pub turns: u32,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Operations in the order of the experiment.
    pub operations: Vec<OperationLadder>,
}

/// Where the numbers come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Result namespace.
    pub namespace: String,
    /// Experiment.
    pub experiment: String,
    /// SHA-256 of its spec.
    pub experiment_sha256: String,
    /// When the first capture started, RFC 3339.
    pub started: String,
    /// When the last one ended, RFC 3339.
    pub finished: String,
    /// The profiler's version line.
    pub profiler: String,
    /// The command line.
    pub command: Vec<String>,
    /// The GPU and its limits.
    pub device: Device,
    /// State of the source tree before anything was written.
    pub tree: SourceTree,
    /// SHA-256 of the program that was profiled.
    pub target_sha256: String,
    /// SHA-256 of the program that wrote the captures.
    pub binary_sha256: String,
    /// SHA-256 of each artifact that this file was made from, by path from the artifact directory.
    pub artifacts_sha256: BTreeMap<String, String>,
}

/// The ladder of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationLadder {
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// The variant that the experiment's `rust` implementation runs.
    pub variant: String,
    /// NVML's reasons for clocks that were held down before or after a capture.
    pub throttled: Vec<String>,
    /// That variant measured a second time; absent where it has no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// Every variant that takes the dims, in the order of the table: a parent stands before what was made from it.
    pub steps: Vec<Step>,
    /// Variants that were not called, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// One variant under a second name: the same code twice in one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// Kernel time of each capture in microseconds.
    pub captures_us: Vec<f64>,
    /// Ratio to the variant's first name, as geometric means over the captures.
    pub ratio: f64,
    /// The noise floor, in percent; absent with fewer captures than an interval takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_percent: Option<f64>,
}

/// What became of a variant, as the table of variants had it when it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Measured and kept.
    Retained,
    /// Measured and not kept.
    Rejected,
    /// Not yet decided.
    Open,
    /// Moves what its parent moves, or multiplies what it multiplies, and nothing else: a limit.
    Twin,
}

impl Status {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Retained => "retained",
            Self::Rejected => "rejected",
            Self::Open => "open",
            Self::Twin => "twin",
        }
    }
}

/// What a variant is: nothing here was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// Its name.
    pub id: String,
    /// The variant that it was made from; absent for the first of an operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The experiment that it was made for.
    pub introduced: String,
    /// What became of it.
    pub status: Status,
    /// What it does, in one sentence.
    pub summary: String,
    /// What changed from its parent, as its source says.
    pub changed: String,
    /// What that was expected to do to which number, as its source says.
    pub expected: String,
    /// File name of its PTX object.
    pub object: String,
    /// SHA-256 of that object.
    pub object_sha256: String,
}

/// One variant and what was measured of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it is.
    pub variant: Described,
    /// The full-output check, the worst over the captures; absent for a twin, and where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Why its check failed; such a variant has no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Kernel time; absent where the check failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_time: Option<KernelTime>,
    /// What its kernel asks for; absent where a call launches several, and where there is no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Against its parent; absent for the first of an operation, and where either has no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_parent: Option<Change>,
    /// Why it was rejected, from the numbers here; absent for every other status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// For a retained kernel, the twins of it or of the nearest variant that it was made from; the one with the
    /// largest share first. Empty where its line has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
}

/// Kernel time of one variant over the captures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelTime {
    /// Mean over all captures, microseconds.
    pub mean_us: f64,
    /// Smallest capture.
    pub min_us: f64,
    /// Largest capture.
    pub max_us: f64,
    /// Kernel launches a call.
    pub launches: u32,
    /// Sum of the durations of a capture over its calls, microseconds, a capture each.
    pub captures_us: Vec<f64>,
}

/// What one kernel asks for, as the profiler has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Blocks.
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Registers a thread.
    pub registers: u32,
    /// Shared memory of a block that the object declares, in bytes.
    pub static_shared_bytes: u32,
    /// Shared memory of a block given at launch, in bytes.
    pub dynamic_shared_bytes: u32,
}

/// The kernel time of a variant over that of its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Ratio of geometric means over the captures; below 1 where the variant takes less time.
    pub ratio: f64,
    /// Lower end of the interval that decides: as wide as the wider of the captures' own and the noise floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// `faster`, `slower`, `equivalent` or `inconclusive`.
    pub verdict: String,
    /// Why, where the verdict needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A twin's kernel time over that of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The twin.
    pub twin: String,
    /// The variant that it is the twin of: the kernel itself, or one that the kernel was made from.
    pub of: String,
    /// Twin's time over the kernel's, as geometric means over the captures; 1 where the kernel takes no longer.
    pub share: f64,
    /// Lower end of the captures' interval; absent with too few captures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// A variant that was not called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Its name.
    pub id: String,
    /// Why.
    pub reason: String,
}

impl Ladder {
    /// Refuses an unknown schema, variants out of order, times without a passed check, and derived numbers that the
    /// captures' times do not give.
    ///
    /// # Errors
    /// [`Invalid`] naming the first field that is wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        check_major(&self.schema_version)?;
        let expected = format!("{}-ladder", self.provenance.experiment);
        if self.experiment_id != expected {
            let found = format!("{:?}", self.experiment_id);
            return Err(Invalid::new(
                "experiment_id",
                found,
                format!("{expected:?}"),
            ));
        }
        for (field, value) in [
            ("captures", self.captures),
            ("iterations", self.iterations),
            ("turns", self.turns),
        ] {
            if value == 0 {
                return Err(Invalid::new(field, 0, "at least 1"));
            }
        }
        if self.operations.is_empty() {
            return Err(Invalid::new("operations", "none", "at least one"));
        }
        let mut seen = BTreeSet::new();
        for (i, operation) in self.operations.iter().enumerate() {
            let place = format!("operations[{i}]");
            if !seen.insert(operation.operation) {
                let found = format!("{} twice", operation.operation);
                return Err(Invalid::new(place, found, "each once"));
            }
            operation
                .check(self.captures)
                .map_err(|e| e.under(&place))?;
        }
        Ok(())
    }

    /// One operation.
    pub fn operation(&self, operation: Operation) -> Option<&OperationLadder> {
        self.operations.iter().find(|o| o.operation == operation)
    }
}

impl OperationLadder {
    fn check(&self, captures: u32) -> Result<(), Invalid> {
        self.operation.check_dims(&self.dims)?;
        if self.steps.is_empty() {
            return Err(Invalid::new("steps", "none", "at least one variant"));
        }
        for (i, step) in self.steps.iter().enumerate() {
            let place = format!("steps[{i}] ({})", step.variant.id);
            step.check(captures, self.operation.output_elements(&self.dims) as u64)
                .map_err(|e| e.under(&place))?;
            self.in_order(i).map_err(|e| e.under(&place))?;
        }
        if self.step(&self.variant).is_none() && !self.left_out.iter().any(|l| l.id == self.variant)
        {
            let found = format!("{:?}", self.variant);
            return Err(Invalid::new("variant", found, "one of the steps"));
        }
        let judged = judge(&self.times(), self.again_us(), &self.throttled)?;
        same(
            "again",
            &self.again.as_ref().map(|a| (a.ratio, a.floor_percent)),
            &judged.again.as_ref().map(|a| (a.ratio, a.floor_percent)),
        )?;
        for ((i, step), expected) in self.steps.iter().enumerate().zip(&judged.steps) {
            let place = format!("steps[{i}] ({})", step.variant.id);
            same("to_parent", &step.to_parent, &expected.to_parent).map_err(|e| e.under(&place))?;
            same("limits", &step.limits, &expected.limits).map_err(|e| e.under(&place))?;
            same("cause", &step.cause, &expected.cause).map_err(|e| e.under(&place))?;
        }
        Ok(())
    }

    fn in_order(&self, i: usize) -> Result<(), Invalid> {
        let (before, step) = (&self.steps[..i], &self.steps[i].variant);
        if before.iter().any(|other| other.variant.id == step.id) {
            return Err(Invalid::new("variant.id", "one twice", "each once"));
        }
        let known = |id: &String| {
            before.iter().any(|other| other.variant.id == *id)
                || self.left_out.iter().any(|other| other.id == *id)
        };
        match &step.parent {
            Some(parent) if !known(parent) => Err(Invalid::new(
                "variant.parent",
                format!("{parent:?}"),
                "a variant that stands before it",
            )),
            _ => Ok(()),
        }
    }

    /// One variant.
    pub fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.variant.id == id)
    }

    /// What the verdicts are taken from: each variant with its time of each capture.
    fn times(&self) -> Vec<Times<'_>> {
        self.steps.iter().map(Step::times).collect()
    }

    /// The second arm of the experiment's variant: its times, and that variant's name.
    fn again_us(&self) -> Option<(&str, &[f64])> {
        let again = self.again.as_ref()?;
        Some((&self.variant, &again.captures_us))
    }
}

impl Step {
    /// What a verdict on it is taken from.
    pub fn times(&self) -> Times<'_> {
        Times {
            variant: &self.variant,
            failed: self.failed.as_deref(),
            captures_us: self.kernel_time.as_ref().map(|time| &time.captures_us[..]),
        }
    }

    fn check(&self, captures: u32, elements: u64) -> Result<(), Invalid> {
        let twin = self.variant.status == Status::Twin;
        let (checked, failed) = (self.check.is_some(), self.failed.is_some());
        if twin && (checked || failed) {
            return Err(Invalid::new(
                "check",
                "one of a twin",
                "none: it computes nothing",
            ));
        }
        if !twin && checked == failed {
            let found = if checked {
                "both a passed and a failed check"
            } else {
                "no check"
            };
            return Err(Invalid::new(
                "check",
                found,
                "one that passed, or why it failed",
            ));
        }
        if self.kernel_time.is_some() == failed {
            let found = if failed { "a time" } else { "none" };
            return Err(Invalid::new(
                "kernel_time",
                found,
                "a time where no check failed, and only there",
            ));
        }
        if let Some(check) = &self.check {
            if check.checked_elements != elements {
                let whole = format!("{elements}, the whole output");
                return Err(Invalid::new(
                    "check.checked_elements",
                    check.checked_elements,
                    whole,
                ));
            }
            check.fp64.check().map_err(|e| e.under("check.fp64"))?;
        }
        if self.cause.is_some() != (self.variant.status == Status::Rejected) {
            return Err(Invalid::new(
                "cause",
                format!("{:?}", self.cause),
                "one for a rejected variant alone",
            ));
        }
        match &self.kernel_time {
            Some(time) => time.check(captures).map_err(|e| e.under("kernel_time")),
            None => Ok(()),
        }
    }
}

impl KernelTime {
    /// From the time of each capture.
    ///
    /// # Errors
    /// [`Invalid`] on no captures, or on what is no time.
    pub fn of(captures_us: Vec<f64>, launches: u32) -> Result<Self, Invalid> {
        let (min_us, max_us) = stats::range(&captures_us)?;
        Ok(Self {
            mean_us: stats::mean(&captures_us)?,
            min_us,
            max_us,
            launches,
            captures_us,
        })
    }

    fn check(&self, captures: u32) -> Result<(), Invalid> {
        if self.captures_us.len() != captures as usize {
            return Err(Invalid::new(
                "captures_us",
                self.captures_us.len(),
                captures.to_string(),
            ));
        }
        if let Some(i) = self
            .captures_us
            .iter()
            .position(|t| !(t.is_finite() && *t > 0.0))
        {
            let field = format!("captures_us[{i}]");
            return Err(Invalid::new(
                field,
                self.captures_us[i],
                "a finite time above 0",
            ));
        }
        if self.launches == 0 {
            return Err(Invalid::new("launches", 0, "at least 1"));
        }
        same(
            "",
            self,
            &Self::of(self.captures_us.clone(), self.launches)?,
        )
    }
}

/// Refuses a derived value that is not what its sources give.
fn same<T: PartialEq + std::fmt::Debug>(
    field: &str,
    found: &T,
    expected: &T,
) -> Result<(), Invalid> {
    if found == expected {
        return Ok(());
    }
    let expected = format!("{expected:?}, computed from the captures' times");
    Err(Invalid::new(field, format!("{found:?}"), expected))
}
