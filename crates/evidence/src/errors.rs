//! Errors of outputs against FP64: `artifacts/<ns>-errors/errors.json` as the harness leaves it, and
//! `comparison-errors.json`, the same with its provenance.

use crate::artifact::{Build, Device, Host, Python, check_schema};
use crate::choice::Config;
use crate::error::Invalid;
use crate::operation::Operation;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Schema of [`Errors`].
pub const SCHEMA: &str = "mage.errors/1";
/// File name within a namespace's results.
pub const FILE: &str = "comparison-errors.json";
/// File name within the artifact directory.
pub const ARTIFACT: &str = "errors.json";
/// Kind of the cases whose inputs are those that are measured.
pub const STANDARD: &str = "standard";

/// All errors of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Errors {
    /// [`SCHEMA`].
    pub schema: String,
    /// Result namespace.
    pub namespace: String,
    /// Experiment whose variants and implementations ran.
    pub experiment: String,
    /// SHA-256 of its spec.
    pub experiment_sha256: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// End, RFC 3339, UTC.
    pub finished: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Seed of the inputs.
    pub seed: u64,
    /// Implementations, in order.
    pub implementations: Vec<String>,
    /// The machine.
    pub host: Host,
    /// The GPU; none where the kernels ran on the CPU executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The Python environment, where an implementation needed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<Python>,
    /// What was built, from what.
    pub build: Build,
    /// SHA-256 of each artifact that evidence was made from; only in evidence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts_sha256: BTreeMap<String, String>,
    /// Cases in order.
    pub cases: Vec<Case>,
}

/// One operation on one set of inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique name.
    pub name: String,
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// What the inputs are: [`STANDARD`], or what makes them hard.
    pub kind: String,
    /// SHA-256 of each input file.
    pub input_sha256: BTreeMap<String, String>,
    /// Largest absolute value of the FP64 output, for scale.
    pub largest_expected: f64,
    /// One row an implementation.
    pub rows: Vec<Row>,
}

/// One implementation's output of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Which implementation.
    pub implementation: String,
    /// The kernel variant that ran, for `rust`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The configuration that ran, for an implementation that chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Config>,
    /// Why there is no output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// The error of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<OutputError>,
}

/// How far an output lies from FP64.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputError {
    /// Largest absolute error over the finite elements.
    pub max_abs: f64,
    /// Root of the mean squared error over them.
    pub rms: f64,
    /// Elements that are NaN or infinite.
    pub not_finite: u64,
    /// All elements.
    pub elements: u64,
}

impl OutputError {
    /// The error of `actual` against `expected`, which are of one length.
    ///
    /// # Errors
    /// [`Invalid`] where the lengths differ.
    pub fn of(actual: &[f32], expected: &[f64]) -> Result<Self, Invalid> {
        if actual.len() != expected.len() {
            return Err(Invalid::new(
                "output",
                actual.len(),
                expected.len().to_string(),
            ));
        }
        let (mut max_abs, mut squares, mut not_finite) = (0.0f64, 0.0f64, 0u64);
        for (&actual, &expected) in actual.iter().zip(expected) {
            if !actual.is_finite() {
                not_finite += 1;
                continue;
            }
            let error = (f64::from(actual) - expected).abs();
            max_abs = max_abs.max(error);
            squares += error * error;
        }
        let elements = actual.len() as u64;
        let finite = (elements - not_finite).max(1);
        Ok(Self {
            max_abs,
            rms: (squares / finite as f64).sqrt(),
            not_finite,
            elements,
        })
    }
}

impl Errors {
    /// Refuses what a session cannot have left.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, SCHEMA)?;
        let mut names = BTreeSet::new();
        for (i, case) in self.cases.iter().enumerate() {
            let place = format!("cases[{i}]");
            case.operation
                .check_dims(&case.dims)
                .map_err(|e| e.under(&place))?;
            if !names.insert(&case.name) {
                let found = format!("{:?} twice", case.name);
                return Err(Invalid::new(format!("{place}.name"), found, "each once"));
            }
            let order: Vec<&String> = case.rows.iter().map(|r| &r.implementation).collect();
            if !order.iter().copied().eq(&self.implementations) {
                let expected = format!("one of each of {:?}", self.implementations);
                return Err(Invalid::new(
                    format!("{place}.rows"),
                    format!("{order:?}"),
                    expected,
                ));
            }
            let elements = case.operation.output_elements(&case.dims) as u64;
            for row in &case.rows {
                row.check(elements)
                    .map_err(|e| e.under(&format!("{place}.{}", row.implementation)))?;
            }
        }
        match self.cases.is_empty() {
            true => Err(Invalid::new("cases", "none", "at least one")),
            false => Ok(()),
        }
    }
}

impl Row {
    fn check(&self, elements: u64) -> Result<(), Invalid> {
        match (&self.error, &self.unavailable) {
            (Some(error), None) if error.elements == elements => Ok(()),
            (Some(error), None) => Err(Invalid::new(
                "error.elements",
                error.elements,
                format!("{elements}, the whole output"),
            )),
            (None, Some(_)) => Ok(()),
            _ => Err(Invalid::new(
                "error",
                "an error and a reason, or neither",
                "one of them",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_of_the_finite_elements_and_counts_the_others() {
        let error = OutputError::of(&[1.0, 2.5, f32::NAN], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(error.max_abs, 0.5);
        assert_eq!(error.rms, (0.25f64 / 2.0).sqrt());
        assert_eq!((error.not_finite, error.elements), (1, 3));
        assert!(OutputError::of(&[1.0], &[]).is_err());
    }
}
