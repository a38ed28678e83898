//! A checker apart from what measured: every file accounted for, every hash compared, every published number
//! computed again from what it was made from.
//!
//! What proves what: the evidence names the SHA-256 of every artifact, so a changed artifact does not have
//! it; and the evidence is the text that the artifacts give, so a changed evidence file is not that text.
//! Beside that the numbers are computed a second time by code of this module ([`numbers`]), which shares
//! nothing with the exporter. Where both artifacts and evidence were changed together and in agreement, only
//! the history of the repository can tell.

mod beside;
mod counters_again;
mod files;
mod finding;
mod ladder;
mod numbers;
mod provenance;
mod sources;

pub use finding::{Finding, Kind};

use mage_evidence::experiment::check_name;
use mage_evidence::{counters, ladder as ladder_file, profiles, results, store};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// What was found, and what was proved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// What is wrong, by file.
    pub findings: Vec<Finding>,
    /// What could not be checked here, and what is remarkable without being wrong.
    pub notes: Vec<String>,
    /// What was proved, by namespace.
    pub proved: BTreeMap<String, Proved>,
}

/// What was proved, and by what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Of {
    /// A namespace: its numbers are computed a second time.
    #[default]
    Namespace,
    /// A study: its evidence and page are made again.
    Study,
    /// Hardware counters of variants: their list of hashes.
    Counters,
}

/// How much of a namespace, or of what is beside them, was proved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Proved {
    /// Of what.
    pub of: Of,
    /// Files whose bytes are right.
    pub files: usize,
    /// Numbers that were computed again.
    pub numbers: usize,
    /// Full-output checks that passed.
    pub checks: usize,
    /// Captured kernels.
    pub kernels: usize,
    /// Sources whose recorded hash is that of the tree here or of the recorded commit.
    pub sources: usize,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }

    /// How many findings there are of each kind.
    pub fn counts(&self) -> BTreeMap<Kind, usize> {
        let mut counts = BTreeMap::new();
        for finding in &self.findings {
            *counts.entry(finding.kind).or_insert(0) += 1;
        }
        counts
    }

    /// Adds what is wrong.
    fn add(&mut self, kind: Kind, file: impl Into<PathBuf>, text: impl Into<String>) {
        self.findings.push(Finding {
            kind,
            file: file.into(),
            text: text.into(),
        });
    }
}

impl fmt::Display for Report {
    /// A line a finding, a line a note, a line of counts, a line a namespace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        if !self.is_valid() {
            let counts: Vec<String> = self
                .counts()
                .iter()
                .map(|(kind, count)| format!("{count} {kind}"))
                .collect();
            writeln!(f, "invalid: {}", counts.join(", "))?;
        }
        for (name, proved) in &self.proved {
            writeln!(f, "{name}: {proved}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Proved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, .. } = self;
        match self.of {
            Of::Namespace => write!(
                f,
                "{files} files, {} numbers, {} full-output checks, {} kernels, {} sources proved",
                self.numbers, self.checks, self.kernels, self.sources
            ),
            Of::Study => write!(
                f,
                "{files} files proved: the measurements by their SHA-256; evidence and page, every number in them, made again from those"
            ),
            Of::Counters => write!(
                f,
                "{files} files proved by their SHA-256 in {}; what is computed from them is for cargo xtask structure --check",
                beside::SUMS
            ),
        }
    }
}

/// Every namespace below `root` that has evidence or artifacts, sorted.
///
/// # Errors
/// Where a directory cannot be listed.
pub fn namespaces(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = BTreeSet::new();
    for (name, is_directory) in files::entries(root, Path::new(RESULTS))? {
        if is_directory {
            names.insert(name);
        }
    }
    for (name, _) in files::entries(root, Path::new(ARTIFACTS))? {
        if let Some(namespace) = files::namespace_of(&name) {
            names.insert(namespace.to_string());
        }
    }
    Ok(names.into_iter().collect())
}

const ARTIFACTS: &str = "artifacts";
const RESULTS: &str = "docs/assets/results";

/// Verifies every namespace below `root`, and that nothing lies beside them.
///
/// # Errors
/// Where a directory cannot be listed.
pub fn verify_all(root: &Path) -> anyhow::Result<Report> {
    let mut report = Report::default();
    files::beside(root, &mut report)?;
    beside::check(root, &mut report)?;
    let names = namespaces(root)?;
    verify_into(root, &names, &mut report)?;
    Ok(report)
}

