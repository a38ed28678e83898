//! What a ladder run leaves, `artifacts/<ns>-ladder/`: `ladder.json` and `captures/<operation>-<index>.json`. Nothing
//! here is derived.

use super::{Described, LeftOut, Status};
use crate::artifact::{Build, Check, Device, GpuState, check_schema};
use crate::error::Invalid;
use crate::experiment::Tolerance;
use crate::hash;
use crate::kernel;
use crate::operation::Operation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Schema of [`Run`].
pub const RUN_SCHEMA: &str = "mage.ladder/1";
/// Schema of [`Capture`].
pub const CAPTURE_SCHEMA: &str = "mage.ladder-capture/1";
/// What a variant's second arm has after its name.
pub const AGAIN: &str = ".again";

/// Everything that holds for all captures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// Where the evidence goes.
    pub namespace: String,
    /// Which experiment.
    pub experiment: String,
    /// SHA-256 of its spec.
    pub experiment_sha256: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// End, RFC 3339, UTC.
    pub finished: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Captures an operation.
    pub captures: u32,
    /// Measured calls a variant and capture.
    pub iterations: u32,
    /// Calls of a variant before each of its turns.
    pub warmup: u32,
    /// Operations in the order of the experiment.
    pub operations: Vec<Operation>,
    /// The profiler, `NVIDIA Nsight Systems version 2025.3.1...`.
    pub profiler: String,
    /// What was built, from what (the profiler program's own).
    pub build: Build,
    /// SHA-256 of the program that was profiled.
    pub target_sha256: String,
}

/// The line that the profiled program ends with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// One for each operation, in the order in which they were called.
    pub answers: Vec<Answer>,
}

/// What the profiled program says of one operation: everything but the kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// The variant that the experiment's `rust` implementation runs.
    pub variant: String,
    /// Bound of the checks.
    pub tolerance: Tolerance,
    /// SHA-256 of each input file; read back from the device after the last call, they were the same.
    pub input_sha256: BTreeMap<String, String>,
    /// Arms in the order of the first turn: names of variants, and one of them with [`AGAIN`].
    pub order: Vec<String>,
    /// Turns of an arm.
    pub turns: u32,
    /// The GPU.
    pub device: Device,
    /// GPU state before the first call.
    pub gpu_state_before: GpuState,
    /// GPU state after the last.
    pub gpu_state_after: GpuState,
    /// Variants that take the dims, in the order of the table.
    pub steps: Vec<Called>,
    /// Variants that were not called, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// A variant and the check of its whole output in the process that measured it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Called {
    /// What it is.
    pub variant: Described,
    /// The check that it passed; absent for a twin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Why it did not pass; it is not timed then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// One operation in one capture, which holds all of them one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// [`CAPTURE_SCHEMA`].
    pub schema: String,
    /// Counted from 1.
    pub index: u32,
    /// Measured calls an arm.
    pub iterations: u32,
    /// Calls of an arm before each of its turns; they are in no arm's launches.
    pub warmup: u32,
    /// Profiler and target command lines, with paths outside the tree reduced to their last part.
    pub commands: Vec<Vec<String>>,
    /// What the profiler or the checks remarked without refusing the capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the program said.
    pub answer: Answer,
    /// Launches of each arm that was timed, by its name.
    pub arms: BTreeMap<String, Vec<Launch>>,
}

/// One launch of a call, in every call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Name of the kernel.
    pub name: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads a block in x, y, z.
    pub block: [u32; 3],
    /// Registers a thread.
    pub registers: u32,
    /// Shared memory of a block that the object declares, in bytes.
    pub static_shared_bytes: u32,
    /// Shared memory of a block given at launch, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Duration in each measured call, in nanoseconds, in the order of the calls.
    pub durations_ns: Vec<u64>,
}

impl Run {
    /// Refuses an unknown schema and numbers out of range.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, RUN_SCHEMA)?;
        for (field, value) in [("captures", self.captures), ("iterations", self.iterations)] {
            if value == 0 {
                return Err(Invalid::new(field, 0, "at least 1"));
            }
        }
        match self.operations.is_empty() {
            true => Err(Invalid::new("operations", "none", "at least one")),
            false => Ok(()),
        }
    }
}

impl Answer {
    /// The names of the arms that are timed: every variant without a failed check, and the experiment's own again.
    pub fn arms(&self) -> Vec<String> {
        let timed = self.steps.iter().filter(|step| step.failed.is_none());
        let mut arms: Vec<String> = timed.map(|step| step.variant.id.clone()).collect();
        if arms.contains(&self.variant) {
            arms.push(format!("{}{AGAIN}", self.variant));
        }
        arms
    }

