//! `comparison-errors.json` and its page, from `artifacts/<ns>-errors`.

use crate::{Events, File, Reader};
use mage_evidence::Invalid;
use mage_evidence::artifact::{Build, one_card};
use mage_evidence::errors::{self, Case, Errors, OutputError};
use mage_evidence::implementation::label;
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_evidence::table::{Align, Table};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The evidence of errors and its page; nothing where the namespace has no errors.
///
/// # Errors
/// Names the artifact that is unreadable, unknown, of another namespace, or of other code than was measured.
pub(crate) fn files(root: &Path, namespace: &str, events: &Events) -> anyhow::Result<Vec<File>> {
    let directory = mage_workspace::error_artifacts(root, namespace);
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut reader = Reader::new(&directory)?;
    let mut errors: Errors = reader.json(errors::ARTIFACT, Errors::check)?;
    reader.nothing_else("", &[])?;
    agree(&errors, namespace, events)
        .map_err(|invalid| invalid.in_file(&directory.join(errors::ARTIFACT)))?;
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

/// Refuses errors of another namespace, experiment, card or kernels than were measured; and on the measured inputs, of another
/// kernel or configuration than was measured with.
fn agree(errors: &Errors, namespace: &str, events: &Events) -> Result<(), Invalid> {
    let run = &events.run;
    same("namespace", &errors.namespace.as_str(), &namespace)?;
    same("experiment", &errors.experiment, &run.experiment)?;
    let device = errors.device.as_ref();
    one_card(
        "device.uuid",
        device.and_then(|device| device.uuid.as_deref()),
        run.device.uuid.as_deref(),
    )?;
    // Those that differ alone: there are dozens.
    let differ = |a: &Build, b: &Build| -> BTreeMap<String, String> {
        let mut objects = a.objects_sha256.clone();
        objects.retain(|name, hash| b.objects_sha256.get(name) != Some(hash));
        objects
    };
    same(
        "build.objects_sha256",
        &differ(&errors.build, &run.build),
        &differ(&run.build, &errors.build),
    )?;
    for case in &errors.cases {
        let measured = events.samples.iter().find(|samples| {
            // Inputs of other dims may have the same bytes.
            samples.operation == case.operation
                && samples.dims == case.dims
                && samples.input_sha256 == case.input_sha256
        });
        let Some((samples, round)) = measured.and_then(|s| Some((s, s.rounds.first()?))) else {
            continue;
        };
        for row in case.rows.iter().filter(|row| row.error.is_some()) {
            let name = &row.implementation;
            let place = |field: &str| format!("{} {name}: {field}", case.name);
            let config = samples.choices.get(name).map(|choice| &choice.config);
            same(&place("config"), &row.config.as_ref(), &config)?;
            // On the CPU executor another kernel may stand in for one that only a device has.
            if errors.device.is_some()
                && let Some(measurement) = round.implementations.get(name)
            {
                same(&place("kernel"), &row.kernel, &measurement.kernel)?;
            }
        }
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(
    field: &str,
    found: &T,
    measured: &T,
) -> Result<(), Invalid> {
    match found == measured {
        true => Ok(()),
        false => Err(Invalid::new(
            field,
            format!("{found:?}"),
            format!("{measured:?}, as measured"),
        )
        .help("measure the errors again, with the program of the run")),
    }
}

/// Where the page of a namespace's errors is.
pub fn page_path(namespace: &str) -> PathBuf {
    PathBuf::from(format!("docs/errors/{namespace}.md"))
}

/// The page: what is compared, the rule, two tables an operation.
pub fn page(errors: &Errors) -> String {
    let on = match &errors.device {
        Some(device) => format!("on {}", device.name),
        None => "on the CPU executor".into(),
    };
    let mut text = format!(
        "# Errors of {}\n\n\
         How far whole outputs lie from an FP64 reference, {on}: the largest error and the root of the mean squared error. Made by\n\
         `mage-export` from `artifacts/{}-errors`, never edited. *Scale* is the largest magnitude of the FP64 output: an error is to\n\
         be read against it. Errors are of finite elements; how many are NaN or infinite stands behind them. `standard` inputs are\n\
         those that are measured, or drawn like them at other dims; the others are made hard on purpose\n\
         (`crates/kernels/src/hard.rs`).\n\n",
        errors.experiment, errors.namespace
    );
    text += "## Is Rust's largest error no larger than PyTorch's?\n\nOn standard inputs, where FP32 has to mean FP32:\n\n";
    let standard = |case: &&Case| case.kind == errors::STANDARD;
    text += &judged(errors.cases.iter().filter(standard));
    let mut hard = errors
        .cases
        .iter()
        .filter(|case| !standard(case))
        .peekable();
    if hard.peek().is_some() {
        text += "\nOn hard inputs:\n\n";
        text += &judged(hard);
    }
    for operation in Operation::ALL {
        let cases: Vec<&Case> = errors
            .cases
            .iter()
            .filter(|case| case.operation == operation)
            .collect();
        if cases.is_empty() {
            continue;
        }
        let label = operation.label();
        text += &format!("\n## {label}: largest error\n\n");
        text += &table(&cases, |error| error.max_abs);
        text += &format!("\n## {label}: RMS error\n\n");
        text += &table(&cases, |error| error.rms);
        text += &absent(&cases);
    }
    text + mage_evidence::ALL_RESULTS
}

/// One row a case: both errors of both, and whether the rule holds.
fn judged<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let mut table = Table::new(&[
        ("inputs", Align::Left),
        ("scale", Align::Right),
        ("PyTorch, largest", Align::Right),
        ("Rust, largest", Align::Right),
        ("PyTorch, RMS", Align::Right),
        ("Rust, RMS", Align::Right),
        ("kernel", Align::Left),
        ("no larger", Align::Left),
    ]);
    for case in cases {
        let row = |name: &str| case.rows.iter().find(|row| row.implementation == name);
        let error = |name: &str| row(name).and_then(|row| row.error);
        let (theirs, ours) = (error("python"), error("rust"));
        let shown = |error: Option<OutputError>, of: fn(&OutputError) -> f64| {
            error.map_or("-".into(), |error| value(&error, of))
        };
        table.push(vec![
            format!("{}, {}", case.kind, name(case)),
            number(case.largest_expected),
            shown(theirs, |e| e.max_abs),
            shown(ours, |e| e.max_abs),
            shown(theirs, |e| e.rms),
            shown(ours, |e| e.rms),
            row("rust")
                .and_then(|r| r.kernel.clone())
                .unwrap_or_default(),
            no_larger(theirs, ours),
        ]);
    }
    table.markdown()
}

/// Whether `ours` is no larger than `theirs`. An element that is not finite has no error: where PyTorch has some, its
/// largest error says nothing of them, and nothing is as good as it.
fn no_larger(theirs: Option<OutputError>, ours: Option<OutputError>) -> String {
    let (Some(theirs), Some(ours)) = (theirs, ours) else {
        return "not compared".into();
    };
    match () {
        () if ours.not_finite > theirs.not_finite => "no".into(),
        () if theirs.not_finite > 0 => "not compared: PyTorch's is not finite".into(),
        () if ours.max_abs <= theirs.max_abs => "yes".into(),
        () => "no".into(),
    }
}

/// One row a case, one column an implementation that runs any of them.
fn table(cases: &[&Case], of: fn(&OutputError) -> f64) -> String {
    let names = names(cases);
    let mut columns = vec![("inputs", Align::Left), ("scale", Align::Right)];
    columns.extend(names.iter().map(|name| (label(name), Align::Right)));
    let mut table = Table::new(&columns);
    for case in cases {
        let mut cells = vec![
            format!("{}, {}", case.kind, name(case)),
            number(case.largest_expected),
        ];
        cells.extend(names.iter().map(|name| {
            let row = case.rows.iter().find(|row| row.implementation == *name);
            let error = row.and_then(|row| row.error);
            error.map_or("unavailable".into(), |error| value(&error, of))
        }));
        table.push(cells);
    }
    table.markdown()
}

/// Implementations with an output in any of the cases, in order.
fn names<'a>(cases: &[&'a Case]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in cases.iter().flat_map(|case| &case.rows) {
        if row.error.is_some() && !names.contains(&row.implementation.as_str()) {
            names.push(&row.implementation);
        }
    }
    names
}

