//! Correctness without a GPU: every case and every kernel variant on the CPU executor.

use crate::check::{self, Outcome, Row};
use crate::interrupt;
use mage_evidence::experiment::{self, Experiment, Tolerance};
use mage_kernels::compare::compare;
use mage_kernels::inputs::{Inputs, SEED};
use mage_kernels::reference::reference;
use mage_kernels::suite::Case;
use mage_kernels::variants::{self, Variant};
use mage_workspace::progress::Progress;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Device of the rows.
pub const DEVICE: &str = "cpu";

/// Executes every case with every variant that computes its operation, or with those of them whose ids are in
/// `only`, if that is not empty; checks every access on the way and the whole
/// output against the FP64 reference. A variant that does not take a case's dims is checked as it is
/// dispatched, by its general kernel, which runs once a case whatever asks for it: the executor gives the same again.
/// A variant that uses an instruction which is not emulated is [`Outcome::NotHere`].
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
        let mut outcomes = BTreeMap::new();
        for requested in check::asked(case.operation, only) {
            interrupt::check()?;
            let variant = variants::dispatch(requested, case.dims, mage_simt::CAPABILITY);
            let outcome = outcomes
                .entry(variant.id)
                .or_insert_with(|| execute(variant, &inputs, &reference, case.tolerance()));
            rows.push(Row {
                case: case.name,
                device: DEVICE,
                what: format!("rust {}", requested.id),
                kernel: Some(variant.id.to_string()),
                outcome: outcome.clone(),
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
    experiment: String,
    measured: Vec<Ran>,
    device_only: BTreeSet<String>,
}

/// A variant that an experiment measures, and in how many cases its own kernel ran.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ran {
    variant: String,
    cases: usize,
}

impl Summary {
    /// What these rows prove, and of it what they prove of the variants that `experiment` measures; none of them may
    /// have failed. A variant counts where its own kernel ran, not where the general one did in its stead.
    pub fn of(rows: &[Row], experiment: &Experiment) -> Self {
        let passed = || rows.iter().filter(|row| row.outcome.passed());
        let ran = |case: &experiment::Case| Ran {
            variant: case.variant.clone(),
            cases: passed()
                .filter(|row| row.kernel.as_ref() == Some(&case.variant))
                .map(|row| row.case)
                .collect::<BTreeSet<_>>()
                .len(),
        };
        let device_only = rows.iter().filter(|row| !row.outcome.passed());
        Self {
            cases: passed().map(|row| row.case).collect::<BTreeSet<_>>().len(),
            kernels: passed()
                .map(|row| &row.kernel)
                .collect::<BTreeSet<_>>()
                .len(),
            experiment: experiment.name.clone(),
            measured: experiment.operations.iter().map(ran).collect(),
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
        let ran = |ran: &Ran| format!("{} {}", ran.variant, ran.cases);
        let measured: Vec<String> = self.measured.iter().map(ran).collect();
        write!(
            f,
            "; cases by variant of {}: {}",
            self.experiment,
            measured.join(", ")
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
        let root = mage_workspace::find_root().unwrap();
        for name in Experiment::names(&root).unwrap() {
            let summary = Summary::of(&rows, &Experiment::named(&root, &name).unwrap());
            assert_eq!(summary.cases, small().len());
            for id in &summary.device_only {
                assert!(mage_simt::kernel(id).is_none(), "{id}");
            }
            for Ran { variant, cases } in &summary.measured {
                let device_only = summary.device_only.contains(variant);
                assert!(
                    *cases > 0 || device_only,
                    "{variant}, which {name} measures, takes no case of the small suite"
                );
            }
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
        let row = |case, variant: &str, kernel: &str, outcome| Row {
            case,
            device: DEVICE,
            what: format!("rust {variant}"),
            kernel: Some(kernel.to_string()),
            outcome,
        };
        let passed = Outcome::Passed(0.0);
        let not_here = Outcome::NotHere("device only: no".into());
        let rows = [
            row("one", "tiled_matmul", "tiled_matmul", passed.clone()),
            row("one", "matmul_wgmma", "tiled_matmul", passed.clone()),
            row("two", "tiled_matmul", "tiled_matmul", passed),
            row("two", "matmul_wgmma", "matmul_wgmma", not_here),
        ];
        failures(&rows).unwrap();
        assert!(table(&rows).contains("device only: no"));
        let root = mage_workspace::find_root().unwrap();
        let mut experiment = Experiment::named(&root, "mage-001").unwrap();
        experiment.operations.truncate(1);
        let mut other = experiment.operations[0].clone();
        other.variant = "matmul_wgmma".to_owned();
        experiment.operations.push(other);
        assert_eq!(
            Summary::of(&rows, &experiment).to_string(),
            "checked on CPU: 2 cases of 1 variants, whole outputs against the FP64 reference; \
             cases by variant of mage-001: tiled_matmul 2, matmul_wgmma 0; device only: matmul_wgmma"
        );
    }
}
