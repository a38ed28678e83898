//! Correctness without timing: every case of a suite, every implementation and every kernel variant.

use crate::implementation::{Implementation, Load, Loaded};
use crate::interrupt;
use crate::verify::{self, Expected};
use anyhow::bail;
use mage_evidence::operation::Operation;
use mage_kernels::inputs::SEED;
use mage_kernels::launch::LaunchError;
use mage_kernels::reference::reference;
use mage_kernels::suite::Case;
use mage_kernels::variants::{self, Variant};
use mage_workspace::progress::Progress;

/// One row of the outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the case.
    pub case: &'static str,
    /// Where it ran: `cuda` or `cpu`.
    pub device: &'static str,
    /// Implementation, and for `rust` the variant asked for.
    pub what: String,
    /// The kernel that ran, for `rust`.
    pub kernel: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of one check.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The whole output agrees; the largest absolute error against the FP64 reference.
    Passed(f64),
    /// It does not, or there is none: why.
    Failed(String),
    /// Nothing was checked, for the kernel does not run here: why.
    NotHere(String),
}

impl Outcome {
    /// Whether the whole output was checked and agrees.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed(_))
    }
}

/// Checks every case with every implementation; `rust` with every variant that computes the operation, or with
/// those of them whose ids are in `only`, if that is not empty. A variant that does not take a case's dims is
/// checked as it is dispatched, by its general kernel.
///
/// # Errors
/// What keeps a case from being called at all, and an interrupt; a failed check is a [`Row`], and so is a variant
/// that the device cannot run.
pub fn suite(
    cases: &[Case],
    only: &[String],
    implementations: &mut [Box<dyn Implementation>],
) -> anyhow::Result<Vec<Row>> {
    let scratch = tempfile::tempdir()?;
    let mut rows = Vec::new();
    let mut progress = Progress::new(cases.len() as u64);
    for case in cases {
        interrupt::check()?;
        progress.step(case.name);
        let directory = scratch.path().join(case.name);
        let inputs = case.inputs(SEED)?;
        inputs.write(&directory)?;
        let files = directory.join(case.operation.name());
        let reference = reference(&inputs)?;
        let expected = Expected {
            shape: case.operation.output_shape(case.dims),
            record: None,
            reference: &reference,
            tolerance: case.tolerance(),
        };
        for implementation in implementations.iter_mut() {
            let is_rust = implementation.name() == "rust";
            let variants: Vec<&str> = match is_rust {
                true => asked(case.operation, only).map(|v| v.id).collect(),
                false => vec![""],
            };
            for variant in variants {
                let load = Load {
                    inputs: &inputs,
                    directory: &files,
                    variant,
                    tolerance: case.tolerance(),
                    config: None,
                };
                let outcome = match implementation.load(&load) {
                    Ok(Loaded::Unavailable(reason)) => Outcome::NotHere(reason),
                    Ok(Loaded::Ready(_)) => match verify::check(implementation.as_mut(), &expected)
                    {
                        Ok(check) => Outcome::Passed(check.fp64.max_abs_error),
                        Err(error) => Outcome::Failed(format!("{error:#}")),
                    },
                    Err(error) => Outcome::NotHere(refusal(error)?),
                };
                rows.push(Row {
                    case: case.name,
                    device: "cuda",
                    what: [implementation.name(), variant]
                        .join(" ")
                        .trim_end()
                        .to_string(),
                    kernel: implementation.kernel().map(str::to_string),
                    outcome,
                });
            }
        }
    }
    progress.finish();
    Ok(rows)
}

/// The variants that compute `operation` and are asked for: those in `only`, or all where that is empty.
pub fn asked(operation: Operation, only: &[String]) -> impl Iterator<Item = &'static Variant> {
    variants::computing(operation)
        .filter(|variant| only.is_empty() || only.iter().any(|id| id == variant.id))
}

/// Why the device cannot run the variant, for its row.
///
/// # Errors
/// `error` itself, where it says anything else.
fn refusal(error: anyhow::Error) -> anyhow::Result<String> {
    match error.downcast_ref::<LaunchError>() {
        Some(launch) if launch.is_refusal() => Ok(format!("not on this device: {launch}")),
        _ => Err(error),
    }
}

/// The outcome as a table, one row a line.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<26} {:<30} {:<6} {:<24} max error\n",
        "case", "implementation", "device", "kernel"
    );
    for row in rows {
        let kernel = row.kernel.as_deref().unwrap_or("-");
        let outcome = match &row.outcome {
            Outcome::Passed(error) => format!("{error:.2e}"),
            Outcome::Failed(reason) => format!("FAILED: {reason}"),
            Outcome::NotHere(reason) => reason.clone(),
        };
        text += &format!(
            "{:<26} {:<30} {:<6} {kernel:<24} {outcome}\n",
            row.case, row.what, row.device
        );
    }
    text
}

