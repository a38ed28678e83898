//! Correctness without timing: every case of a suite, every implementation and every kernel variant.

use crate::implementation::Implementation;
use crate::interrupt;
use crate::progress::Progress;
use crate::verify::{self, Expected};
use mage_kernels::compare::TOLERANCE;
use mage_kernels::inputs::SEED;
use mage_kernels::launch::LaunchError;
use mage_kernels::reference::reference;
use mage_kernels::suite::Case;
use mage_kernels::variants;

/// One row of the outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the case.
    pub case: &'static str,
    /// Implementation, and for `rust` the variant asked for.
    pub what: String,
    /// The kernel that ran, for `rust`.
    pub kernel: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of one check.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It passed, with this largest absolute error against the FP64 reference.
    Passed(f64),
    /// It failed, for this reason.
    Failed(String),
    /// The device cannot run the variant, for this reason.
    Refused(String),
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
            tolerance: TOLERANCE,
        };
        for implementation in implementations.iter_mut() {
            let is_rust = implementation.name() == "rust";
            let asked: Vec<&str> = match is_rust {
                true => variants::computing(case.operation)
                    .map(|v| v.id)
                    .filter(|id| only.is_empty() || only.iter().any(|o| o == id))
                    .collect(),
                false => vec![""],
            };
            for variant in asked {
                let outcome = match implementation.load(&inputs, &files, variant) {
                    Ok(()) => match verify::check(implementation.as_mut(), &expected) {
                        Ok(check) => Outcome::Passed(check.fp64.max_abs_error),
                        Err(error) => Outcome::Failed(format!("{error:#}")),
                    },
                    Err(error) => Outcome::Refused(refusal(error)?),
                };
                rows.push(Row {
                    case: case.name,
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

/// Why the device cannot run the variant.
///
/// # Errors
/// `error` itself, where it says anything else.
fn refusal(error: anyhow::Error) -> anyhow::Result<String> {
    match error.downcast_ref::<LaunchError>() {
        Some(launch) if launch.is_refusal() => Ok(launch.to_string()),
        _ => Err(error),
    }
}

/// The outcome as a table, one row a line.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<26} {:<30} {:<24} max error\n",
        "case", "implementation", "kernel"
    );
    for row in rows {
        let kernel = row.kernel.as_deref().unwrap_or("-");
        let outcome = match &row.outcome {
            Outcome::Passed(error) => format!("{error:.2e}"),
            Outcome::Failed(reason) => format!("FAILED: {reason}"),
            Outcome::Refused(reason) => format!("not on this device: {reason}"),
        };
        text += &format!("{:<26} {:<30} {kernel:<24} {outcome}\n", row.case, row.what);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_kernels::inputs::Inputs;
    use mage_kernels::suite::SMALL;
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Gives the reference, but for a variant that its device does not hold.
    struct Played(Option<Inputs>);

    impl Implementation for Played {
        fn name(&self) -> &str {
            "rust"
        }

        fn load(&mut self, inputs: &Inputs, _: &Path, variant: &str) -> anyhow::Result<()> {
            self.0 = None;
            match variant {
                "layer_norm" => anyhow::bail!("no memory"),
                "matmul_presplit" => Err(LaunchError::NotResident {
                    variant: "matmul_presplit",
                    found: 1,
                    expected: 2,
                })?,
                _ => self.0 = Some(inputs.clone()),
            }
            Ok(())
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
    fn a_variant_that_the_device_cannot_run_is_a_row_of_its_own() {
        let rows = rows(&SMALL[..1], &["matmul_presplit", "tiled_matmul"]).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].what, "rust tiled_matmul");
        assert!(matches!(rows[0].outcome, Outcome::Passed(_)), "{rows:?}");
        assert!(matches!(rows[1].outcome, Outcome::Refused(_)), "{rows:?}");
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
