//! Evidence from artifacts: the two files that everything downstream reads, made again byte for byte from
//! the same artifacts on any machine.
//!
//! Derived values (means, medians, kernel times, launches) are computed here and nowhere before.

pub mod cli;
mod profiles;
mod results;

use anyhow::{Context, bail};
use mage_evidence::artifact::{Capture, Profile, Run, Samples};
use mage_evidence::operation::Operation;
use mage_evidence::{hash, profiles as profiles_file, results as results_file, store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One evidence file: its path from the workspace root and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Path relative to the root.
    pub path: PathBuf,
    /// The file's text.
    pub text: String,
}

/// The evidence of a namespace, made from its artifacts. Reads; writes nothing.
///
/// # Errors
/// Names the artifact that is missing, unknown, inconsistent with the others or out of range.
pub fn evidence(root: &Path, namespace: &str) -> anyhow::Result<Vec<File>> {
    let events = Events::read(&mage_workspace::artifacts(root, namespace))?;
    let captures = Captures::read(&mage_workspace::profile_artifacts(root, namespace))?;
    agree(namespace, &events, &captures)?;
    let directory = PathBuf::from("docs/assets/results").join(namespace);
    let results = results::assemble(&events);
    let profiles = profiles::assemble(&captures, &events.run)?;
    results
        .check()
        .context("the evidence made from the samples")?;
    profiles
        .check()
        .context("the evidence made from the captures")?;
    Ok(vec![
        File {
            path: directory.join(results_file::FILE),
            text: store::to_json(&results)?,
        },
        File {
            path: directory.join(profiles_file::FILE),
            text: store::to_json(&profiles)?,
        },
    ])
}

/// Writes evidence files below `root`, each whole or not at all.
///
/// # Errors
/// Names the file that cannot be written.
pub fn write(root: &Path, files: &[File]) -> anyhow::Result<()> {
    for file in files {
        store::write_bytes(&root.join(&file.path), file.text.as_bytes())?;
    }
    Ok(())
}

/// Proves that the files below `root` hold exactly this text.
///
/// # Errors
/// Names the first file that is missing or differs, and where.
pub fn check(root: &Path, files: &[File]) -> anyhow::Result<()> {
    for file in files {
        let found = store::read_text(&root.join(&file.path))?;
        if found != file.text {
            let line = found
                .lines()
                .zip(file.text.lines())
                .position(|(a, b)| a != b)
                .unwrap_or_else(|| found.lines().count().min(file.text.lines().count()));
            bail!(
                "{}: line {}: found other text than the artifacts give, expected the same bytes; run mage-export, or restore the artifacts",
                file.path.display(),
                line + 1
            );
        }
    }
    Ok(())
}

/// What the harness left, checked.
struct Events {
    run: Run,
    samples: Vec<Samples>,
    sha256: BTreeMap<String, String>,
}

/// What the profiler left, checked.
struct Captures {
    profile: Profile,
    captures: Vec<Capture>,
    sha256: BTreeMap<String, String>,
}

impl Events {
    fn read(directory: &Path) -> anyhow::Result<Self> {
        let mut reader = Reader::new(directory)?;
        let run: Run = reader.json("run.json", Run::check)?;
        let spec = reader.bytes("experiment.toml")?;
        if hash::sha256_hex(&spec) != run.experiment_sha256 {
            bail!(
                "{}: found SHA-256 {}, expected {} as run.json says",
                directory.join("experiment.toml").display(),
                hash::sha256_hex(&spec),
                run.experiment_sha256
            );
        }
        let samples = run
            .operations
            .iter()
            .map(|op| reader.json(&format!("samples/{op}.json"), |s: &Samples| s.check(&run)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        for (op, samples) in run.operations.iter().zip(&samples) {
            if samples.operation != *op {
                bail!(
                    "{}: operation: found {}, expected {op}",
                    directory.join(format!("samples/{op}.json")).display(),
                    samples.operation
                );
            }
        }
        reader.nothing_else("samples")?;
        Ok(Self {
            run,
            samples,
            sha256: reader.sha256,
        })
    }
}

impl Captures {
    fn read(directory: &Path) -> anyhow::Result<Self> {
        let mut reader = Reader::new(directory)?;
        let profile: Profile = reader.json("profile.json", |profile: &Profile| {
            mage_evidence::artifact::check_schema(
                &profile.schema,
                mage_evidence::artifact::PROFILE_SCHEMA,
            )
        })?;
        let listing = directory.join("captures");
        let mut captures = Vec::new();
        for op in Operation::ALL {
            for implementation in &profile.implementations {
                for index in 1..=profile.captures {
                    let name = format!("captures/{op}-{implementation}-{index}.json");
                    if !directory.join(&name).exists() {
                        continue;
                    }
                    let capture: Capture = reader.json(&name, Capture::check)?;
                    if (capture.operation, &capture.implementation, capture.index)
                        != (op, implementation, index)
                    {
                        bail!(
                            "{}: found the capture {}-{}-{}, expected the one that its name says",
                            directory.join(&name).display(),
                            capture.operation,
                            capture.implementation,
                            capture.index
                        );
                    }
                    captures.push(capture);
                }
            }
        }
        if captures.is_empty() {
            bail!(
                "{}: found no captures, expected at least one",
                listing.display()
            );
        }
        reader.nothing_else("captures")?;
        Ok(Self {
            profile,
            captures,
            sha256: reader.sha256,
        })
    }
}

/// Reads the files of one artifact directory and remembers their hashes.
struct Reader<'a> {
    directory: &'a Path,
    sha256: BTreeMap<String, String>,
}

impl<'a> Reader<'a> {
    fn new(directory: &'a Path) -> anyhow::Result<Self> {
        if !directory.is_dir() {
            bail!(
                "{}: found no such directory, expected the artifacts of a run; measure first, or check --namespace",
                directory.display()
            );
        }
        Ok(Self {
            directory,
            sha256: BTreeMap::new(),
        })
    }