/// Verifies these namespaces below `root`.
///
/// # Errors
/// Where a directory cannot be listed.
pub fn verify(root: &Path, namespaces: &[String]) -> anyhow::Result<Report> {
    let mut report = Report::default();
    verify_into(root, namespaces, &mut report)?;
    Ok(report)
}

fn verify_into(root: &Path, namespaces: &[String], report: &mut Report) -> anyhow::Result<()> {
    for namespace in namespaces {
        match check_name(namespace) {
            Ok(()) => one(root, namespace, report)?,
            Err(invalid) => report.add(
                Kind::Path,
                Path::new(RESULTS).join(namespace),
                format!("the namespace's name: {invalid}"),
            ),
        }
    }
    report.findings.sort();
    report.findings.dedup();
    Ok(())
}

/// Paths of a namespace, relative to the root.
struct Places {
    events: PathBuf,
    captures: PathBuf,
    /// What a ladder run leaves; it, and the evidence of it, need not be there.
    ladder: PathBuf,
    results_file: PathBuf,
    profiles_file: PathBuf,
    ladder_file: PathBuf,
    errors: PathBuf,
    errors_file: PathBuf,
    /// Where a namespace has counters, which it need not have.
    counted: PathBuf,
    counters_file: PathBuf,
}

impl Places {
    fn of(namespace: &str) -> Self {
        let here = Path::new("");
        let results = mage_workspace::results(here, namespace);
        Self {
            events: mage_workspace::artifacts(here, namespace),
            captures: mage_workspace::profile_artifacts(here, namespace),
            ladder: mage_workspace::ladder_artifacts(here, namespace),
            results_file: results.join(results::FILE),
            profiles_file: results.join(profiles::FILE),
            ladder_file: results.join(ladder_file::FILE),
            errors: mage_workspace::error_artifacts(here, namespace),
            errors_file: results.join(mage_evidence::errors::FILE),
            counted: mage_workspace::counter_artifacts(here, namespace),
            counters_file: results.join(counters::FILE),
        }
    }
}

fn one(root: &Path, namespace: &str, report: &mut Report) -> anyhow::Result<()> {
    let places = Places::of(namespace);
    let mut proved = Proved::default();
    let before = report.findings.len();
    let read = files::account(root, &places, &mut proved, report)?;
    if root.join(&places.errors_file).exists() || root.join(&places.errors).exists() {
        let page = crate::errors::page_path(namespace);
        let hint = "expected the page of the errors; run mage-export";
        files::page(root, &page, hint, report);
    }
    let made = || crate::evidence(root, namespace);
    let hint = "run mage-export, or restore the file";
    again(root, made, &places.events, hint, &read, &mut proved, report);
    numbers::check(&places, &read, &mut proved, report);
    ladder::numbers(&places, &read, &mut proved, report);
    counters_again::check(&places, &read, &mut proved, report);
    // What the evidence says of itself is worth reading only where it is whole.
    if report.findings.len() == before {
        provenance::check(root, &places, &mut proved, report)?;
    }
    report.proved.insert(namespace.to_string(), proved);
    Ok(())
}

/// Compares the text that the artifacts in `place` give, which is what `make` makes, with what is there. Artifacts that
/// are known to be wrong, which is said already, prove nothing: they are not read again.
fn again(
    root: &Path,
    make: impl FnOnce() -> anyhow::Result<Vec<crate::File>>,
    place: &Path,
    hint: &str,
    read: &files::Read,
    proved: &mut Proved,
    report: &mut Report,
) {
    if read.artifacts_altered {
        report.notes.push(format!(
            "{}: the evidence is not proved while the artifacts that it is made from are altered",
            place.display()
        ));
        return;
    }
    let files = match make() {
        Ok(files) => files,
        Err(error) => {
            report.add(Kind::Inconsistent, place, format!("{error:#}"));
            return;
        }
    };
    for file in files {
        // What is missing has been reported as such.
        let Ok(found) = store::read_bytes(&root.join(&file.path)) else {
            continue;
        };
        if found == file.text.as_bytes() {
            proved.files += 1;
        } else {
            let (kind, text) = finding::difference(&found, file.text.as_bytes());
            report.add(kind, file.path, format!("{text}; {hint}"));
        }
    }
}
