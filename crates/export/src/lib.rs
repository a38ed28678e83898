//! Evidence from artifacts: the files that everything downstream reads, made again byte for byte from
//! the same artifacts on any machine.
//!
//! Derived values (means, medians, kernel times, launches) enter evidence here; artifacts hold none.

pub mod calibration;
pub mod cli;
mod counters;
pub mod errors;
mod ladder;
mod precision;
mod profiles;
mod results;
pub mod verify;

use crate::counters::Counted;
use anyhow::{Context, anyhow, bail};
use mage_evidence::Invalid;
use mage_evidence::artifact::{Capture, Profile, Run, Samples, one_card};
use mage_evidence::experiment::Experiment;
use mage_evidence::{
    counters as counters_file, hash, ladder as ladder_file, profiles as profiles_file,
    results as results_file, store,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One evidence file: its path from the workspace root and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Path relative to the root.
    pub path: PathBuf,
    /// The file's text.
    pub text: String,
}

/// Everything that was measured of a namespace, read once and checked.
pub struct Artifacts {
    namespace: String,
    events: Events,
    captures: Captures,
    /// Hardware counters, where they were read.
    counted: Option<Counted>,
    /// Every variant, where the ladder was measured.
    ladder: Option<ladder::Climbed>,
    /// What is made of errors against FP64, where they were measured.
    errors: Vec<File>,
}

/// The evidence of a namespace, made from its artifacts. Reads; writes nothing.
///
/// # Errors
/// As [`Artifacts::read`] and [`Artifacts::evidence`].
pub fn evidence(root: &Path, namespace: &str) -> anyhow::Result<Vec<File>> {
    Artifacts::read(root, namespace)?.evidence()
}

impl Artifacts {
    /// Reads the artifacts of a namespace below `root`.
    ///
    /// # Errors
    /// Names the artifact that is missing, unknown, inconsistent with the others or out of range.
    pub fn read(root: &Path, namespace: &str) -> anyhow::Result<Self> {
        let events = Events::read(&mage_workspace::artifacts(root, namespace))?;
        let captures = Captures::read(&mage_workspace::profile_artifacts(root, namespace))?;
        agree(namespace, &events, &captures)?;
        let counted = Counted::read(&mage_workspace::counter_artifacts(root, namespace))?;
        if let Some(counted) = &counted {
            counted.agree(namespace, &events, &captures)?;
        }
        let ladder = ladder::Climbed::read(&mage_workspace::ladder_artifacts(root, namespace))?;
        if let Some(ladder) = &ladder {
            ladder.agree(namespace, &events)?;
        }
        let errors = errors::files(root, namespace, &events)?;
        Ok(Self {
            namespace: namespace.to_string(),
            events,
            captures,
            counted,
            ladder,
            errors,
        })
    }

    /// The evidence files.
    ///
    /// # Errors
    /// Where what they would hold does not pass its own check.
    pub fn evidence(&self) -> anyhow::Result<Vec<File>> {
        let directory = PathBuf::from("docs/assets/results").join(&self.namespace);
        let results = results::assemble(&self.events)?;
        let profiles = profiles::assemble(&self.captures, &self.events.run)?;
        results
            .check()
            .context("the evidence made from the samples")?;
        profiles
            .check()
            .context("the evidence made from the captures")?;
        let mut files = vec![
            File {
                path: directory.join(results_file::FILE),
                text: store::to_json(&results)?,
            },
            File {
                path: directory.join(profiles_file::FILE),
                text: store::to_json(&profiles)?,
            },
        ];
        if let Some(counted) = &self.counted {
            let counters = counters::assemble(counted);
            counters
                .check()
                .context("the evidence made from the counters")?;
            files.push(File {
                path: directory.join(counters_file::FILE),
                text: store::to_json(&counters)?,
            });
        }
        if let Some(climbed) = &self.ladder {
            let ladder = ladder::assemble(climbed)?;
            ladder
                .check()
                .context("the evidence made from the ladder's captures")?;
            files.push(File {
                path: directory.join(ladder_file::FILE),
                text: store::to_json(&ladder)?,
            });
        }
        files.extend(self.errors.iter().cloned());
        Ok(files)
    }