/// Each reason for an absence, with the cases that it holds for.
fn absent(cases: &[&Case]) -> String {
    let mut reasons: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for case in cases {
        for row in &case.rows {
            let Some(reason) = &row.unavailable else {
                continue;
            };
            let known = reasons
                .iter_mut()
                .find(|(name, of, _)| *name == row.implementation && of == reason);
            match known {
                Some((_, _, kinds)) => kinds.push(&case.name),
                None => reasons.push((&row.implementation, reason, vec![&case.name])),
            }
        }
    }
    let mut text = String::new();
    for (name, reason, of) in reasons {
        let where_from = match of.len() == cases.len() {
            true => String::new(),
            false => format!(" ({})", of.join(", ")),
        };
        let name = label(name);
        text += &format!("\n{name} is unavailable{where_from}: {reason}.\n");
    }
    text
}

/// An error, and how many elements have none.
fn value(error: &OutputError, of: fn(&OutputError) -> f64) -> String {
    match error.not_finite {
        0 => number(of(error)),
        lost => format!("{}, {lost} not finite", number(of(error))),
    }
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

    fn error(max_abs: f64, not_finite: u64) -> OutputError {
        OutputError {
            max_abs,
            rms: max_abs / 4.0,
            not_finite,
            elements: 4,
        }
    }

    /// By hand: one operation on two kinds of inputs. Triton runs neither, cuSPARSE the first.
    fn cases() -> Vec<Case> {
        let row = |name: &str, error: Option<OutputError>| Row {
            implementation: name.into(),
            kernel: (name == "rust").then(|| "tiled_matmul".into()),
            config: None,
            unavailable: error.is_none().then(|| "no compiler".into()),
            error,
        };
        let case = |kind: &str, theirs, ours, sparse| Case {
            name: format!("matmul-{kind}"),
            operation: Operation::Matmul,
            dims: vec![2, 2, 2],
            kind: kind.into(),
            input_sha256: Default::default(),
            largest_expected: 3.0,
            rows: vec![
                row("python", Some(theirs)),
                row("triton", None),
                row("cusparse", sparse),
                row("rust", Some(ours)),
            ],
        };
        vec![
            case(
                errors::STANDARD,
                error(2e-5, 0),
                error(1e-5, 0),
                Some(error(4e-5, 0)),
            ),
            case("denormals", error(1e-6, 3), error(2e-6, 0), None),
        ]
    }

    #[test]
    fn the_rule_looks_at_what_is_not_finite_on_both_sides() {
        let judged = |theirs, ours| no_larger(Some(theirs), Some(ours));
        assert_eq!(judged(error(2e-5, 0), error(1e-5, 0)), "yes");
        assert_eq!(judged(error(2e-5, 0), error(2e-5, 0)), "yes");
        assert_eq!(judged(error(2e-5, 0), error(3e-5, 0)), "no");
        assert_eq!(judged(error(2e-5, 0), error(1e-5, 1)), "no");
        assert_eq!(judged(error(2e-5, 1), error(1e-5, 2)), "no");
        let not_compared = "not compared: PyTorch's is not finite";
        assert_eq!(judged(error(2e-5, 1), error(1e-5, 0)), not_compared);
        assert_eq!(judged(error(2e-5, 1), error(1e-5, 1)), not_compared);
        assert_eq!(no_larger(None, Some(error(1e-5, 0))), "not compared");
    }

    #[test]
    fn each_input_shows_the_errors_of_each_implementation() {
        let cases = cases();
        let all: Vec<&Case> = cases.iter().collect();
        let largest = table(&all, |error| error.max_abs);
        assert!(!largest.contains("Triton"), "{largest}");
        for row in [
            "| inputs | scale | PyTorch | cuSPARSE | Rust |",
            "| standard, matmul 2 x 2 x 2 | 3.00e0 | 2.00e-5 | 4.00e-5 | 1.00e-5 |",
            "| denormals, matmul 2 x 2 x 2 | 3.00e0 | 1.00e-6, 3 not finite | unavailable | 2.00e-6 |",
        ] {
            assert!(largest.contains(row), "{row}: {largest}");
        }
        let rms = table(&all, |error| error.rms);
        assert!(rms.contains("| 5.00e-6 | 1.00e-5 | 2.50e-6 |"), "{rms}");
        assert_eq!(
            absent(&all),
            "\nTriton is unavailable: no compiler.\n\ncuSPARSE is unavailable (matmul-denormals): no compiler.\n"
        );
        let judged = judged(cases.iter());
        for row in [
            "| 2.00e-5 | 1.00e-5 | 5.00e-6 | 2.50e-6 | tiled_matmul | yes |",
            "| 1.00e-6, 3 not finite | 2.00e-6 | 2.50e-7, 3 not finite | 5.00e-7 | tiled_matmul | not compared: PyTorch's",
        ] {
            assert!(judged.contains(row), "{row}: {judged}");
        }
    }
}
