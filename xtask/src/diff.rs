//! `xtask diff`: two sets of results side by side, causes first.

use crate::exit;
use clap::{Args, ValueEnum};
use mage_evidence::diff::{self, FailOn, Outcome, Percent, Side};
use mage_evidence::store::StoreError;
use mage_evidence::verdict::MARGIN;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Compared with: a namespace, published:NAME, or a directory with the two evidence files.
    #[arg(value_name = "A")]
    a: String,
    /// Judged: likewise.
    #[arg(value_name = "B")]
    b: String,
    /// How to print it.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// When to exit with 1: slower, inconclusive (or slower, or gone), never. Controls never fail it.
    #[arg(long, default_value = "never")]
    fail_on: FailOn,
    /// Largest difference that is of no interest, in percent.
    #[arg(long, default_value_t = Percent(MARGIN), allow_hyphen_values = true)]
    margin: Percent,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Aligned text.
    Table,
    /// Markdown.
    Markdown,
    /// JSON.
    Json,
}

/// Compares and prints; 0 the policy is met, 1 it is not, 2 wrong usage, 3 evidence invalid.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut sides = Vec::new();
    for name in [&arguments.a, &arguments.b] {
        match Place::find(root, name) {
            None => return Ok(exit::usage(&unknown(root, name)?)),
            Some(place) => match place.read(name) {
                Ok(side) => sides.push(side),
                Err(error) => return Ok(exit::invalid(error)),
            },
        }
    }
    let diff = match diff::diff(&sides[0], &sides[1], arguments.margin.0) {
        Ok(diff) => diff,
        Err(invalid) => return Ok(exit::invalid(invalid)),
    };
    match arguments.format {
        Format::Table => mage_workspace::out!("{}", diff.text()),
        Format::Markdown => mage_workspace::out!("{}", diff.markdown()),
        Format::Json => mage_workspace::out!("{}", diff.json()?),
    }
    let (code, cases) = match arguments.fail_on.outcome(&diff) {
        Outcome::Met => return Ok(ExitCode::SUCCESS),
        Outcome::Failed(cases) => (exit::FAILED, cases),
        Outcome::Invalid(cases) => (exit::INVALID, cases),
    };
    for case in cases {
        eprintln!("--fail-on {}: {case}", arguments.fail_on);
    }
    Ok(code.into())
}

/// Where a side is.
enum Place {
    Evidence(PathBuf),
    Published(PathBuf),
}

impl Place {
    fn find(root: &Path, name: &str) -> Option<Self> {
        if let Some(name) = name.strip_prefix("published:") {
            let path = published(root).join(format!("{name}.json"));
            return path.is_file().then_some(Self::Published(path));
        }
        // A name is a namespace before it is a directory.
        [mage_workspace::results(root, name), PathBuf::from(name)]
            .into_iter()
            .find(|directory| directory.is_dir())
            .map(Self::Evidence)
    }

    fn read(&self, name: &str) -> Result<Side, StoreError> {
        match self {
            Self::Evidence(directory) => Side::read(name, directory),
            Self::Published(path) => Side::read_published(name, path),
        }
    }
}

fn published(root: &Path) -> PathBuf {
    root.join("experiments/published")
}

fn unknown(root: &Path, name: &str) -> anyhow::Result<String> {
    let mut known = mage_workspace::namespaces(root)?;
    if let Ok(entries) = std::fs::read_dir(published(root)) {
        let mut files: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_string()))
            .map(|stem| format!("published:{stem}"))
            .collect();
        files.sort();
        known.extend(files);
    }
    Ok(format!(
        "found {name:?}, expected one of {}, or a directory with the two evidence files",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_found_by_name_and_by_path() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("docs/assets/results/x")).unwrap();
        std::fs::create_dir_all(root.path().join("experiments/published")).unwrap();
        std::fs::write(root.path().join("experiments/published/y.json"), "{}").unwrap();
        let find = |name: &str| Place::find(root.path(), name);
        assert!(matches!(find("x"), Some(Place::Evidence(_))));
        assert!(matches!(find("published:y"), Some(Place::Published(_))));
        let path = root.path().display().to_string();
        assert!(matches!(find(&path), Some(Place::Evidence(_))));
        assert!(find("z").is_none() && find("published:z").is_none());
        let words = unknown(root.path(), "z").unwrap();
        assert!(words.contains("one of x, published:y"), "{words}");
    }
}