    /// Refuses a spec under which the namespace was not measured: every key that decides what is measured must be as
    /// in the copy that the run kept. Prose may have changed.
    ///
    /// # Errors
    /// Names the key that differs.
    pub fn measured_as(&self, root: &Path, experiment: &Experiment) -> anyhow::Result<()> {
        let (namespace, measured) = (&self.namespace, &self.events.experiment);
        for (key, then, now) in [
            (
                "name",
                format!("{:?}", measured.name),
                format!("{:?}", experiment.name),
            ),
            (
                "seed",
                measured.seed.to_string(),
                experiment.seed.to_string(),
            ),
            (
                "implementations",
                format!("{:?}", measured.implementations),
                format!("{:?}", experiment.implementations),
            ),
            (
                "protocol",
                format!("{:?}", measured.protocol),
                format!("{:?}", experiment.protocol),
            ),
            (
                "ladder",
                format!("{:?}", measured.ladder),
                format!("{:?}", experiment.ladder),
            ),
            (
                "tolerance",
                format!("{:?}", measured.tolerance),
                format!("{:?}", experiment.tolerance),
            ),
            (
                "operations",
                format!("{:?}", measured.operations),
                format!("{:?}", experiment.operations),
            ),
        ] {
            if then != now {
                return Err(
                    Invalid::new(key, now, format!("{then}, as {namespace} was measured"))
                        .help("measure again under another --namespace, or restore the spec")
                        .in_file(&Experiment::path(root, &experiment.name))
                        .into(),
                );
            }
        }
        Ok(())
    }
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
        let path = root.join(&file.path);
        let found = store::read_bytes(&path)?;
        if found == file.text.as_bytes() {
            continue;
        }
        if String::from_utf8_lossy(&found).replace("\r\n", "\n") == file.text {
            bail!(
                "{}: found CRLF line ends, expected LF as written; check out with the repository's .gitattributes",
                file.path.display()
            );
        }
        let found: Vec<&[u8]> = found.split(|&b| b == b'\n').collect();
        let expected: Vec<&[u8]> = file.text.as_bytes().split(|&b| b == b'\n').collect();
        let line = (0..)
            .find(|&i| found.get(i) != expected.get(i))
            .unwrap_or(0);
        bail!(
            "{}: line {}: found other text than the artifacts give, expected the same bytes; run mage-export, or restore the artifacts",
            file.path.display(),
            line + 1
        );
    }
    nothing_beside(root, files)
}

/// Refuses files beside the evidence that no artifact gives.
fn nothing_beside(root: &Path, files: &[File]) -> anyhow::Result<()> {
    let Some(directory) = files.first().and_then(|file| file.path.parent()) else {
        return Ok(());
    };
    let listed = root.join(directory);
    for entry in std::fs::read_dir(&listed).map_err(store::io_error("list", &listed))? {
        let path = directory.join(entry.map_err(store::io_error("list", &listed))?.file_name());
        if !files.iter().any(|file| file.path == path) {
            bail!(
                "{}: found a file that the artifacts do not give, expected none; remove it",
                path.display()
            );
        }
    }
    Ok(())
}

/// What the harness left, checked.
struct Events {
    experiment: Experiment,
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
        let spec_path = directory.join("experiment.toml");
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
        reader.nothing_else("samples", &[])?;
        reader.nothing_else("", &["inputs", "samples"])?;
        let text = String::from_utf8_lossy(&spec);
        let experiment = Experiment::parse(&text).map_err(|invalid| invalid.in_file(&spec_path))?;
        as_specified(&experiment, &run, &samples)
            .map_err(|invalid| invalid.in_file(&directory.join("run.json")))?;
        Ok(Self {
            experiment,
            run,
            samples,
            sha256: reader.sha256,
        })
    }
}

impl Captures {
    fn read(directory: &Path) -> anyhow::Result<Self> {
        let mut reader = Reader::new(directory)?;
        let profile: Profile = reader.json("profile.json", Profile::check)?;
        let mut captures = Vec::new();
        for name in reader.names("captures")? {
            let capture: Capture = reader.json(&name, |c: &Capture| c.check_in(&profile))?;
            let Capture {
                operation,
                implementation,
                index,
                ..
            } = &capture;
            let own = format!("captures/{operation}-{implementation}-{index}.json");
            if name != own {
                bail!(
                    "{}: found the capture of {own}, expected the one that its name says",
                    directory.join(&name).display()
                );
            }
            captures.push(capture);
        }
        if captures.is_empty() {
            bail!(
                "{}: found no captures, expected at least one; profile again",
                directory.join("captures").display()
            );
        }
        let order = |c: &Capture| {
            let named = profile
                .implementations
                .iter()
                .position(|name| *name == c.implementation);
            (c.operation, named, c.index)
        };
        captures.sort_by_key(order);
        reader.nothing_else("", &["captures"])?;
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
        check: impl FnOnce(&T) -> Result<(), Invalid>,
    ) -> anyhow::Result<T> {
        let path = self.directory.join(name);
        let bytes = self.bytes(name)?;
        let value: T = store::parse_json(&path, &bytes)?;
        check(&value).map_err(|invalid| invalid.in_file(&path))?;
        Ok(value)
    }

