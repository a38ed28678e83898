//! Correctness without timing: every case of a suite, every implementation and every kernel variant.

use crate::implementation::Implementation;
use crate::interrupt;
use crate::progress::Progress;
use crate::verify::{self, Expected};
use anyhow::bail;
use mage_kernels::compare::TOLERANCE;
use mage_kernels::inputs::SEED;
use mage_kernels::reference::reference;
use mage_kernels::suite::Case;
use mage_kernels::variants;

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
    /// The kernel uses an instruction that the CPU executor does not emulate: nothing was checked.
    DeviceOnly(String),
}

impl Outcome {
    /// Whether the whole output was checked and agrees.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Passed(_))
    }
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
                true => variants::of(case.operation).map(|v| v.id).collect(),
                false => vec![""],
            };
            for variant in asked {
                implementation.load(&inputs, &files, variant)?;
                let outcome = verify::check(implementation.as_mut(), &expected);
                rows.push(Row {
                    case: case.name,
                    device: "cuda",
                    what: [implementation.name(), variant]
                        .join(" ")
                        .trim_end()
                        .to_string(),
                    kernel: implementation.kernel().map(str::to_string),
                    outcome: match outcome {
                        Ok(check) => Outcome::Passed(check.fp64.max_abs_error),
                        Err(error) => Outcome::Failed(format!("{error:#}")),
                    },
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
        "{:<26} {:<30} {:<6} {:<24} max error\n",
        "case", "implementation", "device", "kernel"
    );
    for row in rows {
        let kernel = row.kernel.as_deref().unwrap_or("-");
        let outcome = match &row.outcome {
            Outcome::Passed(error) => format!("{error:.2e}"),
            Outcome::Failed(reason) => format!("FAILED: {reason}"),
            Outcome::DeviceOnly(reason) => reason.clone(),
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

/// How many checks passed and how many could not be made here, in words; none of them may have failed.
pub fn summary(rows: &[Row]) -> String {
    let passed = rows.iter().filter(|row| row.outcome.passed()).count();
    match rows.len() - passed {
        0 => format!("{passed} checks passed"),
        rest => format!("{passed} checks passed, {rest} not made: device only"),
    }
}
