//! An A/A study: processes that measure spans, and captures of two handles of one kernel, in turn.

use crate::capture::{self, Job, Request};
use crate::error::Error;
use crate::find;
use crate::run::{GRACE, of_case};
use mage_evidence::Invalid;
use mage_evidence::artifact::{Build, Host};
use mage_evidence::calibration::{
    MIN_CYCLES, MIN_PROCESSES, PREFIX, Process, STUDY_SCHEMA, Study, handles_us,
};
use mage_evidence::experiment::{Experiment, check_name};
use mage_evidence::hash::sha256_hex;
use mage_evidence::store;
use mage_workspace::{NewDirectory, discard, now};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The implementation whose kernels are measured.
const IMPLEMENTATION: &str = "rust";

/// What to measure and with what.
#[derive(Debug, Clone)]
pub struct Options {
    /// Root of the workspace.
    pub root: PathBuf,
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the directory below `artifacts/`, else `calibration-<device>`.
    pub name: Option<String>,
    /// Processes that measure spans, and captures of each operation.
    pub processes: u32,
    /// Cycles an operation in each process.
    pub cycles: u32,
    /// Calls inside each capture.
    pub iterations: u32,
    /// Input files, as `mage-harness inputs` writes them.
    pub inputs: PathBuf,
    /// The profiler, else it is looked for.
    pub nsys: Option<PathBuf>,
    /// The program that measures.
    pub harness: PathBuf,
    /// How long one step may take.
    pub timeout: Duration,
    /// The machine.
    pub host: Host,
    /// The command line, as it is recorded.
    pub command: Vec<String>,
}

/// Measures a study and publishes its directory, which is returned. Spans and captures take turns, so that both see
/// the same hour.
///
/// # Errors
/// [`Error`]. Nothing is published then: what was measured stays in `<directory>.partial`, which is removed where
/// nothing was.
pub fn measure(
    options: &Options,
    build: Build,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, Error> {
    let root = &options.root;
    let experiment = Experiment::named(root, &options.experiment)?;
    for (flag, found, least) in [
        ("--processes", options.processes, MIN_PROCESSES),
        ("--cycles", options.cycles, MIN_CYCLES),
        ("--iterations", options.iterations, 4),
    ] {
        if found < least {
            return Err(Invalid::new(flag, found, format!("at least {least}")).into());
        }
    }
    if !options.iterations.is_multiple_of(4) {
        let expected = "a multiple of 4: as many calls of each handle";
        return Err(Invalid::new("--iterations", options.iterations, expected).into());
    }
    if let Some(name) = &options.name {
        check_name(name).map_err(|invalid| invalid.under("--name"))?;
        if !name.starts_with(PREFIX) {
            let expected = format!("a name that begins with {PREFIX}");
            return Err(Invalid::new("--name", format!("{name:?}"), expected).into());
        }
        NewDirectory::check_free(&root.join("artifacts").join(name))?;
    }
    let nsys = find::find(options.nsys.as_deref())?;
    let scratch = tempfile::tempdir().map_err(store::io_error("create", &std::env::temp_dir()))?;
    let started = now();
    tell("spans, process 1");
    // The first process says which device this is, and with that the directory's name.
    let first = spans(options, &scratch.path().join("1.json"))?;
    let name = match &options.name {
        Some(name) => name.clone(),
        None => default_name(&first.device.name),
    };
    let directory = NewDirectory::create(&root.join("artifacts").join(name))?;
    let written = fill(
        options,
        &experiment,
        &nsys,
        &first,
        stop,
        directory.path(),
        tell,
    );
    let profiler = match written {
        Ok(profiler) => profiler,
        Err((error, 0)) => {
            // The first error is the one to tell.
            let _ = discard(directory);
            return Err(error);
        }
        Err((error, _)) => return Err(error),
    };
    let spec = store::read_bytes(&Experiment::path(root, &experiment.name))?;
    let study = Study {
        schema: STUDY_SCHEMA.into(),
        experiment: experiment.name.clone(),
        experiment_sha256: sha256_hex(&spec),
        started,
        finished: now(),
        command: options.command.clone(),
        processes: options.processes,
        cycles: options.cycles,
        capture_iterations: options.iterations,
        warmup: experiment.protocol.warmup,
        profiler,
        host: options.host.clone(),
        device: first.device.clone(),
        build,
        harness_sha256: sha256_hex(&store::read_bytes(&options.harness)?),
    };
    study.check()?;
    first.check(&study)?;
    store::write_json(&directory.path().join("run.json"), &study)?;
    Ok(directory.publish()?)
}

/// `calibration-h200` of `NVIDIA H200`.
fn default_name(device: &str) -> String {
    let words = device
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && !["NVIDIA", "GeForce"].contains(word));
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    format!("{PREFIX}{}", words.join("-"))
}