    fn bytes(&mut self, name: &str) -> anyhow::Result<Vec<u8>> {
        let bytes = store::read_bytes(&self.directory.join(name))?;
        self.sha256
            .insert(name.to_string(), hash::sha256_hex(&bytes));
        Ok(bytes)
    }

    fn json<T: serde::de::DeserializeOwned>(
        &mut self,
        name: &str,
        check: impl FnOnce(&T) -> Result<(), mage_evidence::Invalid>,
    ) -> anyhow::Result<T> {
        self.bytes(name)?;
        let path = self.directory.join(name);
        let value: T = store::read_json(&path)?;
        check(&value).map_err(|invalid| invalid.in_file(&path))?;
        Ok(value)
    }

    /// Refuses files that no record accounts for.
    fn nothing_else(&self, below: &str) -> anyhow::Result<()> {
        let directory = self.directory.join(below);
        let entries = std::fs::read_dir(&directory)
            .map_err(store::io_error("list", &directory))?
            .collect::<Result<Vec<_>, _>>()
            .map_err(store::io_error("list", &directory))?;
        let found: BTreeSet<String> = entries
            .iter()
            .map(|entry| format!("{below}/{}", entry.file_name().to_string_lossy()))
            .collect();
        match found.iter().find(|name| !self.sha256.contains_key(*name)) {
            Some(extra) => bail!(
                "{}: found a file that no record names, expected only this run's; remove it",
                self.directory.join(extra).display()
            ),
            None => Ok(()),
        }
    }
}

/// Refuses events and captures that are not of one experiment, one program and the same cases.
fn agree(namespace: &str, events: &Events, captures: &Captures) -> anyhow::Result<()> {
    let (run, profile) = (&events.run, &captures.profile);
    for (what, of_run, of_profile) in [
        ("namespace", &run.namespace, &profile.namespace),
        ("experiment", &run.experiment, &profile.experiment),
        (
            "experiment_sha256",
            &run.experiment_sha256,
            &profile.experiment_sha256,
        ),
        (
            "program (binary_sha256)",
            &run.build.binary_sha256,
            &profile.target_sha256,
        ),
    ] {
        if of_run != of_profile {
            bail!(
                "{namespace}: {what}: found {of_profile:?} in profile.json and {of_run:?} in run.json, expected the same; measure and profile with one build"
            );
        }
    }
    if run.namespace != namespace {
        bail!(
            "{namespace}: run.json: namespace: found {:?}, expected the directory's own",
            run.namespace
        );
    }
    for samples in &events.samples {
        for implementation in &run.implementations {
            case_agrees(samples, implementation, captures)?;
        }
    }
    let cases = events.samples.len() * run.implementations.len();
    let expected = cases * profile.captures as usize;
    if captures.captures.len() != expected {
        bail!(
            "{namespace}: found {} captures, expected {expected}: {} of each measured case",
            captures.captures.len(),
            profile.captures
        );
    }
    Ok(())
}

fn case_agrees(samples: &Samples, implementation: &str, captures: &Captures) -> anyhow::Result<()> {
    let op = samples.operation;
    let of_case: Vec<&Capture> = captures
        .captures
        .iter()
        .filter(|c| c.operation == op && c.implementation == implementation)
        .collect();
    if of_case.len() != captures.profile.captures as usize {
        bail!(
            "{op} {implementation}: found {} captures, expected {}",
            of_case.len(),
            captures.profile.captures
        );
    }
    let measured = samples.rounds[0].implementations[implementation]
        .kernel
        .as_ref();
    for capture in of_case {
        if capture.dims != samples.dims || capture.variant.as_ref() != measured {
            bail!(
                "{op} {implementation}: capture {}: found {:?} at {:?}, expected {measured:?} at {:?} as measured",
                capture.index,
                capture.variant,
                capture.dims,
                samples.dims
            );
        }
    }
    Ok(())
}
