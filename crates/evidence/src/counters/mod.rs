//! `comparison-counters.json`: hardware counters of every case of one namespace, what the device was measured to
//! reach, and what follows from both: arithmetic intensity, roofline position and what bounds the case.
//!
//! A counter that could not be read is [`Reading::Absent`], with the reason; 0 is always a zero that was counted.
//! What is derived is stored too, so that a reader needs this file alone, and [`Counters::check`] derives it again.
//! Durations here are of kernels that run under Nsight Compute, each alone and several times over. They relate the
//! counters of one launch to each other and are no kernel times.

pub mod artifact;
mod bound;
mod derive;
pub mod metrics;
mod show;

pub use bound::{BOUND_SHARE, Bound, BoundBy, Levels};
pub use derive::{bound_of, derive, kernel_bound, limits, position, totals};

use crate::artifact::{Device, SourceTree};
use crate::error::Invalid;
use crate::kernel;
use crate::operation::Operation;
use crate::results::check_major;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// File name within a namespace's results.
pub const FILE: &str = "comparison-counters.json";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// `<experiment>-comparison`.
    pub experiment_id: String,
    /// Schema version, as of the other evidence.
    pub schema_version: String,
    /// The profiler, in words.
    pub backend: String,
    /// What a duration is, in words.
    pub timing: String,
    /// The state of caches and clocks under which counters were read, in words.
    pub conditions: String,
    /// Where the numbers come from.
    pub provenance: Provenance,
    /// The GPU that they were read on.
    pub device: Device,
    /// What the device can do.
    pub limits: Limits,
    /// One entry an operation and implementation.
    pub cases: Vec<Case>,
}

/// Where the numbers come from. The session is its own: neither the run nor the captures of the namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Result namespace.
    pub namespace: String,
    /// Experiment.
    pub experiment: String,
    /// SHA-256 of its spec.
    pub experiment_sha256: String,
    /// When the first launch was read, RFC 3339.
    pub started: String,
    /// When the last one was, RFC 3339.
    pub finished: String,
    /// Version line of Nsight Compute.
    pub profiler: String,
    /// The command line.
    pub command: Vec<String>,
    /// Calls before the one that was read.
    pub warmup: u32,
    /// Cases whose kernels were not held against captures, for want of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproved: Vec<String>,
    /// State of the source tree.
    pub tree: SourceTree,
    /// SHA-256 of the program that launched the kernels.
    pub target_sha256: String,
    /// SHA-256 of the program that wrote the counters.
    pub binary_sha256: String,
    /// SHA-256 of each PTX object of the target.
    pub objects_sha256: BTreeMap<String, String>,
    /// SHA-256 of each artifact that this file was made from, by path from the artifact directory.
    pub artifacts_sha256: BTreeMap<String, String>,
}

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reading {
    /// The number.
    Value(f64),
    /// None.
    Absent {
        /// Why.
        absent: String,
    },
}

impl Reading {
    /// No number, for this reason.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self::Absent {
            absent: reason.into(),
        }
    }

    /// The number, where there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Absent { .. } => None,
        }
    }

    /// The number of a function of this one.
    #[must_use]
    pub fn map(&self, f: impl FnOnce(f64) -> f64) -> Self {
        match self {
            Self::Value(value) => Self::Value(f(*value)),
            Self::Absent { .. } => self.clone(),
        }
    }

    /// The number of a function of both; the first reason where one is absent.
    #[must_use]
    pub fn with(&self, other: &Self, f: impl FnOnce(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => Self::Value(f(*a, *b)),
            (Self::Value(_), absent) | (absent, _) => absent.clone(),
        }
    }

    /// `self / other`; absent, saying what is zero, where `other` is zero.
    #[must_use]
    pub fn over(&self, other: &Self, what: &str) -> Self {
        match (self, other) {
            (Self::Value(_), Self::Value(0.0)) => Self::absent(format!("no {what}")),
            _ => self.with(other, |a, b| a / b),
        }
    }
}

/// What the device can do: measured by this project's own kernels in the same session, and by its attributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The largest rates that the probes reached.
    pub measured: Rates,
    /// From clocks, widths and counts; absent where no attribute gives it.
    pub theoretical: Rates,
    /// The kernels that were run to measure, each with its counters.
    pub probes: Vec<Probe>,
}