/// Refuses rows of which one failed; one that could not be checked on this device did not fail.
///
/// # Errors
/// Says how many failed.
pub fn failures(rows: &[Row]) -> anyhow::Result<()> {
    let failed = |row: &&Row| matches!(row.outcome, Outcome::Failed(_));
    let failed = rows.iter().filter(failed).count();
    if failed > 0 {
        bail!("{failed} of {} checks failed", rows.len());
    }
    Ok(())
}

/// How many checks passed, how many of them by the general kernel in a variant's stead, and how many could not be made
/// here, in words; none of them may have failed.
pub fn summary(rows: &[Row]) -> String {
    let passed = || rows.iter().filter(|row| row.outcome.passed());
    let mut text = format!("{} checks passed", passed().count());
    let in_stead = |row: &&Row| {
        let kernel = row.kernel.as_ref();
        kernel.is_some_and(|kernel| {
            row.what.starts_with("rust ") && row.what != format!("rust {kernel}")
        })
    };
    match passed().filter(in_stead).count() {
        0 => {}
        general => {
            text += &format!(", {general} of them by the general kernel, as their dims need")
        }
    }
    match rows.len() - passed().count() {
        0 => {}
        rest => text += &format!(", {rest} not made here"),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_kernels::inputs::Inputs;
    use mage_kernels::suite::SMALL;
    use std::collections::BTreeMap;

    /// Gives the reference, but for a variant that its device does not hold.
    struct Played(Option<Inputs>);

    impl Implementation for Played {
        fn name(&self) -> &str {
            "rust"
        }

        fn load(&mut self, load: &Load<'_>) -> anyhow::Result<Loaded> {
            self.0 = None;
            match load.variant {
                "layer_norm" => anyhow::bail!("no memory"),
                "matmul_presplit" => Err(LaunchError::NotResident {
                    variant: "matmul_presplit",
                    found: 1,
                    expected: 2,
                })?,
                _ => self.0 = Some(load.inputs.clone()),
            }
            Ok(Loaded::Ready(None))
        }

        fn kernel(&self) -> Option<&str> {
            None
        }

        fn checked_call(&mut self) -> anyhow::Result<Vec<f32>> {
            let expected = reference(self.0.as_ref().unwrap())?;
            Ok(expected.iter().map(|&value| value as f32).collect())
        }

        fn measure(&mut self, _: u32, _: u32) -> anyhow::Result<Vec<f64>> {
            unreachable!("a check measures nothing")
        }

        fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
            unreachable!("a check has no record of the inputs")
        }
    }

    fn rows(cases: &[Case], only: &[&str]) -> anyhow::Result<Vec<Row>> {
        let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
        suite(cases, &only, &mut [Box::new(Played(None))])
    }

    #[test]
    fn the_summary_tells_whose_kernel_ran() {
        let row = |variant: &str, kernel: &str, outcome| Row {
            case: "matmul",
            device: "cpu",
            what: format!("rust {variant}"),
            kernel: Some(kernel.to_string()),
            outcome,
        };
        let mut rows = vec![row("tiled_matmul", "tiled_matmul", Outcome::Passed(0.0))];
        assert_eq!(summary(&rows), "1 checks passed");
        rows.push(row("matmul_presplit", "tiled_matmul", Outcome::Passed(0.0)));
        rows.push(row(
            "matmul_presplit",
            "matmul_presplit",
            Outcome::NotHere("no".into()),
        ));
        assert_eq!(
            summary(&rows),
            "2 checks passed, 1 of them by the general kernel, as their dims need, 1 not made here"
        );
    }

    #[test]
    fn a_variant_that_the_device_cannot_run_is_a_row_of_its_own() {
        let rows = rows(&SMALL[..1], &["matmul_presplit", "tiled_matmul"]).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].what, "rust tiled_matmul");
        assert!(matches!(rows[0].outcome, Outcome::Passed(_)), "{rows:?}");
        assert!(matches!(rows[1].outcome, Outcome::NotHere(_)), "{rows:?}");
        let reason = "variant matmul_presplit: found a device that holds 1 clusters at once";
        assert!(table(&rows).contains(&format!("not on this device: {reason}")));
    }

    #[test]
    fn every_variant_but_twins_is_checked_and_any_other_error_ends_the_run() {
        let gelu = SMALL.iter().find(|case| case.name == "gelu-3x257").unwrap();
        let checked = rows(&[*gelu], &[]).unwrap();
        assert!(checked.iter().any(|row| row.what == "rust bias_gelu"));
        assert!(checked.iter().all(|row| !row.what.contains("copy_")));
        let norm = SMALL.iter().find(|case| case.name == "layernorm-3x257");
        let error = rows(&[*norm.unwrap()], &[]).unwrap_err();
        assert_eq!(error.to_string(), "no memory");
    }
}
