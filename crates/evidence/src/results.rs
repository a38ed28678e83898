//! `comparison-results.json`: samples, checks and provenance of one namespace.
//!
//! The field names of the original project's published evidence are kept, so that either program reads
//! the other's; fields that only this project writes are optional when read.

use crate::artifact::{Device, Host, Resumed, SourceTree, Tf32};
use crate::choice::{Choice, Config};
use crate::error::Invalid;
use crate::foreign::State;
use crate::operation::Operation;
use crate::stats;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Schema version that this crate writes.
pub const SCHEMA_VERSION: &str = "1.1";
/// Schema version of evidence from artifacts that have neither choices nor reasons for absence.
pub const SCHEMA_VERSION_1_0: &str = "1.0";
/// File name within a namespace's results.
pub const FILE: &str = "comparison-results.json";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// `<experiment>-comparison`.
    pub experiment_id: String,
    /// [`SCHEMA_VERSION`]; absent in the original's files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    /// When the run ended, RFC 3339.
    pub utc: String,
    /// GPU name.
    pub gpu: String,
    /// PyTorch version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// Triton version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triton: Option<String>,
    /// CUDA version that PyTorch was built for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// Python version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// Operating system.
    pub platform: String,
    /// Arithmetic, in words.
    pub precision: String,
    /// What a sample is, in words.
    pub timing: String,
    /// Cases left out, with the reason.
    pub excluded: Vec<String>,
    /// Rounds an operation.
    pub rounds: u32,
    /// Samples an implementation and round.
    pub iterations_per_round: u32,
    /// Calls before them.
    pub warmup_per_round: u32,
    /// SHA-256 of each source file.
    pub source_sha256: BTreeMap<String, String>,
    /// SHA-256 of the harness program.
    pub binary_sha256: String,
    /// GPU state before the first round.
    #[serde(default)]
    pub gpu_state_before: State,
    /// GPU state after the last round.
    #[serde(default)]
    pub gpu_state_after: State,
    /// What only this project writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// One entry an operation.
    pub results: Vec<OperationResults>,
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
    /// When the run started, RFC 3339.
    pub started: String,
    /// The harness's command line.
    pub command: Vec<String>,
    /// Each time the run was interrupted and resumed, between two operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
    /// The machine.
    pub host: Host,
    /// The GPU and its limits.
    pub device: Device,
    /// TF32 switches, where PyTorch took part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tf32: Option<Tf32>,
    /// Python packages that take part.
    pub python_packages: BTreeMap<String, String>,
    /// State of the source tree before the run wrote anything.
    pub tree: SourceTree,
    /// SHA-256 of the lock file.
    pub lock_file_sha256: String,
    /// SHA-256 of each PTX object.
    pub objects_sha256: BTreeMap<String, String>,
    /// SHA-256 of each artifact that this file was made from, by path from the artifact directory.
    pub artifacts_sha256: BTreeMap<String, String>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationResults {
    /// Which operation.
    pub op: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// What the inputs were.
    pub input_hashes: InputHashes,
    /// What does not run this operation there, by implementation, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unavailable: BTreeMap<String, String>,
    /// What implementations chose before anything was timed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub choices: BTreeMap<String, Chosen>,
    /// The arithmetic of each implementation that ran, in words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub precision: BTreeMap<String, String>,
    /// Rounds in measured order.
    pub rounds: Vec<RoundResults>,
}

/// A choice as evidence shows it; the artifact of the operation's samples has every candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// What was chosen and ran.
    pub config: Config,
    /// How candidates were timed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// How many candidates were tried.
    pub candidates: usize,
    /// How many of them pass the full-output check.
    pub passing: usize,
}

impl From<&Choice> for Chosen {
    fn from(choice: &Choice) -> Self {
        let (candidates, passing) = choice.counts();
        Self {
            config: choice.config.clone(),
            how: choice.how.clone(),
            candidates,
            passing,
        }
    }
}

/// Seed and hashes of an operation's inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputHashes {
    /// Seed of the generator.
    pub seed: u64,
    /// SHA-256 by file name.
    pub sha256: BTreeMap<String, String>,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundResults {
    /// Counted from 1.
    pub index: u32,
    /// Implementations in the order in which they ran.
    pub order: Vec<String>,
    /// GPU state before the round.
    #[serde(default)]
    pub gpu_state: State,
    /// What each gave.
    pub implementations: IndexMap<String, CaseResults>,
}