    /// Names of the entries below a directory, as paths from the artifact directory, sorted.
    fn names(&self, below: &str) -> anyhow::Result<Vec<String>> {
        let directory = self.directory.join(below);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&directory).map_err(store::io_error("list", &directory))? {
            let entry = entry.map_err(store::io_error("list", &directory))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            names.push(if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            });
        }
        names.sort();
        Ok(names)
    }

    /// Refuses files that no record accounts for; `known` names directories that have their own check.
    fn nothing_else(&self, below: &str, known: &[&str]) -> anyhow::Result<()> {
        let names = self.names(below)?;
        let unaccounted =
            |name: &&String| !self.sha256.contains_key(*name) && !known.contains(&name.as_str());
        match names.iter().find(unaccounted) {
            Some(extra) => bail!(
                "{}: found a file that no record names, expected only this run's; remove it",
                self.directory.join(extra).display()
            ),
            None => Ok(()),
        }
    }
}

/// Refuses a run that did not do what its own copy of the spec says. The command line may have changed the
/// protocol's numbers and left out operations or implementations; both are on record.
fn as_specified(experiment: &Experiment, run: &Run, samples: &[Samples]) -> Result<(), Invalid> {
    let differs = |field: &str, found: String, expected: String| {
        Err(Invalid::new(
            field,
            found,
            format!("{expected}, as experiment.toml says"),
        ))
    };
    if run.experiment != experiment.name {
        return differs(
            "experiment",
            run.experiment.clone(),
            experiment.name.clone(),
        );
    }
    if run.seed != experiment.seed {
        return differs("seed", run.seed.to_string(), experiment.seed.to_string());
    }
    if run.tolerance != experiment.tolerance {
        return differs(
            "tolerance",
            format!("{:?}", run.tolerance),
            format!("{:?}", experiment.tolerance),
        );
    }
    let unknown = |name: &&String| !experiment.implementations.contains(name);
    if let Some(name) = run.implementations.iter().find(unknown) {
        return differs(
            "implementations",
            name.clone(),
            format!("{:?}", experiment.implementations),
        );
    }
    for samples in samples {
        let op = samples.operation;
        let Some(case) = experiment.case(op) else {
            return differs("operations", op.to_string(), "an operation of it".into());
        };
        if samples.dims != case.dims {
            let field = format!("samples/{op}.json: dims");
            return differs(
                &field,
                format!("{:?}", samples.dims),
                format!("{:?}", case.dims),
            );
        }
        if samples.input_sha256 != case.sha256 {
            let field = format!("samples/{op}.json: input_sha256");
            return differs(
                &field,
                format!("{:?}", samples.input_sha256),
                format!("{:?}", case.sha256),
            );
        }
    }
    Ok(())
}

/// Refuses events and captures that are not of one experiment, one program, one card and the same cases.
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
    for capture in &captures.captures {
        let (found, expected) = (capture.gpu_uuid.as_deref(), run.device.uuid.as_deref());
        one_card("gpu_uuid", found, expected).map_err(|invalid| {
            let (op, name, index) = (capture.operation, &capture.implementation, capture.index);
            anyhow!("{namespace}: captures/{op}-{name}-{index}.json: {invalid}")
        })?;
    }
    let mut cases = 0;
    for samples in &events.samples {
        for implementation in &samples.available(&run.implementations) {
            case_agrees(samples, implementation, captures)?;
            cases += 1;
        }
    }
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
    let chosen = samples.choices.get(implementation).map(|c| &c.config);
    for capture in of_case {
        if capture.config.as_ref() != chosen {
            bail!(
                "{op} {implementation}: capture {}: config: found {:?}, expected {chosen:?} as the run chose",
                capture.index,
                capture.config
            );
        }
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
