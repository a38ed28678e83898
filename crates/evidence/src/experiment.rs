//! An experiment as data: what is measured, how, and the words that stand beside the tables.
//!
//! A spec is one TOML file, `experiments/<name>.toml`. A new experiment is a new file, no code.

use crate::error::Invalid;
use crate::hash;
use crate::operation::Operation;
use crate::stats::MIN_UNITS;
use crate::store::{self, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// A whole experiment. Unknown keys are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name, which is the file's stem and the default namespace.
    pub name: String,
    /// Title of its field note.
    pub title: String,
    /// The experiment that it is compared with.
    pub baseline: Option<String>,
    /// Published values to stand beside it, relative to the spec's directory.
    pub published: Option<PathBuf>,
    /// Seed of every operation's fresh generator.
    pub seed: u64,
    /// Implementations, in the order of the first round.
    pub implementations: Vec<String>,
    /// Rounds, calls and captures.
    pub protocol: Protocol,
    /// How the ladder of kernel variants is measured; absent where it is not.
    pub ladder: Option<Ladder>,
    /// Bound of the full-output check.
    pub tolerance: Tolerance,
    /// Prose beside the tables.
    pub words: Words,
    /// What is measured, in the order in which it is shown.
    pub operations: Vec<Case>,
}

/// Captures a case of an experiment that does not say: the fewest that give kernel time an interval.
pub const CAPTURES: u32 = MIN_UNITS as u32;

const fn captures() -> u32 {
    CAPTURES
}

/// How often each thing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    /// Harness rounds an operation; the order of implementations rotates by one place a round.
    pub rounds: u32,
    /// Measured calls an implementation and round.
    pub iterations: u32,
    /// Calls before them.
    pub warmup: u32,
    /// Nsight Systems captures an operation and implementation; [`CAPTURES`] where a spec does not say.
    #[serde(default = "captures")]
    pub captures: u32,
    /// Calls inside a capture's range.
    pub capture_iterations: u32,
}

/// Every kernel variant of every operation, measured beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Nsight Systems captures an operation, each with every variant; calls are those of the protocol.
    pub captures: u32,
}

impl Ladder {
    /// Refuses numbers out of range.
    ///
    /// # Errors
    /// [`Invalid`] naming the number.
    pub fn check(self) -> Result<(), Invalid> {
        match self.captures {
            1..=1000 => Ok(()),
            captures => Err(Invalid::new("captures", captures, "1 to 1000")),
        }
    }
}

/// `|actual - expected| <= atol + rtol * |expected|` for every element.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// Relative part.
    pub rtol: f64,
    /// Absolute part.
    pub atol: f64,
}

/// Prose that stands beside the tables and figures; Markdown paragraphs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// What was asked and what was changed.
    pub summary: String,
    /// Beside kernel times.
    pub kernel_time: String,
    /// Beside event spans.
    pub event_span: String,
    /// Beside launches.
    pub launches: String,
    /// Beside the comparison with the baseline; empty without a baseline.
    #[serde(default)]
    pub improvements: String,
    /// What the evidence does not say.
    pub limits: String,
}

/// One operation of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Which operation.
    pub name: Operation,
    /// Its dims, in the order of [`Operation::dim_names`].
    pub dims: Vec<u32>,
    /// The kernel variant that the `rust` implementation runs.
    pub variant: String,
    /// SHA-256 of each input file; the generator's bytes must match.
    pub sha256: BTreeMap<String, String>,
}

/// Allowed values of the protocol's numbers.
impl Protocol {
    /// Refuses numbers out of range.
    ///
    /// # Errors
    /// [`Invalid`] naming the number.
    pub fn check(&self) -> Result<(), Invalid> {
        for (field, value, low, high) in [
            ("rounds", self.rounds, 1, u32::MAX),
            ("iterations", self.iterations, 1, 100_000),
            ("warmup", self.warmup, 0, 10_000),
            ("captures", self.captures, 1, 1_000),
            ("capture_iterations", self.capture_iterations, 1, 100_000),
        ] {
            if !(low..=high).contains(&value) {
                let expected = match high {
                    u32::MAX => format!("at least {low}"),
                    _ => format!("{low} to {high}"),
                };
                return Err(Invalid::new(field, value, expected));
            }
        }
        Ok(())
    }
}

impl Experiment {
    /// [`Experiment::load`] for a name that stood behind `--experiment`.
    ///
    /// # Errors
    /// As [`Experiment::load`]; an unknown name is refused as that flag's.
    pub fn named(root: &Path, name: &str) -> Result<Self, StoreError> {
        Self::load(root, name).map_err(|error| match error {
            StoreError::Invalid(mut invalid) if invalid.file.is_none() => {
                invalid.field = format!("--{}", invalid.field);
                invalid.into()
            }
            error => error,
        })
    }