/// One implementation in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResults {
    /// Kernel variant that ran, for `rust`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Event spans in microseconds, in measured order.
    pub samples_us: Vec<f64>,
    /// Their mean.
    pub event_mean_us: f64,
    /// Their median.
    pub event_median_us: f64,
    /// Calls before the first sample.
    pub warmup: u32,
    /// Number of samples.
    pub iterations: u32,
    /// The full-output check.
    pub correctness: Correctness,
}

/// A full-output check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Correctness {
    /// Whether every element was within tolerance of every expected value.
    pub passed: bool,
    /// Largest absolute error against PyTorch's output, or the FP64 reference where PyTorch is absent.
    pub max_abs_error: f64,
    /// Largest absolute error against the FP64 reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_abs_error_fp64: Option<f64>,
    /// Largest error, of both comparisons, as a share of what the tolerance allows at its element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_error_share: Option<f64>,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
    /// Elements compared.
    pub checked_elements: u64,
}

impl Results {
    /// Checks everything that a reader relies on: schema, counts, order, correctness flags, and that the
    /// stored means and medians are those of the stored samples.
    ///
    /// # Errors
    /// [`Invalid`] naming the first field that is wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        if let Some(version) = &self.schema_version {
            check_major(version)?;
            self.check_states()?;
        }
        for (field, value) in [
            ("rounds", self.rounds),
            ("iterations_per_round", self.iterations_per_round),
        ] {
            if value == 0 {
                return Err(Invalid::new(field, value, "at least 1"));
            }
        }
        if self.results.is_empty() {
            return Err(Invalid::new("results", "no operations", "at least one"));
        }
        for (i, operation) in self.results.iter().enumerate() {
            operation
                .check(self)
                .map_err(|e| e.under(&format!("results[{i}]")))?;
        }
        Ok(())
    }

    /// Name of the experiment that was measured.
    pub fn experiment(&self) -> String {
        let id = &self.experiment_id;
        match &self.provenance {
            Some(provenance) => provenance.experiment.clone(),
            None => id.strip_suffix("-comparison").unwrap_or(id).to_string(),
        }
    }

    /// What this project writes has its own form of GPU states; only evidence without a schema version may
    /// hold another.
    fn check_states(&self) -> Result<(), Invalid> {
        self.gpu_state_before.own("gpu_state_before")?;
        self.gpu_state_after.own("gpu_state_after")?;
        for (i, operation) in self.results.iter().enumerate() {
            for (k, round) in operation.rounds.iter().enumerate() {
                round
                    .gpu_state
                    .own(&format!("results[{i}].rounds[{k}].gpu_state"))?;
            }
        }
        Ok(())
    }

    /// Names of all implementations, in the order in which they are shown.
    pub fn implementations(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for round in self.results.iter().flat_map(|op| &op.rounds) {
            for name in round.implementations.keys() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        crate::implementation::sort(&mut names);
        names
    }

    /// Number of full-output checks that passed.
    pub fn passed_checks(&self) -> usize {
        self.cases().filter(|case| case.correctness.passed).count()
    }

    /// Number of full-output checks.
    pub fn checks(&self) -> usize {
        self.cases().count()
    }

    fn cases(&self) -> impl Iterator<Item = &CaseResults> {
        self.results
            .iter()
            .flat_map(|op| &op.rounds)
            .flat_map(|round| round.implementations.values())
    }
}

/// Refuses evidence of another major schema version.
///
/// # Errors
/// [`Invalid`] with field `schema_version`.
pub fn check_major(version: &str) -> Result<(), Invalid> {
    let major = |text: &str| text.split('.').next().map(str::to_string);
    if major(version) == major(SCHEMA_VERSION) {
        return Ok(());
    }
    Err(Invalid::new(
        "schema_version",
        format!("{version:?}"),
        format!("{SCHEMA_VERSION:?} or a later minor version"),
    )
    .help("use the version of mage that wrote it"))
}