/// Rates of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// DRAM bytes a second, read and written together.
    pub dram_bytes_per_s: Reading,
    /// Bytes a second through L2, read and written together.
    pub l2_bytes_per_s: Reading,
    /// FP32 operations a second; a fused multiply-add is two.
    pub fp32_operations_per_s: Reading,
}

/// One launch that was made to measure a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Which limit.
    pub limit: Limit,
    /// Kernel variant.
    pub variant: String,
    /// Dims that it was launched for.
    pub dims: Vec<u32>,
    /// Duration in microseconds.
    pub duration_us: f64,
    /// DRAM bytes, read and written.
    pub dram_bytes: Reading,
    /// Bytes through L2.
    pub l2_bytes: Reading,
    /// FP32 operations.
    pub fp32_operations: Reading,
    /// The rate that it reached of its limit: bytes or operations a second. Derived.
    pub rate: Reading,
}

/// A limit that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// A copy of several times what L2 holds.
    Dram,
    /// A copy that stays in L2.
    L2,
    /// Fused multiply-adds on registers.
    Fp32,
}

/// One operation in one implementation: one call, after warm-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// Which implementation.
    pub implementation: String,
    /// Kernel variant that ran, for `rust`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Artifact that holds its counters, relative to the artifact directory.
    pub report: String,
    /// The kernels of the call, in the order in which they ran.
    pub kernels: Vec<Kernel>,
    /// The call: counts added up, percentages and shares weighted by duration. Derived.
    pub totals: Totals,
    /// Where the call stands against the measured limits. Derived.
    pub position: Position,
    /// What bounds the call: what bounds most of its duration. Derived.
    pub bound: Bound,
}

/// One kernel of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Name.
    pub kernel_name: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads a block in x, y, z.
    pub block: [u32; 3],
    /// Registers a thread.
    pub registers_per_thread: Reading,
    /// Shared memory a block in bytes, static and dynamic.
    pub shared_mem_bytes: Reading,
    /// Duration under Nsight Compute in microseconds.
    pub duration_us: f64,
    /// Bytes moved.
    pub memory: Memory,
    /// What was executed.
    pub instructions: Instructions,
    /// How busy each part of the device was, in percent of its peak over the duration.
    pub busy_percent: Busy,
    /// Share of sectors found in each cache, in percent.
    pub hits: Hits,
    /// Warps in flight.
    pub occupancy: Occupancy,
    /// Why warps did not issue: each reason's share of all warp time between issues, 0 to 1. The shares that were
    /// read add up to 1.
    pub stall_shares: BTreeMap<String, Reading>,
    /// Where the kernel stands against the measured limits. Derived.
    pub position: Position,
    /// What bounds it. Derived.
    pub bound: Bound,
}

/// Bytes moved, and what shared memory cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Bytes read from DRAM.
    pub dram_read_bytes: Reading,
    /// Bytes written to DRAM.
    pub dram_write_bytes: Reading,
    /// Bytes through L2, read and written.
    pub l2_bytes: Reading,
    /// Wavefronts of shared-memory loads on top of those that their width needs.
    pub shared_load_conflicts: Reading,
    /// The same of stores.
    pub shared_store_conflicts: Reading,
}

/// What was executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// Warp instructions of every kind.
    pub warp_instructions: Reading,
    /// FP32 fused multiply-adds of threads.
    pub ffma: Reading,
    /// FP32 additions of threads.
    pub fadd: Reading,
    /// FP32 multiplications of threads.
    pub fmul: Reading,
    /// Operations of the tensor cores in every precision that was counted; a multiply-add is two.
    pub tensor_operations: Reading,
}

/// How busy each part of the device was, in percent of its peak over the whole duration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Busy {
    /// DRAM.
    pub dram: Reading,
    /// L2.
    pub l2: Reading,
    /// The data stage of L1, which serves global and shared memory.
    pub l1: Reading,
    /// The part of it that shared memory took.
    pub shared: Reading,
    /// FP32 pipe.
    pub fp32: Reading,
    /// Tensor pipe.
    pub tensor: Reading,
    /// Issue slots.
    pub issue: Reading,
}