    /// Reads and checks `experiments/<name>.toml` below `root`.
    ///
    /// # Errors
    /// [`StoreError`]; an unknown name lists the known ones.
    pub fn load(root: &Path, name: &str) -> Result<Self, StoreError> {
        let known = Self::names(root)?;
        if !known.iter().any(|k| k == name) {
            return Err(Invalid::new(
                "experiment",
                format!("{name:?}"),
                format!("one of {}", known.join(", ")),
            )
            .help(format!(
                "a new experiment is a new file {}",
                Self::path(root, name).display()
            ))
            .into());
        }
        let path = Self::path(root, name);
        let experiment = Self::read(&path)?;
        experiment
            .check_references(&known)
            .map_err(|invalid| invalid.in_file(&path))?;
        Ok(experiment)
    }

    /// Refuses a baseline that is no other experiment, and published values from elsewhere.
    fn check_references(&self, known: &[String]) -> Result<(), Invalid> {
        if let Some(baseline) = &self.baseline
            && (*baseline == self.name || !known.contains(baseline))
        {
            return Err(Invalid::new(
                "baseline",
                format!("{baseline:?}"),
                format!("another one of {}", known.join(", ")),
            ));
        }
        if let Some(published) = &self.published
            && published
                .components()
                .any(|part| !matches!(part, Component::Normal(_)))
        {
            return Err(Invalid::new(
                "published",
                format!("{published:?}"),
                "a path below experiments/",
            ));
        }
        Ok(())
    }

    /// Where the spec of `name` is below `root`.
    pub fn path(root: &Path, name: &str) -> PathBuf {
        root.join("experiments").join(format!("{name}.toml"))
    }

    /// Names of all experiments below `root`, sorted.
    ///
    /// # Errors
    /// [`StoreError`] where the directory cannot be read.
    pub fn names(root: &Path) -> Result<Vec<String>, StoreError> {
        let directory = root.join("experiments");
        let entries = std::fs::read_dir(&directory).map_err(store::io_error("list", &directory))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let is_spec = path.extension().is_some_and(|e| e == "toml");
                is_spec.then(|| path.file_stem()?.to_str().map(str::to_string))?
            })
            .collect();
        names.sort();
        Ok(names)
    }

    /// Reads and checks one spec file.
    ///
    /// # Errors
    /// [`StoreError`] naming the file and the field.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let text = store::read_text(path)?;
        let experiment = Self::parse(&text).map_err(|invalid| invalid.in_file(path))?;
        if path.file_stem().and_then(|s| s.to_str()) != Some(&experiment.name) {
            return Err(Invalid::new(
                "name",
                format!("{:?}", experiment.name),
                "the file's own name without .toml",
            )
            .in_file(path)
            .into());
        }
        Ok(experiment)
    }

    /// Parses and checks a spec's text.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let experiment: Self = toml::from_str(text).map_err(|error| {
            Invalid::new(
                "",
                error.to_string().trim_end(),
                "a spec as CONTRIBUTING.md describes",
            )
        })?;
        experiment.check()?;
        Ok(experiment)
    }

    fn check(&self) -> Result<(), Invalid> {
        check_name(&self.name).map_err(|e| e.under("name"))?;
        self.protocol.check().map_err(|e| e.under("protocol"))?;
        if let Some(ladder) = self.ladder {
            ladder.check().map_err(|e| e.under("ladder"))?;
        }
        let Tolerance { rtol, atol } = self.tolerance;
        for (field, value) in [("tolerance.rtol", rtol), ("tolerance.atol", atol)] {
            if !(0.0..1.0).contains(&value) {
                return Err(Invalid::new(field, value, "at least 0 and below 1"));
            }
        }
        if self.implementations.is_empty() {
            return Err(Invalid::new("implementations", "none", "at least one"));
        }
        unique("implementations", self.implementations.iter())?;
        if self.operations.is_empty() {
            return Err(Invalid::new("operations", "none", "at least one"));
        }
        unique(
            "operations",
            self.operations.iter().map(|case| case.name.name()),
        )?;
        for (i, case) in self.operations.iter().enumerate() {
            case.check()
                .map_err(|e| e.under(&format!("operations[{i}]")))?;
        }
        Ok(())
    }

    /// The case of `operation`, where the experiment has one.
    pub fn case(&self, operation: Operation) -> Option<&Case> {
        self.operations.iter().find(|case| case.name == operation)
    }
}

impl Case {
    fn check(&self) -> Result<(), Invalid> {
        self.name.check_dims(&self.dims)?;
        let files: BTreeSet<&str> = self
            .name
            .inputs(&self.dims)
            .iter()
            .map(|f| f.name)
            .collect();
        let listed: BTreeSet<&str> = self.sha256.keys().map(String::as_str).collect();
        if files != listed {
            return Err(Invalid::new(
                "sha256",
                format!("hashes of {listed:?}"),
                format!("one for each input file of {}: {files:?}", self.name),
            ));
        }
        for (file, digest) in &self.sha256 {
            if !hash::is_sha256(digest) {
                return Err(Invalid::new(
                    format!("sha256.{file}"),
                    format!("{digest:?}"),
                    "64 lower-case hexadecimal digits",
                ));
            }
        }
        Ok(())
    }
}

