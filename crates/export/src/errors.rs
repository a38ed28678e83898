//! `comparison-errors.json` and its page, from `artifacts/<ns>-errors`.

use crate::{File, Reader};
use anyhow::bail;
use mage_evidence::errors::{self, Case, Errors, OutputError};
use mage_evidence::implementation::label;
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_evidence::table::{Align, Table};
use std::path::{Path, PathBuf};

/// The evidence of errors and its page; nothing where the namespace has no errors.
///
/// # Errors
/// Names the artifact that is unreadable, unknown or of another namespace.
pub fn files(root: &Path, namespace: &str) -> anyhow::Result<Vec<File>> {
    let directory = mage_workspace::error_artifacts(root, namespace);
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut reader = Reader::new(&directory)?;
    let mut errors: Errors = reader.json(errors::ARTIFACT, Errors::check)?;
    reader.nothing_else("", &[])?;
    if errors.namespace != namespace {
        bail!(
            "{}: namespace: found {:?}, expected {namespace:?}",
            directory.join(errors::ARTIFACT).display(),
            errors.namespace
        );
    }
    errors.artifacts_sha256 = reader.sha256;
    Ok(vec![
        File {
            path: mage_workspace::results(Path::new(""), namespace).join(errors::FILE),
            text: store::to_json(&errors)?,
        },
        File {
            path: page_path(namespace),
            text: page(&errors),
        },
    ])
}

/// Where the page of a namespace's errors is.
pub fn page_path(namespace: &str) -> PathBuf {
    PathBuf::from(format!("docs/errors/{namespace}.md"))
}

/// The page: what is compared, the rule, a table an operation.
pub fn page(errors: &Errors) -> String {
    let on = match &errors.device {
        Some(device) => format!("on {}", device.name),
        None => "on the CPU executor".into(),
    };
    let mut text = format!(
        "# Errors of {}\n\n\
         Largest and root-mean-square error of whole outputs against an FP64 reference, {on}; made by `mage-export` from\n\
         `artifacts/{}-errors`, never edited. *Scale* is the largest magnitude of the FP64 output of the case: an error is to be\n\
         read against it. *Not finite* counts elements that are NaN or infinite, which no error covers. `standard` inputs are those\n\
         that are measured, or at other dims drawn as they are; the others are made hard on purpose (`crates/kernels/src/hard.rs`).\n\n",
        errors.experiment, errors.namespace
    );
    text += "## FP32 means FP32\n\nThe largest error of the Rust kernel beside PyTorch's, on standard inputs:\n\n";
    text += &judged(&errors.cases);
    for operation in Operation::ALL {
        let cases: Vec<&Case> = errors
            .cases
            .iter()
            .filter(|case| case.operation == operation)
            .collect();
        if cases.is_empty() {
            continue;
        }
        text += &format!("\n## {}\n\n", operation.label());
        text += &table(&cases);
    }
    text
}

/// One row a standard case: both errors and whether the rule holds.
fn judged(cases: &[Case]) -> String {
    let mut table = Table::new(&[
        ("case", Align::Left),
        ("PyTorch", Align::Right),
        ("Rust", Align::Right),
        ("kernel", Align::Left),
        ("Rust is no larger", Align::Left),
    ]);
    for case in cases.iter().filter(|c| c.kind == errors::STANDARD) {
        let row = |name: &str| case.rows.iter().find(|row| row.implementation == name);
        let error = |name: &str| row(name).and_then(|row| row.error);
        let (theirs, ours) = (error("python"), error("rust"));
        let holds = match (theirs, ours) {
            (Some(theirs), Some(ours)) => {
                match ours.not_finite == 0 && ours.max_abs <= theirs.max_abs {
                    true => "yes",
                    false => "no",
                }
            }
            _ => "not compared",
        };
        let shown = |error: Option<OutputError>| error.map_or("-".into(), |e| number(e.max_abs));
        table.push(vec![
            name(case),
            shown(theirs),
            shown(ours),
            row("rust")
                .and_then(|r| r.kernel.clone())
                .unwrap_or_default(),
            holds.into(),
        ]);
    }
    table.markdown()
}

fn table(cases: &[&Case]) -> String {
    let mut table = Table::new(&[
        ("inputs", Align::Left),
        ("scale", Align::Right),
        ("implementation", Align::Left),
        ("largest error", Align::Right),
        ("RMS error", Align::Right),
        ("not finite", Align::Right),
    ]);
    for case in cases {
        for (i, row) in case.rows.iter().enumerate() {
            let (inputs, scale) = match i {
                0 => (
                    format!("{}, {}", case.kind, name(case)),
                    number(case.largest_expected),
                ),
                _ => (String::new(), String::new()),
            };
            let mut cells = vec![inputs, scale, label(&row.implementation).to_string()];
            match (&row.error, &row.unavailable) {
                (Some(error), _) => cells.extend([
                    number(error.max_abs),
                    number(error.rms),
                    error.not_finite.to_string(),
                ]),
                (None, reason) => cells.push(format!(
                    "unavailable: {}",
                    reason.as_deref().unwrap_or("no reason given")
                )),
            }
            table.push(cells);
        }
    }
    table.markdown()
}

fn name(case: &Case) -> String {
    let dims: Vec<String> = case.dims.iter().map(u32::to_string).collect();
    format!("{} {}", case.operation, dims.join(" x "))
}

fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_evidence::errors::Row;

    /// By hand: one standard case of which Rust's error is `ours`, PyTorch's 2e-5, and Triton does not run.
    fn page(ours: OutputError) -> String {
        let row = |name: &str, error: Option<OutputError>| Row {
            implementation: name.into(),
            kernel: (name == "rust").then(|| "tiled_matmul".into()),
            config: None,
            unavailable: error.is_none().then(|| "no compiler".into()),
            error,
        };
        let theirs = OutputError {
            max_abs: 2e-5,
            rms: 1e-6,
            not_finite: 0,
            elements: 4,
        };
        let case = Case {
            name: "matmul".into(),
            operation: Operation::Matmul,
            dims: vec![2, 2, 2],
            kind: errors::STANDARD.into(),
            input_sha256: Default::default(),
            largest_expected: 3.0,
            rows: vec![
                row("python", Some(theirs)),
                row("triton", None),
                row("rust", Some(ours)),
            ],
        };
        format!("{}{}", table(&[&case]), judged(&[case]))
    }

    #[test]
    fn the_rule_is_judged_and_absence_has_its_reason() {
        let ours = OutputError {
            max_abs: 1e-5,
            rms: 1e-6,
            not_finite: 0,
            elements: 4,
        };
        let text = page(ours);
        assert!(text.contains("| standard, matmul 2 x 2 x 2 | 3.00e0 | PyTorch | 2.00e-5 |"));
        assert!(
            text.contains("| Triton | unavailable: no compiler |"),
            "{text}"
        );
        assert!(text.contains("| 1.00e-5 | tiled_matmul | yes |"), "{text}");
        let larger = page(OutputError {
            max_abs: 3e-5,
            ..ours
        });
        assert!(
            larger.contains("| 3.00e-5 | tiled_matmul | no |"),
            "{larger}"
        );
        let lost = page(OutputError {
            not_finite: 1,
            ..ours
        });
        assert!(lost.contains("| tiled_matmul | no |"), "{lost}");
    }
}