/// Writes spans and captures below `partial`; the profiler in words, or the error and how many files were whole.
#[allow(
    clippy::result_large_err,
    reason = "an error is made once and ends the run"
)]
fn fill(
    options: &Options,
    experiment: &Experiment,
    nsys: &find::Nsys,
    first: &Process,
    stop: &AtomicBool,
    partial: &Path,
    tell: &mut dyn FnMut(&str),
) -> Result<String, (Error, usize)> {
    let mut whole = 0;
    let mut profiler = nsys.version.clone();
    for process in 1..=options.processes {
        let mut one = || -> Result<(), Error> {
            let path = partial.join("spans").join(format!("{process}.json"));
            if process == 1 {
                store::write_json(&path, first)?;
            } else {
                tell(&format!("spans, process {process}"));
                spans(options, &path)?;
            }
            whole += 1;
            for case in &experiment.operations {
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
                let name = format!("{}-{process}", case.name);
                tell(&format!("capture {name}"));
                let target = target(options, experiment, case.name.name());
                let request = Request {
                    job: Job {
                        name: &format!("{}-{IMPLEMENTATION}-{process}", case.name),
                        nsys,
                        target: &target,
                        root: &options.root,
                        timeout: options.timeout,
                        grace: GRACE,
                        keep: None,
                        stop,
                    },
                    operation: case.name,
                    dims: &case.dims,
                    implementation: IMPLEMENTATION,
                    config: None,
                    index: process,
                    iterations: options.iterations,
                    ranges_required: true,
                    allowed_outside: &[],
                };
                let captured =
                    capture::capture(&request).map_err(|source| of_case(&name, source))?;
                handles_us(&captured.capture)?;
                if process == 1 && profiler == nsys.version {
                    for more in [
                        captured
                            .schema_version
                            .as_ref()
                            .map(|v| format!("export schema {v}")),
                        captured.driver.clone(),
                    ] {
                        profiler += &more.map_or(String::new(), |more| format!(", {more}"));
                    }
                }
                let path = partial.join("captures").join(format!("{name}.json"));
                store::write_json(&path, &captured.capture)?;
                whole += 1;
            }
            Ok(())
        };
        if let Err(error) = one() {
            return Err((error, whole));
        }
    }
    Ok(profiler)
}

/// Runs one process that measures spans into `path`, and reads what it wrote.
fn spans(options: &Options, path: &Path) -> Result<Process, Error> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(store::io_error("create the directory", parent))?;
    }
    let harness = absolute(&options.harness);
    let status = Command::new(&harness)
        .arg("identical")
        .args(["--experiment", &options.experiment])
        .args(["--cycles", &options.cycles.to_string()])
        .arg("--output")
        .arg(path)
        .current_dir(&options.root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(store::io_error("start", &harness))?;
    if !status.success() {
        let found = format!("{status}");
        let expected = "a process that measures and ends with exit status 0";
        return Err(Invalid::new("mage-harness identical", found, expected).into());
    }
    Ok(store::read_json(path)?)
}

/// The command line of a capture's target.
fn target(options: &Options, experiment: &Experiment, operation: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![absolute(&options.harness).into(), "capture".into()];
    let mut option = |flag: &str, value: OsString| words.extend([flag.into(), value]);
    option("--experiment", experiment.name.clone().into());
    option("--op", operation.into());
    option("--implementation", IMPLEMENTATION.into());
    option("--inputs", absolute(&options.inputs).into());
    option("--iterations", options.iterations.to_string().into());
    option("--warmup", experiment.protocol.warmup.to_string().into());
    words.push("--pairs".into());
    words
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
