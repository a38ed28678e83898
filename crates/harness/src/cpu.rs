//! Correctness without a GPU: every case and every kernel variant on the CPU executor.

use crate::check::{self, Outcome, Row};
use crate::interrupt;
use crate::progress::Progress;
use mage_evidence::experiment::Tolerance;
use mage_kernels::compare::compare;
use mage_kernels::inputs::{Inputs, SEED};
use mage_kernels::reference::reference;
use mage_kernels::suite::Case;
use mage_kernels::variants::{self, Variant};
use std::collections::BTreeSet;
use std::fmt;

/// Device of the rows.
pub const DEVICE: &str = "cpu";

/// Executes every case with every variant that computes its operation, or with those of them whose ids are in
/// `only`, if that is not empty; checks every access on the way and the whole
/// output against the FP64 reference. A variant that does not take a case's dims is checked as it is
/// dispatched, by its general kernel; one that uses an instruction which is not emulated is
/// [`Outcome::NotHere`].
///
/// # Errors
/// Inputs that cannot be made, and an interrupt; a fault or a wrong output is a [`Row`].
pub fn suite(cases: &[Case], only: &[String]) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut progress = Progress::new(cases.len() as u64);
    for case in cases {
        progress.step(case.name);
        let inputs = case.inputs(SEED)?;
        let reference = reference(&inputs)?;
        for requested in check::asked(case.operation, only) {
            interrupt::check()?;
            let variant = variants::dispatch(requested, case.dims, mage_simt::CAPABILITY);
            rows.push(Row {
                case: case.name,
                device: DEVICE,
                what: format!("rust {}", requested.id),
                kernel: Some(variant.id.to_string()),
                outcome: execute(variant, &inputs, &reference, case.tolerance()),
            });
        }
    }
    progress.finish();
    Ok(rows)
}

fn execute(variant: &Variant, inputs: &Inputs, reference: &[f64], tolerance: Tolerance) -> Outcome {
    let output = match mage_simt::execute(variant, inputs) {
        Ok(execution) => execution.output,
        Err(reason @ mage_simt::Error::DeviceOnly { .. }) => {
            return Outcome::NotHere(reason.to_string());
        }
        Err(fault) => return Outcome::Failed(fault.to_string()),
    };
    let shape = inputs.operation.output_shape(&inputs.dims);
    match compare(&output, reference, &shape, tolerance) {
        Ok(comparison) => Outcome::Passed(comparison.max_abs_error),
        Err(mismatch) => Outcome::Failed(format!("output against the FP64 reference: {mismatch}")),
    }
}

/// What rows of the executor prove, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    cases: usize,
    kernels: usize,
    device_only: BTreeSet<String>,
}

impl Summary {
    /// What these rows prove; none of them may have failed. A variant counts where its own kernel ran, not where
    /// the general one did in its stead.
    pub fn of(rows: &[Row]) -> Self {
        let passed = || rows.iter().filter(|row| row.outcome.passed());
        let device_only = rows.iter().filter(|row| !row.outcome.passed());
        Self {
            cases: passed().map(|row| row.case).collect::<BTreeSet<_>>().len(),
            kernels: passed()
                .map(|row| &row.kernel)
                .collect::<BTreeSet<_>>()
                .len(),
            device_only: device_only.filter_map(|row| row.kernel.clone()).collect(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "checked on CPU: {} cases of {} variants, whole outputs against the FP64 reference",
            self.cases, self.kernels
        )?;
        if !self.device_only.is_empty() {
            let names: Vec<&str> = self.device_only.iter().map(String::as_str).collect();
            write!(f, "; device only: {}", names.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{failures, table};
    use mage_kernels::suite::{SMALL, small};

    #[test]
    fn the_small_suite_passes_without_a_gpu() {
        let rows = suite(&small(), &[]).unwrap();
        failures(&rows).unwrap();
        let variants = |case: &Case| variants::computing(case.operation).count();
        assert_eq!(rows.len(), small().iter().map(variants).sum::<usize>());
        let text = table(&rows);
        assert!(text.lines().next().unwrap().contains("device"), "{text}");
        assert_eq!(text.matches(" cpu ").count(), rows.len(), "{text}");
        let summary = Summary::of(&rows);
        assert_eq!(summary.cases, small().len());
        assert!(summary.kernels >= 9, "{summary}");
        for id in &summary.device_only {
            assert!(mage_simt::kernel(id).is_none(), "{id}");
        }
    }

    #[test]
    fn variants_that_are_asked_for_run_alone() {
        let rows = suite(&SMALL[..2], &["tiled_matmul".to_owned()]).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row.what == "rust tiled_matmul"));
    }

    #[test]
    fn a_wrong_output_fails_and_names_the_element() {
        let inputs = SMALL[1].inputs(SEED).unwrap();
        let variant = variants::find("tiled_matmul").unwrap();
        let Outcome::Failed(reason) = execute(variant, &inputs, &[7.0], SMALL[0].tolerance())
        else {
            panic!("7 is not the product");
        };
        assert!(reason.contains("FP64 reference: element 0"), "{reason}");
    }

    #[test]
    fn a_kernel_for_the_device_only_is_counted_and_no_failure() {
        let row = |kernel: &str, outcome| Row {
            case: "matmul",
            device: DEVICE,
            what: format!("rust {kernel}"),
            kernel: Some(kernel.to_string()),
            outcome,
        };
        let rows = [
            row("tiled_matmul", Outcome::Passed(0.0)),
            row("matmul_wgmma", Outcome::NotHere("device only: no".into())),
        ];
        failures(&rows).unwrap();
        assert!(table(&rows).contains("device only: no"));
        assert!(
            Summary::of(&rows)
                .to_string()
                .starts_with("checked on CPU: 1 cases of 1 variants")
        );
        assert!(
            Summary::of(&rows)
                .to_string()
                .ends_with("device only: matmul_wgmma")
        );
    }
}
