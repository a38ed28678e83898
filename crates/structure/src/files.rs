//! What is committed of a report, `docs/structure/<experiment>.json` and `.md`, and the proof that it is what the
//! sources give.

use crate::counters::compare::{self, Comparison, EXPLANATIONS, compare};
use crate::counters::stored;
use crate::page;
use crate::report::{Entry, LeftOut, Report, SCHEMA_VERSION, count, selection, source_sha256};
use anyhow::{Context, bail};
use mage_evidence::experiment::{Case, Experiment};
use mage_evidence::operation::Operation;
use mage_evidence::{Invalid, store};
use mage_kernels::variants::Variant;
use mage_workspace::progress::Progress;
use std::path::{Path, PathBuf};

/// The committed report of an experiment, without extension.
fn path(root: &Path, experiment: &str) -> PathBuf {
    root.join("docs/structure").join(experiment)
}

/// Counts an experiment's operations, or the one of `only`, and compares with every stored run of counters.
///
/// # Errors
/// As [`count`], and where a stored run or an explanation is not as it should be.
pub fn report(
    root: &Path,
    experiment: &Experiment,
    only: Option<Operation>,
) -> anyhow::Result<Report> {
    let (mut entries, mut left_out) = (Vec::new(), Vec::new());
    let selection = selection(experiment, only)?;
    let mut progress = Progress::new(selection.len() as u64);
    for (case, variant) in selection {
        progress.step(variant.id);
        match count(root, experiment, case, variant)? {
            Ok(entry) => entries.push(entry),
            Err(reason) => left_out.push(reason),
        }
    }
    progress.finish();
    finish(root, experiment, entries, left_out)
}

fn finish(
    root: &Path,
    experiment: &Experiment,
    entries: Vec<Entry>,
    left_out: Vec<LeftOut>,
) -> anyhow::Result<Report> {
    let comparisons = comparisons(root, experiment, &entries)?;
    Ok(Report::new(experiment, entries, left_out, comparisons))
}

/// The stored runs of this experiment's dims against the entries.
fn comparisons(
    root: &Path,
    experiment: &Experiment,
    entries: &[Entry],
) -> anyhow::Result<Vec<Comparison>> {
    let path = root.join(EXPLANATIONS);
    let text = store::read_text(&path)?;
    let in_file = |invalid: Invalid| invalid.in_file(&path);
    let explanations = compare::explanations(&text).map_err(in_file)?;
    let stored = stored::all(root)?;
    if let Some(unknown) = explanations
        .iter()
        .find(|e| stored.iter().all(|run| run.name != e.run()))
    {
        let known: Vec<&str> = stored.iter().map(|run| run.name.as_str()).collect();
        let expected = format!("a stored run, of which there are [{}]", known.join(", "));
        let invalid = Invalid::new("explanation.run", format!("{:?}", unknown.run()), expected);
        return Err(in_file(invalid).into());
    }
    let of_experiment = stored
        .iter()
        .filter(|run| run.run.experiment == experiment.name);
    of_experiment
        .map(|run| compare(run, entries, &explanations).map_err(|e| in_file(e).into()))
        .collect()
}

/// The files of a report, by path.
fn files(root: &Path, report: &Report) -> anyhow::Result<[(PathBuf, String); 2]> {
    let stem = path(root, &report.experiment);
    let json = store::to_json(report).map_err(|e| e.in_file(&stem.with_extension("json")))?;
    Ok([
        (stem.with_extension("json"), json),
        (stem.with_extension("md"), page::markdown(report)),
    ])
}

/// Commits a report.
///
/// # Errors
/// Where a file cannot be written.
pub fn write(root: &Path, report: &Report) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for (path, text) in files(root, report)? {
        store::write_bytes(&path, text.as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

/// What a check proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proved {
    /// Variants that were counted again.
    pub counted: usize,
    /// Variants of which only the source was compared.
    pub by_source: usize,
}

/// Proves the committed report: counts the variants that the experiment measures again, or with `all` every one,
/// compares the source of the others with the hash that they were counted from, and makes both files again.
///
/// # Errors
/// Names what differs.
pub fn check(root: &Path, experiment: &Experiment, all: bool) -> anyhow::Result<Proved> {
    let json = path(root, &experiment.name).with_extension("json");
    let again = format!(
        "run `cargo xtask structure --experiment {} --write`",
        experiment.name
    );
    let committed: Report = store::read_json(&json).with_context(|| again.clone())?;
    if committed.schema_version != SCHEMA_VERSION {
        let expected = SCHEMA_VERSION.to_string();
        let invalid = Invalid::new("schema_version", committed.schema_version, expected);
        return Err(invalid.in_file(&json).into());
    }
    let (mut entries, mut left_out) = (Vec::new(), Vec::new());
    let mut proved = Proved {
        counted: 0,
        by_source: 0,
    };
    let selection = selection(experiment, None)?;
    // What is counted is what takes long: each is named before it.
    let by_source = |case: &Case, variant: &Variant| {
        let known = committed.entry(variant.id);
        known.filter(|_| !all && case.variant != variant.id)
    };
    let counted = selection
        .iter()
        .filter(|(case, variant)| by_source(case, variant).is_none())
        .count();
    let mut progress = Progress::new(counted as u64);
    for (case, variant) in selection {
        match by_source(case, variant) {
            Some(known) => {
                let source = source_sha256(root, variant.id)?;
                if source != known.source_sha256 {
                    bail!(
                        "{}: its source has changed since it was counted; {again}",
                        variant.id
                    );
                }
                entries.push(known.clone());
                proved.by_source += 1;
            }
            None => {
                progress.step(variant.id);
                match count(root, experiment, case, variant)? {
                    Ok(entry) => {
                        let known = committed.entry(variant.id);
                        if known.is_some_and(|known| known.counts != entry.counts) {
                            bail!(
                                "{}: {}: its counts are others; {again}",
                                json.display(),
                                variant.id
                            );
                        }
                        entries.push(entry);
                        proved.counted += 1;
                    }
                    Err(reason) => left_out.push(reason),
                }
            }
        }
    }
    progress.finish();
    let report = finish(root, experiment, entries, left_out)?;
    for (path, text) in files(root, &report)? {
        if store::read_text(&path)? != text {
            bail!(
                "{}: differs from what the sources give; {again}",
                path.display()
            );
        }
    }
    let open: Vec<String> = report
        .comparisons
        .iter()
        .flat_map(Comparison::unexplained)
        .collect();
    if !open.is_empty() {
        bail!("{EXPLANATIONS}: no explanation of {}", open.join("; "));
    }
    Ok(proved)
}