/// Hit rates in percent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hits {
    /// L1.
    pub l1_percent: Reading,
    /// L2.
    pub l2_percent: Reading,
}

/// Warps in flight on a multiprocessor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Occupancy {
    /// Mean of warps in flight, in percent of what a multiprocessor holds.
    pub achieved_percent: Reading,
    /// What registers, shared memory and block size allow, in percent.
    pub theoretical_percent: Reading,
    /// How often the grid fills the device; below 1 it does not fill it once.
    pub waves: Reading,
    /// Blocks that a multiprocessor could hold by each resource.
    pub blocks_by: BTreeMap<String, Reading>,
    /// The resources that allow fewest blocks. Derived.
    pub limited_by: Vec<String>,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Sum of the durations, in microseconds.
    pub duration_us: f64,
    /// Bytes moved.
    pub memory: Memory,
    /// What was executed.
    pub instructions: Instructions,
    /// Percent of peak, weighted by duration.
    pub busy_percent: Busy,
    /// Hit rates, weighted by duration.
    pub hits: Hits,
    /// Achieved occupancy in percent, weighted by duration.
    pub achieved_occupancy_percent: Reading,
    /// Theoretical occupancy in percent, weighted by duration.
    pub theoretical_occupancy_percent: Reading,
    /// Stall reasons, weighted by duration.
    pub stall_shares: BTreeMap<String, Reading>,
}

/// Where something stands on the roofline: everything that drawing it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// FP32 operations: two for each fused multiply-add, one for each addition and multiplication.
    pub fp32_operations: Reading,
    /// Bytes read from and written to DRAM.
    pub dram_bytes: Reading,
    /// FP32 operations a DRAM byte.
    pub dram_intensity: Reading,
    /// FP32 operations a byte through L2.
    pub l2_intensity: Reading,
    /// FP32 operations a second.
    pub fp32_operations_per_s: Reading,
    /// DRAM bytes a second.
    pub dram_bytes_per_s: Reading,
    /// Bytes a second through L2.
    pub l2_bytes_per_s: Reading,
    /// Share of the measured FP32 limit.
    pub fp32_share: Reading,
    /// Share of the measured DRAM limit.
    pub dram_share: Reading,
    /// Share of the measured L2 limit.
    pub l2_share: Reading,
    /// FP32 operations a second that the measured limits of DRAM and arithmetic allow at this intensity.
    pub roof_operations_per_s: Reading,
}

impl Counters {
    /// Checks schema, ranges and that every derived number follows from the others.
    ///
    /// # Errors
    /// [`Invalid`] naming the first field that is wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        check_major(&self.schema_version)?;
        if self.cases.is_empty() {
            return Err(Invalid::new("cases", "none", "at least one"));
        }
        for (i, probe) in self.limits.probes.iter().enumerate() {
            time(probe.duration_us)
                .map_err(|e| e.under(&format!("limits.probes[{i}].duration_us")))?;
        }
        let mut seen = BTreeSet::new();
        for (i, case) in self.cases.iter().enumerate() {
            let under = |e: Invalid| e.under(&format!("cases[{i}]"));
            if !seen.insert((case.operation, &case.implementation)) {
                let found = format!("{} {} twice", case.operation, case.implementation);
                return Err(under(Invalid::new("implementation", found, "each once")));
            }
            case.check().map_err(under)?;
        }
        let (Ok(found), Ok(expected)) = (
            serde_json::to_value(self),
            serde_json::to_value(derive(self.clone())),
        ) else {
            return Err(Invalid::new("", "a value that JSON cannot hold", "numbers"));
        };
        numbers(&found, "")?;
        same(&found, &expected, "")
    }

    /// One case.
    pub fn case(&self, operation: Operation, implementation: &str) -> Option<&Case> {
        self.cases
            .iter()
            .find(|case| case.operation == operation && case.implementation == implementation)
    }
}

