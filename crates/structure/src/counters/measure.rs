//! Reading the counters of every variant of an experiment on this machine's GPU. What `ncu` prints is kept as
//! it is: taking the counters out of it is another step, which needs no GPU and can be done again.

use super::ask::{self, Target};
use super::metrics::{GROUPS, Group};
use super::stored::{Launch, Read, Run, SCHEMA_VERSION};
use crate::report::selection;
use anyhow::{Context, bail};
use mage_evidence::artifact::{Build, Device};
use mage_evidence::experiment::Experiment;
use mage_evidence::hash::sha256_hex;
use mage_evidence::store;
use mage_profile::ncu::Ncu;
use mage_workspace::{NewDirectory, portable};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to measure with.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The workspace.
    pub root: &'a Path,
    /// Nsight Compute.
    pub ncu: &'a Ncu,
    /// `mage-harness`.
    pub harness: &'a Path,
    /// Directory of the experiment's inputs.
    pub inputs: &'a Path,
}

/// The command lines that [`measure`] runs, in order, each with its variant and group.
///
/// # Errors
/// None for an experiment that was loaded.
pub fn plan(
    experiment: &Experiment,
    bench: &Bench<'_>,
    output: &Path,
) -> anyhow::Result<Vec<(&'static str, &'static Group, Vec<OsString>)>> {
    let mut lines = Vec::new();
    for (case, variant) in selection(experiment, None)? {
        if variant.takes(&case.dims).is_err() {
            continue;
        }
        let target = Target {
            harness: bench.harness,
            experiment: &experiment.name,
            operation: case.name.name(),
            variant: variant.id,
            inputs: bench.inputs,
        };
        for group in &GROUPS {
            let file = output.join(file_name(variant.id, group));
            let line = ask::command_line(&bench.ncu.path, group, &file, &target);
            lines.push((variant.id, group, line));
        }
    }
    Ok(lines)
}

/// Name of the file that `ncu` writes.
pub fn file_name(variant: &str, group: &Group) -> String {
    format!("{variant}.{}.csv", group.name)
}

/// Reads every group of every variant into a new directory `output`: a file for each, and `run.json`.
///
/// # Errors
/// `output` exists, a required group cannot be read, or the system refuses. A group that is not required may
/// fail: `run.json` says so.
pub fn measure(
    experiment: &Experiment,
    bench: &Bench<'_>,
    device: Device,
    build: Build,
    output: &Path,
) -> anyhow::Result<PathBuf> {
    let directory = NewDirectory::create(output)?;
    let lines = plan(experiment, bench, directory.path())?;
    let mut launches: Vec<Launch> = Vec::new();
    for (i, (variant, group, line)) in lines.iter().enumerate() {
        eprintln!("[{}/{}] {variant}: {}", i + 1, lines.len(), group.name);
        let file = directory.path().join(file_name(variant, group));
        let failed = run(line, group, &file)?;
        if let (Some(reason), true) = (&failed, group.required) {
            bail!(
                "{variant}: the counters of group {} cannot be read: {reason}",
                group.name
            );
        }
        let read = Read {
            group: group.name.to_owned(),
            command: line
                .iter()
                .map(|word| portable(bench.root, &word.to_string_lossy()))
                .collect(),
            failed,
        };
        match launches
            .last_mut()
            .filter(|launch| launch.variant == *variant)
        {
            Some(launch) => launch.readings.push(read),
            None => launches.push(launch(experiment, variant, read)?),
        }
    }
    let run = Run {
        schema_version: SCHEMA_VERSION,
        utc: mage_workspace::now(),
        experiment: experiment.name.clone(),
        ncu: bench.ncu.version.clone(),
        device,
        tree: build.tree,
        objects_sha256: build.objects_sha256,
        harness_sha256: sha256_hex(&store::read_bytes(bench.harness)?),
        launches,
    };
    store::write_json(&directory.path().join(Run::FILE), &run)?;
    Ok(directory.publish()?)
}

fn launch(experiment: &Experiment, variant: &str, read: Read) -> anyhow::Result<Launch> {
    let selection = selection(experiment, None)?;
    let (case, _) = selection
        .into_iter()
        .find(|(_, known)| known.id == variant)
        .context("a variant of the plan is one of the selection")?;
    Ok(Launch {
        variant: variant.to_owned(),
        operation: case.name,
        dims: case.dims.clone(),
        readings: vec![read],
        kept: None,
    })
}

/// Runs one command line; gives why it did not leave the counters in `file`, if it did not.
fn run(line: &[OsString], group: &Group, file: &Path) -> anyhow::Result<Option<String>> {
    let [program, arguments @ ..] = line else {
        bail!("an empty command line");
    };
    let status = Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", Path::new(program).display()))?;
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let complete = group.metrics.iter().all(|metric| text.contains(metric));
    if status.success() && complete {
        return Ok(None);
    }
    // Paths of the machine stand in other lines than these.
    let said = text.lines().find(|line| line.starts_with("==ERROR=="));
    let said = said.map_or_else(
        || format!("ncu: {status}, and no table with every counter"),
        |line| line.trim_start_matches("==ERROR==").trim().to_owned(),
    );
    Ok(Some(said))
}