impl OperationResults {
    fn check(&self, all: &Results) -> Result<(), Invalid> {
        self.op.check_dims(&self.dims)?;
        count("rounds", self.rounds.len(), all.rounds)?;
        let measured = |name: &&String| {
            self.rounds
                .iter()
                .any(|round| round.implementations.contains_key(*name))
        };
        if let Some(name) = self.unavailable.keys().find(measured) {
            return Err(Invalid::new(
                format!("unavailable.{name}"),
                "a reason, and measurements",
                "one of them",
            ));
        }
        let elements = self.op.output_elements(&self.dims) as u64;
        let first: BTreeSet<&String> = match self.rounds.first() {
            Some(round) => round.implementations.keys().collect(),
            None => BTreeSet::new(),
        };
        for (i, round) in self.rounds.iter().enumerate() {
            let place = format!("rounds[{i}]");
            if round.implementations.keys().collect::<BTreeSet<_>>() != first {
                return Err(Invalid::new(
                    format!("{place}.implementations"),
                    format!("{:?}", round.order),
                    format!("those of the first round: {first:?}"),
                ));
            }
            let ran: Vec<&String> = round.implementations.keys().collect();
            let mut sorted: Vec<&String> = round.order.iter().collect();
            let mut names = ran.clone();
            sorted.sort();
            names.sort();
            if sorted != names {
                return Err(Invalid::new(
                    format!("{place}.order"),
                    format!("{:?}", round.order),
                    format!("the implementations of the round: {ran:?}"),
                ));
            }
            for (name, case) in &round.implementations {
                case.check(all, elements)
                    .map_err(|e| e.under(&format!("{place}.implementations.{name}")))?;
            }
        }
        Ok(())
    }
}

impl CaseResults {
    fn check(&self, all: &Results, elements: u64) -> Result<(), Invalid> {
        count(
            "samples_us",
            self.samples_us.len(),
            all.iterations_per_round,
        )?;
        count(
            "iterations",
            self.iterations as usize,
            all.iterations_per_round,
        )?;
        count("warmup", self.warmup as usize, all.warmup_per_round)?;
        if let Some(i) = self
            .samples_us
            .iter()
            .position(|&s| !(s.is_finite() && s > 0.0))
        {
            return Err(Invalid::new(
                format!("samples_us[{i}]"),
                self.samples_us[i],
                "a finite time above 0",
            ));
        }
        let derived = [
            (
                "event_mean_us",
                self.event_mean_us,
                stats::mean(&self.samples_us)?,
            ),
            (
                "event_median_us",
                self.event_median_us,
                stats::median(&self.samples_us)?,
            ),
        ];
        for (field, stored, computed) in derived {
            // Sums taken in another order differ in the last bits; anything more is another number.
            if (stored - computed).abs() > 1e-9 * computed || !stored.is_finite() {
                return Err(Invalid::new(
                    field,
                    stored,
                    format!("{computed}, computed from samples_us"),
                ));
            }
        }
        let check = &self.correctness;
        if !check.passed {
            return Err(Invalid::new("correctness.passed", false, "true"));
        }
        if check.checked_elements != elements {
            return Err(Invalid::new(
                "correctness.checked_elements",
                check.checked_elements,
                format!("{elements}, the whole output"),
            ));
        }
        let fp64 = check.max_abs_error_fp64.unwrap_or(0.0);
        let share = check.max_error_share.unwrap_or(0.0);
        for (field, value, high) in [
            ("max_abs_error", check.max_abs_error, f64::MAX),
            ("max_abs_error_fp64", fp64, f64::MAX),
            ("max_error_share", share, 1.0),
        ] {
            if !(0.0..=high).contains(&value) {
                let expected = match high {
                    1.0 => "0 to 1: a passed check",
                    _ => "a finite number, at least 0",
                };
                return Err(Invalid::new(
                    format!("correctness.{field}"),
                    value,
                    expected,
                ));
            }
        }
        Ok(())
    }
}

fn count(field: &str, found: usize, expected: u32) -> Result<(), Invalid> {
    if found == expected as usize {
        return Ok(());
    }
    Err(Invalid::new(
        field,
        format!("{found} in number"),
        expected.to_string(),
    ))
}
