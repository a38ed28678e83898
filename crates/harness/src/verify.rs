//! The full-output check of one implementation's one call.

use crate::implementation::Implementation;
use anyhow::Context;
use mage_evidence::artifact::{Agreement, Check};
use mage_evidence::experiment::Tolerance;
use mage_kernels::compare::{Comparison, compare};

/// What an output must agree with.
pub struct Expected<'a> {
    /// Shape of the output.
    pub shape: Vec<usize>,
    /// PyTorch's FP32 output of record, where PyTorch takes part.
    pub record: Option<&'a [f32]>,
    /// The FP64 reference.
    pub reference: &'a [f64],
    /// Bound of both comparisons.
    pub tolerance: Tolerance,
}

/// Makes one poisoned call and compares the whole output with both expectations.
///
/// # Errors
/// Names the implementation, the expectation, the first wrong element with its expected and actual value,
/// and how many are wrong.
pub fn check(
    implementation: &mut dyn Implementation,
    expected: &Expected<'_>,
) -> anyhow::Result<Check> {
    let output = implementation.checked_call()?;
    agrees(implementation.name(), &output, expected)
}

/// Compares the whole output of one call with both expectations.
///
/// # Errors
/// As [`check`].
pub fn agrees(name: &str, output: &[f32], expected: &Expected<'_>) -> anyhow::Result<Check> {
    let shape = &expected.shape;
    let reference = compare(output, expected.reference, shape, expected.tolerance)
        .with_context(|| format!("{name}: output against the FP64 reference"))?;
    let record = expected
        .record
        .map(|record| compare(output, record, shape, expected.tolerance))
        .transpose()
        .with_context(|| format!("{name}: output against PyTorch's"))?;
    Ok(Check {
        checked_elements: reference.checked_elements as u64,
        record: record.map(agreement),
        fp64: agreement(reference),
    })
}

fn agreement(comparison: Comparison) -> Agreement {
    Agreement {
        max_abs_error: comparison.max_abs_error,
        max_error_share: comparison.max_error_share,
    }
}
