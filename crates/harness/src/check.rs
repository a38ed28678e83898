//! Correctness without timing: every case of a suite, every implementation and every kernel variant.

use crate::implementation::Implementation;
use crate::interrupt;
use crate::progress::Progress;
use crate::verify::{self, Expected};
use mage_kernels::compare::TOLERANCE;
use mage_kernels::inputs::SEED;
use mage_kernels::reference::reference;
use mage_kernels::suite::Case;
use mage_kernels::variants::{self, Status};

/// One row of the outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name of the case.
    pub case: &'static str,
    /// Implementation, and for `rust` the variant asked for.
    pub what: String,
    /// The kernel that ran, for `rust`.
    pub kernel: Option<String>,
    /// Largest absolute error against the FP64 reference, or why it failed.
    pub outcome: Result<f64, String>,
}

/// Checks every case with every implementation; `rust` with every variant of the operation. A variant that
/// does not take a case's dims is checked as it is dispatched, by its general kernel.
///
/// # Errors
/// What keeps a case from being called at all, and an interrupt; a failed check is a [`Row`].
pub fn suite(
    cases: &[Case],
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
                true => variants::of(case.operation)
                    .filter(|v| v.status != Status::Twin)
                    .map(|v| v.id)
                    .collect(),
                false => vec![""],
            };
            for variant in asked {
                implementation.load(&inputs, &files, variant)?;
                let outcome = verify::check(implementation.as_mut(), &expected);
                rows.push(Row {
                    case: case.name,
                    what: [implementation.name(), variant]
                        .join(" ")
                        .trim_end()
                        .to_string(),
                    kernel: implementation.kernel().map(str::to_string),
                    outcome: outcome
                        .map(|check| check.fp64.max_abs_error)
                        .map_err(|error| format!("{error:#}")),
                });
            }
        }
    }
    progress.finish();
    Ok(rows)
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
            Ok(error) => format!("{error:.2e}"),
            Err(reason) => format!("FAILED: {reason}"),
        };
        text += &format!("{:<26} {:<30} {kernel:<24} {outcome}\n", row.case, row.what);
    }
    text
}