impl Case {
    fn check(&self) -> Result<(), Invalid> {
        self.operation.check_dims(&self.dims)?;
        if self.kernels.is_empty() {
            return Err(Invalid::new("kernels", "none", "at least one"));
        }
        for (i, kernel) in self.kernels.iter().enumerate() {
            kernel
                .check()
                .map_err(|e| e.under(&format!("kernels[{i}]")))?;
        }
        let names = self
            .kernels
            .iter()
            .map(|kernel| kernel.kernel_name.as_str());
        match &self.variant {
            Some(variant) => kernel::check(names, variant, "kernels", "kernel_name"),
            None => Ok(()),
        }
    }
}

impl Kernel {
    fn check(&self) -> Result<(), Invalid> {
        time(self.duration_us).map_err(|e| e.under("duration_us"))?;
        let shares: Vec<f64> = self
            .stall_shares
            .values()
            .filter_map(Reading::value)
            .collect();
        let sum: f64 = shares.iter().sum();
        if !shares.is_empty() && (sum - 1.0).abs() > 1e-6 {
            return Err(Invalid::new("stall_shares", sum, "shares that add up to 1"));
        }
        let Busy {
            dram,
            l2,
            l1,
            shared,
            fp32,
            tensor,
            issue,
        } = &self.busy_percent;
        let Occupancy {
            achieved_percent,
            theoretical_percent,
            ..
        } = &self.occupancy;
        for (field, reading) in [
            ("busy_percent.dram", dram),
            ("busy_percent.l2", l2),
            ("busy_percent.l1", l1),
            ("busy_percent.shared", shared),
            ("busy_percent.fp32", fp32),
            ("busy_percent.tensor", tensor),
            ("busy_percent.issue", issue),
            ("hits.l1_percent", &self.hits.l1_percent),
            ("hits.l2_percent", &self.hits.l2_percent),
            ("occupancy.achieved_percent", achieved_percent),
            ("occupancy.theoretical_percent", theoretical_percent),
        ] {
            // Counters of several passes can disagree by a little.
            if let Some(value) = reading.value().filter(|value| *value > MAX_PERCENT) {
                return Err(Invalid::new(field, value, "a percentage of a peak"));
            }
        }
        Ok(())
    }
}

/// The largest percentage that is believed. Parts of one come from different passes over the same launch: an H200's hit
/// rate of L2 comes out as up to 125% where nearly everything hits.
pub const MAX_PERCENT: f64 = 150.0;

fn time(us: f64) -> Result<(), Invalid> {
    if us.is_finite() && us > 0.0 {
        return Ok(());
    }
    Err(Invalid::new("", us, "a finite time above 0"))
}

/// Refuses negative and missing numbers, and absent readings without a reason.
fn numbers(value: &Value, path: &str) -> Result<(), Invalid> {
    match value {
        Value::Null => Err(Invalid::new(path, "no number", "a finite number")),
        Value::Number(number) if number.as_f64().is_none_or(|n| n < 0.0) => {
            Err(Invalid::new(path, number, "a number, at least 0"))
        }
        Value::Object(fields) => {
            if let Some(Value::String(reason)) = fields.get("absent")
                && reason.trim().is_empty()
            {
                return Err(Invalid::new(path, "absent", "absent, with a reason"));
            }
            fields
                .iter()
                .try_for_each(|(name, field)| numbers(field, &join(path, name)))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(i, item)| numbers(item, &format!("{path}[{i}]"))),
        _ => Ok(()),
    }
}

/// Refuses the first value that is not as derived; numbers may differ by rounding.
fn same(found: &Value, expected: &Value, path: &str) -> Result<(), Invalid> {
    let refused = || {
        Err(Invalid::new(
            path,
            found,
            format!("{expected}, derived from the counters"),
        ))
    };
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => {
            let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) else {
                return refused();
            };
            match (a - b).abs() <= 1e-9 * b.abs() {
                true => Ok(()),
                false => refused(),
            }
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => a
            .iter()
            .zip(b.values())
            .try_for_each(|((name, a), b)| same(a, b, &join(path, name))),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .try_for_each(|(i, (a, b))| same(a, b, &format!("{path}[{i}]"))),
        (a, b) if a == b => Ok(()),
        _ => refused(),
    }
}

fn join(path: &str, name: &str) -> String {
    match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    }
}