    /// Refuses what the program cannot have seen: an order of other arms, a twin that was checked, a variant with
    /// neither a passed nor a failed check, a check of part of the output.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        self.operation.check_dims(&self.dims)?;
        let elements = self.operation.output_elements(&self.dims) as u64;
        for (i, step) in self.steps.iter().enumerate() {
            let place = |field: &str| format!("steps[{i}] ({}).{field}", step.variant.id);
            if !hash::is_sha256(&step.variant.object_sha256) {
                let found = format!("{:?}", step.variant.object_sha256);
                return Err(Invalid::new(place("object_sha256"), found, "a SHA-256"));
            }
            let expected = match step.variant.status {
                Status::Twin => (false, false),
                _ => (step.failed.is_none(), step.failed.is_some()),
            };
            if (step.check.is_some(), step.failed.is_some()) != expected {
                let found = format!("{:?} and {:?}", step.check, step.failed);
                let expected = "a check that passed or why it failed, and neither for a twin";
                return Err(Invalid::new(place("check"), found, expected));
            }
            if let Some(check) = &step.check {
                check
                    .fp64
                    .check()
                    .map_err(|e| e.under(&place("check.fp64")))?;
                if check.checked_elements != elements {
                    let whole = format!("{elements}, the whole output");
                    let field = place("check.checked_elements");
                    return Err(Invalid::new(field, check.checked_elements, whole));
                }
            }
        }
        let arms = self.arms();
        let (named, known): (BTreeSet<_>, BTreeSet<_>) =
            (self.order.iter().collect(), arms.iter().collect());
        if named != known || self.order.len() != arms.len() {
            let found = format!("{:?}", self.order);
            return Err(Invalid::new(
                "order",
                found,
                format!("{arms:?} in some order"),
            ));
        }
        match self.turns {
            0 => Err(Invalid::new("turns", 0, "at least 1")),
            _ => Ok(()),
        }
    }
}

impl Capture {
    /// Refuses what a capture cannot be: arms that were not called, calls that are missing, kernels of another name
    /// than the variant's.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, CAPTURE_SCHEMA)?;
        self.answer.check().map_err(|e| e.under("answer"))?;
        let (found, expected): (BTreeSet<&String>, BTreeSet<&String>) = (
            self.arms.keys().collect(),
            self.answer.order.iter().collect(),
        );
        if found != expected {
            return Err(Invalid::new(
                "arms",
                format!("{found:?}"),
                format!("{expected:?}, as called"),
            ));
        }
        for (arm, launches) in &self.arms {
            let place = |field: String| format!("arms.{arm}{field}");
            if launches.is_empty() {
                return Err(Invalid::new(
                    place(String::new()),
                    "no launches",
                    "at least one",
                ));
            }
            let variant = arm.strip_suffix(AGAIN).unwrap_or(arm);
            let names = launches.iter().map(|launch| launch.name.as_str());
            kernel::check(names, variant, &place(String::new()), "name")?;
            for (i, launch) in launches.iter().enumerate() {
                let calls = launch.durations_ns.len();
                if calls != self.iterations as usize {
                    let field = place(format!("[{i}].durations_ns"));
                    return Err(Invalid::new(
                        field,
                        calls,
                        format!("{}, one a call", self.iterations),
                    ));
                }
                if launch.durations_ns.contains(&0) {
                    let field = place(format!("[{i}].durations_ns"));
                    return Err(Invalid::new(field, 0, "above 0"));
                }
            }
        }
        Ok(())
    }

    /// Refuses a capture that was not taken as `run` says.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check_in(&self, run: &Run) -> Result<(), Invalid> {
        self.check()?;
        for (field, found, expected) in [
            ("iterations", self.iterations, run.iterations),
            ("warmup", self.warmup, run.warmup),
        ] {
            if found != expected {
                return Err(Invalid::new(field, found, expected.to_string()));
            }
        }
        Ok(())
    }

    /// Kernel time of an arm in microseconds: the sum of all durations over the calls.
    pub fn kernel_time_us(&self, arm: &str) -> Option<f64> {
        let durations = self
            .arms
            .get(arm)?
            .iter()
            .flat_map(|launch| &launch.durations_ns);
        // Durations of one capture: far below 2^64 ns together.
        let total: u64 = durations.fold(0, |sum, ns| sum.saturating_add(*ns));
        Some(total as f64 / 1000.0 / f64::from(self.iterations))
    }
}
