//! `comparison-profiles.json`: kernel rows of one namespace, under the original's field names.

use crate::artifact;
use crate::choice::Config;
use crate::error::Invalid;
use crate::operation::Operation;
use crate::results::check_major;
use crate::summary::Resources;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Status of a capture that may be published.
pub const PASSED: &str = "passed";
/// File name within a namespace's results.
pub const FILE: &str = "comparison-profiles.json";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profiles {
    /// `<experiment>-comparison`.
    pub experiment_id: String,
    /// Schema version; absent in the original's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    /// The profiler, in words.
    pub backend: String,
    /// What a duration is taken from, in words.
    pub timestamp_mode: String,
    /// What kernel time is, in words.
    pub timing: String,
    /// What only this project writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// One entry a capture.
    pub captures: Vec<CaptureResults>,
}

/// Provenance beyond the original's fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Captures a case.
    pub captures_per_case: u32,
    /// Calls before the range opens.
    pub warmup: u32,
    /// SHA-256 of the program that was profiled.
    pub target_sha256: String,
    /// SHA-256 of the program that wrote the captures.
    pub binary_sha256: String,
    /// SHA-256 of each PTX object.
    pub objects_sha256: BTreeMap<String, String>,
    /// SHA-256 of each artifact that this file was made from, by path from the artifact directory.
    pub artifacts_sha256: BTreeMap<String, String>,
}

/// One capture of one operation and implementation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaptureResults {
    /// Which operation.
    pub operation: Operation,
    /// Which implementation.
    pub language: String,
    /// The profiler.
    pub backend: String,
    /// Kernel launches an iteration.
    #[serde(deserialize_with = "crate::foreign::whole")]
    pub launches: u32,
    /// Calls inside the range.
    #[serde(deserialize_with = "crate::foreign::whole")]
    pub requested_iterations: u32,
    /// Distinct kernel names in order of first start.
    pub kernel_names: Vec<String>,
    /// Which capture this is, `<operation>-<implementation>-<index>`.
    pub session_id: String,
    /// Artifact that holds its rows, relative to the artifact directory.
    pub report_dir: String,
    /// `passed`; others are never written.
    pub status: String,
    /// Sum of durations over iterations, in microseconds; only this project writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_time_us: Option<f64>,
    /// The configuration that ran, for an implementation that chooses; only this project writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Config>,
    /// What the profiler or the checks remarked; only this project writes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// One row a launch, in order of start.
    pub kernel_metrics: Vec<KernelMetric>,
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelMetric {
    /// Demangled name.
    pub kernel_name: String,
    /// Duration in microseconds.
    pub duration_us: f64,
    /// Blocks, `x,y,z`.
    pub grid_size: String,
    /// Threads a block, `x,y,z`.
    pub block_size: String,
    /// Registers a thread.
    #[serde(deserialize_with = "crate::foreign::whole")]
    pub registers_per_thread: u32,
    /// Shared memory a block, static and dynamic, in bytes.
    #[serde(deserialize_with = "crate::foreign::whole")]
    pub shared_mem_bytes: u32,
    /// The dynamic part of it; only this project writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_shared_mem_bytes: Option<u32>,
}

impl CaptureResults {
    /// Kernel time in microseconds, computed from the rows.
    pub fn kernel_time(&self) -> f64 {
        let total: f64 = self.kernel_metrics.iter().map(|row| row.duration_us).sum();
        total / f64::from(self.requested_iterations)
    }

    /// What the operation's only kernel asks for; none where it has several, or where the grid is not known.
    pub fn resources(&self) -> Option<Resources> {
        let row = self.kernel_metrics.first().filter(|_| self.launches == 1)?;
        let blocks = row.grid_size.split(',').try_fold(1u64, |n, part| {
            part.trim()
                .parse::<u64>()
                .ok()
                .and_then(|d| n.checked_mul(d))
        })?;
        Some(Resources {
            blocks,
            registers: row.registers_per_thread,
            shared_bytes: row.shared_mem_bytes,
        })
    }

    fn check(&self) -> Result<(), Invalid> {
        if self.status != PASSED {
            return Err(Invalid::new(
                "status",
                format!("{:?}", self.status),
                format!("{PASSED:?}"),
            ));
        }
        let launches = artifact::launches(self.kernel_metrics.len(), self.requested_iterations)
            .map_err(|e| e.under("kernel_metrics"))?;
        if launches != self.launches {
            return Err(Invalid::new(
                "launches",
                self.launches,
                format!("{launches}, counted from kernel_metrics"),
            ));
        }
        for (i, row) in self.kernel_metrics.iter().enumerate() {
            if !(row.duration_us.is_finite() && row.duration_us > 0.0) {
                return Err(Invalid::new(
                    format!("kernel_metrics[{i}].duration_us"),
                    row.duration_us,
                    "a finite time above 0",
                ));
            }
        }
        let time = self.kernel_time();
        if let Some(stored) = self.kernel_time_us
            && ((stored - time).abs() > 1e-9 * time || !stored.is_finite())
        {
            return Err(Invalid::new(
                "kernel_time_us",
                stored,
                format!("{time}, computed from kernel_metrics"),
            ));
        }
        let names: BTreeSet<&str> = self
            .kernel_metrics
            .iter()
            .map(|r| r.kernel_name.as_str())
            .collect();
        let listed: BTreeSet<&str> = self.kernel_names.iter().map(String::as_str).collect();
        if names != listed {
            return Err(Invalid::new(
                "kernel_names",
                format!("{listed:?}"),
                format!("the names in kernel_metrics: {names:?}"),
            ));
        }
        Ok(())
    }
}

impl Profiles {
    /// Checks schema, launch counts, durations and stored kernel times.
    ///
    /// # Errors
    /// [`Invalid`] naming the first field that is wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        if let Some(version) = &self.schema_version {
            check_major(version)?;
        }
        if self.captures.is_empty() {
            return Err(Invalid::new("captures", "none", "at least one"));
        }
        let mut sessions = BTreeSet::new();
        for (i, capture) in self.captures.iter().enumerate() {
            if !sessions.insert(&capture.session_id) {
                return Err(Invalid::new(
                    format!("captures[{i}].session_id"),
                    format!("{:?} twice", capture.session_id),
                    "each once",
                ));
            }
            capture
                .check()
                .map_err(|e| e.under(&format!("captures[{i}]")))?;
        }
        Ok(())
    }

    /// Captures of one case, in order.
    pub fn case<'a>(
        &'a self,
        operation: Operation,
        implementation: &'a str,
    ) -> impl Iterator<Item = &'a CaptureResults> {
        self.captures
            .iter()
            .filter(move |c| c.operation == operation && c.language == implementation)
    }
}