/// Refuses names that could leave their directory or confuse a shell: a name has letters, digits, `-`,
/// `_` and `.`, and starts with a letter or digit.
///
/// # Errors
/// [`Invalid`] without a field.
pub fn check_name(name: &str) -> Result<(), Invalid> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && name.len() <= 100 && name.chars().all(allowed) {
        return Ok(());
    }
    Err(Invalid::new(
        "",
        format!("{name:?}"),
        "letters, digits, '-', '_' and '.', starting with a letter or digit, at most 100",
    ))
}

fn unique<T: AsRef<str>>(field: &str, names: impl Iterator<Item = T>) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name.as_ref().to_string()) {
            return Err(Invalid::new(
                field,
                format!("{:?} twice", name.as_ref()),
                "each once",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> String {
        let digest = "0".repeat(64);
        format!(
            r#"
name = "x-1"
title = "T"
seed = 7
implementations = ["python", "rust"]
[protocol]
rounds = 3
iterations = 100
warmup = 25
captures = 1
capture_iterations = 100
[tolerance]
rtol = 1e-4
atol = 1e-4
[words]
summary = ""
kernel_time = ""
event_span = ""
launches = ""
limits = ""
[[operations]]
name = "gelu"
dims = [3, 257]
variant = "bias_gelu"
sha256 = {{ "a.bin" = "{digest}", "b.bin" = "{digest}" }}
"#
        )
    }

    #[test]
    fn a_good_spec_parses() {
        let experiment = Experiment::parse(&spec()).unwrap();
        assert_eq!(experiment.case(Operation::Gelu).unwrap().dims, [3, 257]);
        assert!(experiment.case(Operation::Matmul).is_none());
    }

    #[test]
    fn captures_that_a_spec_leaves_out_are_enough_for_an_interval() {
        let spec = spec().replace("captures = 1\n", "");
        let experiment = Experiment::parse(&spec).unwrap();
        assert_eq!(experiment.protocol.captures, 3);
    }

    /// Each edit of the good spec, and what the error must name.
    #[test]
    fn bad_specs_name_the_field() {
        for (from, to, expected) in [
            ("seed = 7", "seed = 7\nspeed = 1", "unknown field `speed`"),
            ("\"gelu\"", "\"gelo\"", "gelo"),
            ("[3, 257]", "[3]", "operations[0].dims: found 1 values"),
            ("[3, 257]", "[0, 257]", "rows = 0"),
            ("[3, 257]", "[65536, 65536]", "2^31-1"),
            (
                "rounds = 3",
                "rounds = 0",
                "protocol.rounds: found 0, expected at least 1",
            ),
            (
                "iterations = 100\nwarm",
                "iterations = 100001\nwarm",
                "1 to 100000",
            ),
            ("warmup = 25", "warmup = 10001", "0 to 10000"),
            (
                "[tolerance]",
                "[ladder]\ncaptures = 0\n[tolerance]",
                "ladder.captures: found 0, expected 1 to 1000",
            ),
            (
                "[tolerance]",
                "[ladder]\nrounds = 3\n[tolerance]",
                "unknown field `rounds`",
            ),
            ("rtol = 1e-4", "rtol = nan", "tolerance.rtol"),
            (
                "[\"python\", \"rust\"]",
                "[]",
                "implementations: found none",
            ),
            ("\"rust\"]", "\"python\"]", "\"python\" twice"),
            ("name = \"x-1\"", "name = \"../x\"", "name: found"),
            ("\"b.bin\"", "\"c.bin\"", "operations[0].sha256"),
            ("\"b.bin\" = \"0", "\"b.bin\" = \"G", "sha256.b.bin"),
            ("title = \"T\"\n", "", "missing field `title`"),
        ] {
            let text = spec().replacen(from, to, 1);
            assert_ne!(text, spec(), "the edit {from:?} must apply");
            let error = Experiment::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{from} -> {to}: {error}");
        }
    }

    #[test]
    fn a_spec_under_another_name_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("y.toml");
        std::fs::write(&path, spec()).unwrap();
        let error = Experiment::read(&path).unwrap_err().to_string();
        assert!(error.contains("y.toml: name"), "{error}");
    }

    #[test]
    fn names_that_leave_the_tree_are_refused() {
        for bad in ["", "..", "../a", "a/b", "a b", "-a", ".a", "a\n"] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        check_name("mage-002-h200.2026-11-29").unwrap();
    }
}
