//! Every capture of an experiment, written so that a directory under the profile's name is complete.

use crate::capture::{self, CaptureError, Captured, Request};
use crate::error::Error;
use crate::find::{self, Nsys};
use mage_evidence::Invalid;
use mage_evidence::artifact::{Build, Capture, PROFILE_SCHEMA, Profile, Samples, rotated};
use mage_evidence::choice::Config;
use mage_evidence::experiment::{Case, Experiment, check_name};
use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::Operation;
use mage_evidence::store::{self, StoreError};
use mage_workspace::{NewDirectory, artifacts, compiled, discard, now, profile_artifacts};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// What to profile and how; what is none is as the experiment says.
#[derive(Debug, Clone)]
pub struct Options {
    /// Root of the workspace.
    pub root: PathBuf,
    /// Name of the experiment.
    pub experiment: String,
    /// Operations, else all.
    pub operations: Option<Vec<Operation>>,
    /// Implementations, else all.
    pub implementations: Option<Vec<String>>,
    /// Captures a case.
    pub captures: Option<u32>,
    /// Calls inside a capture's range.
    pub iterations: Option<u32>,
    /// Calls before the range opens.
    pub warmup: Option<u32>,
    /// Result namespace, else the experiment's name.
    pub namespace: Option<String>,
    /// Input files, as `mage-harness inputs` writes them.
    pub inputs: PathBuf,
    /// The directory to be made, else `artifacts/<ns>-kernels-nsys`.
    pub output: Option<PathBuf>,
    /// The profiler, else it is looked for.
    pub nsys: Option<PathBuf>,
    /// The target program.
    pub harness: PathBuf,
    /// The Python that the target starts, else its own choice.
    pub python: Option<PathBuf>,
    /// How long one step of a capture may take.
    pub timeout: Duration,
    /// How long processes may go on after the profiler has ended.
    pub grace: Duration,
    /// Where reports are kept; they embed the target's scrubbed environment and are not for publication.
    pub keep_reports: Option<PathBuf>,
    /// Names of kernels that may run outside the ranges; they do not count.
    pub allowed_outside: Vec<String>,
    /// Whether a report without any NVTX data is accepted.
    pub without_ranges: bool,
    /// How many captures may be under way at once. They start and are exported side by side; the targets take turns at
    /// the GPU, one at a time from before they touch it to the end of their range.
    pub jobs: usize,
    /// The command line, as it is recorded.
    pub command: Vec<String>,
}

impl Options {
    /// Options for `experiment` with everything else as the experiment says.
    pub fn new(root: PathBuf, experiment: String, inputs: PathBuf, harness: PathBuf) -> Self {
        Self {
            root,
            experiment,
            operations: None,
            implementations: None,
            captures: None,
            iterations: None,
            warmup: None,
            namespace: None,
            inputs,
            output: None,
            nsys: None,
            harness,
            python: None,
            timeout: Duration::from_secs(300),
            grace: Duration::from_secs(3),
            keep_reports: None,
            allowed_outside: Vec::new(),
            without_ranges: false,
            jobs: 1,
            command: Vec::new(),
        }
    }
}

/// What a run tells while it goes on.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The profiler that was found, and how many captures there will be.
    Begins(&'a Nsys, usize),
    /// `<operation>-<implementation>-<index>` starts.
    Starts(&'a str),
    /// It is done and written.
    Done(&'a str, &'a Captured),
    /// The run ended early: where its complete captures are kept, and how many.
    Kept(&'a Path, usize),
}

/// A profile that is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Where it is.
    pub directory: PathBuf,
    /// `profile.json`.
    pub profile: Profile,
    /// Its captures in the order in which they ran.
    pub captures: Vec<Capture>,
}

/// Captures every case and publishes the profile. `build` is what the programs were built from, read
/// before anything is written; `stop` is set from outside to end.
///
/// # Errors
/// [`Error`]. Nothing is published then: what was complete stays in `<directory>.partial`, which is
/// removed where nothing was.
pub fn run(
    options: &Options,
    build: Build,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome, Error> {
    let plan = Plan::new(options)?;
    let nsys = find::find(options.nsys.as_deref())?;
    let directory = NewDirectory::create(&plan.directory)?;
    let started = now();
    tell(Event::Begins(&nsys, plan.steps.len()));
    let (done, failed) = plan.all(&nsys, stop, directory.path(), tell);
    match failed {
        None => {}
        Some(error) if done.is_empty() => {
            // The first error is the one to tell.
            let _ = discard(directory);
            return Err(error);
        }
        Some(error) => {
            tell(Event::Kept(directory.path(), done.len()));
            return Err(error);
        }
    }
    let captures: Vec<Captured> = done.into_values().collect();
    let profile = Profile {
        schema: PROFILE_SCHEMA.to_string(),
        namespace: plan.namespace.clone(),
        experiment: plan.experiment.name.clone(),
        experiment_sha256: plan.experiment_sha256.clone(),
        started,
        finished: now(),
        command: options.command.clone(),
        capture_iterations: plan.iterations,
        warmup: plan.warmup,
        captures: plan.captures,
        implementations: plan.implementations.clone(),
        profiler: profiler_words(&nsys, &captures),
        build,
        target_sha256: plan.target_sha256.clone(),
    };
    store::write_json(&directory.path().join("profile.json"), &profile)?;
    Ok(Outcome {
        directory: directory.publish()?,
        profile,
        captures: captures.into_iter().map(|done| done.capture).collect(),
    })
}

/// The profiler's version, the export's schema and the driver, as far as they are known.
fn profiler_words(nsys: &Nsys, captures: &[Captured]) -> String {
    let mut words = nsys.version.clone();
    let first = captures.first();
    if let Some(version) = first.and_then(|done| done.schema_version.as_ref()) {
        words.push_str(&format!(", export schema {version}"));
    }
    if let Some(driver) = first.and_then(|done| done.driver.as_ref()) {
        words.push_str(&format!(", {driver}"));
    }
    words
}

/// Everything that is decided, and checked, before anything runs.
struct Plan<'a> {
    options: &'a Options,
    experiment: Experiment,
    experiment_sha256: String,
    target_sha256: String,
    namespace: String,
    directory: PathBuf,
    implementations: Vec<String>,
    captures: u32,
    iterations: u32,
    warmup: u32,
    steps: Vec<Step>,
}

/// One capture to be made.
struct Step {
    case: Case,
    implementation: String,
    /// What the run chose for it.
    config: Option<Config>,
    index: u32,
}

impl Step {
    /// `<operation>-<implementation>-<index>`.
    fn name(&self) -> String {
        format!("{}-{}-{}", self.case.name, self.implementation, self.index)
    }
}

impl<'a> Plan<'a> {
    fn new(options: &'a Options) -> Result<Self, Error> {
        let root = &options.root;
        let experiment = Experiment::load(root, &options.experiment)?;
        let mut protocol = experiment.protocol;
        protocol.captures = options.captures.unwrap_or(protocol.captures);
        protocol.capture_iterations = options.iterations.unwrap_or(protocol.capture_iterations);
        protocol.warmup = options.warmup.unwrap_or(protocol.warmup);
        protocol.check().map_err(|mut invalid| {
            let flag = match invalid.field.as_str() {
                "capture_iterations" => "iterations",
                other => other,
            };
            invalid.field = format!("--{flag}");
            invalid
        })?;
        let namespace = options.namespace.clone().unwrap_or(experiment.name.clone());
        check_name(&namespace).map_err(|invalid| invalid.under("--namespace"))?;
        let cases = cases(&experiment, options.operations.as_deref())?;
        let implementations = implementations(&experiment, options.implementations.as_deref())?;
        if !options.inputs.is_dir() {
            return Err(Invalid::new(
                "--inputs",
                format!("{}, which is no directory", options.inputs.display()),
                "the directory of input files",
            )
            .help(format!(
                "write them with `mage-harness inputs --experiment {} --output DIR`",
                experiment.name
            ))
            .into());
        }
        if !options.harness.is_file() {
            return Err(Invalid::new(
                "--harness",
                format!("{}, which is no file", options.harness.display()),
                "the program mage-harness",
            )
            .help("build it with `cargo build --release -p mage-harness`, or name it")
            .into());
        }
        let measured = cases
            .iter()
            .map(|case| samples(&artifacts(root, &namespace), case))
            .collect::<Result<Vec<_>, _>>()?;
        let mut steps = Vec::new();
        for index in 1..=protocol.captures {
            for (case, samples) in cases.iter().zip(&measured) {
                let names = match samples {
                    Some(samples) => samples.available(&implementations),
                    None => implementations.clone(),
                };
                for implementation in rotated(&names, index as usize - 1) {
                    let choice = samples.as_ref().and_then(|s| s.choices.get(implementation));
                    steps.push(Step {
                        case: case.clone(),
                        implementation: implementation.to_string(),
                        config: choice.map(|choice| choice.config.clone()),
                        index,
                    });
                }
            }
        }
        let spec = store::read_bytes(&Experiment::path(root, &experiment.name))?;
        let target = store::read_bytes(&options.harness)?;
        let directory = match &options.output {
            Some(output) => output.clone(),
            None => profile_artifacts(root, &namespace),
        };
        Ok(Self {
            options,
            experiment_sha256: sha256_hex(&spec),
            target_sha256: sha256_hex(&target),
            namespace,
            directory: absolute(&directory),
            implementations,
            captures: protocol.captures,
            iterations: protocol.capture_iterations,
            warmup: protocol.warmup,
            steps,
            experiment,
        })
    }

    /// Makes every capture, as many at once as `jobs` says; what is done, by its place, and the first error, after
    /// which no other starts.
    fn all(
        &self,
        nsys: &Nsys,
        stop: &AtomicBool,
        partial: &Path,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> (BTreeMap<usize, Captured>, Option<Error>) {
        let next = AtomicUsize::new(0);
        let ended = AtomicBool::new(false);
        let mut done = BTreeMap::new();
        let mut failed = None;
        std::thread::scope(|scope| {
            let (sender, messages) = mpsc::channel();
            for _ in 0..self.options.jobs.clamp(1, self.steps.len()) {
                let (sender, next, ended) = (sender.clone(), &next, &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(step) = self.steps.get(place) else {
                            break;
                        };
                        // The receiver lives as long as a sender does.
                        let _ = sender.send((place, step.name(), None));
                        let captured = self.step(step, nsys, stop, partial);
                        ended.fetch_or(captured.is_err(), Ordering::Relaxed);
                        let _ = sender.send((place, step.name(), Some(captured)));
                    }
                });
            }
            drop(sender);
            for (place, case, message) in messages {
                match message {
                    None => tell(Event::Starts(&case)),
                    Some(Ok(captured)) => {
                        tell(Event::Done(&case, &captured));
                        done.insert(place, captured);
                    }
                    Some(Err(error)) => {
                        failed.get_or_insert(error);
                    }
                }
            }
        });
        (done, failed)
    }

    /// Makes one capture and writes it below `partial`.
    fn step(
        &self,
        step: &Step,
        nsys: &Nsys,
        stop: &AtomicBool,
        partial: &Path,
    ) -> Result<Captured, Error> {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let target = self.target(step);
        let request = Request {
            nsys,
            target: &target,
            root: &self.options.root,
            operation: step.case.name,
            dims: &step.case.dims,
            implementation: &step.implementation,
            config: step.config.as_ref(),
            index: step.index,
            iterations: self.iterations,
            ranges_required: !self.options.without_ranges,
            allowed_outside: &self.options.allowed_outside,
            timeout: self.options.timeout,
            grace: self.options.grace,
            keep: self.options.keep_reports.as_deref(),
            stop,
        };
        let case = step.name();
        let captured = capture::capture(&request).map_err(|source| match source {
            CaptureError::Interrupted => Error::Interrupted,
            source => Error::Capture {
                case: case.clone(),
                source: Box::new(source),
            },
        })?;
        let path = partial.join("captures").join(format!("{case}.json"));
        store::write_json(&path, &captured.capture)?;
        Ok(captured)
    }

    /// The target's command line.
    fn target(&self, step: &Step) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec![absolute(&self.options.harness).into(), "capture".into()];
        let mut option = |flag: &str, value: OsString| words.extend([flag.into(), value]);
        option("--experiment", self.experiment.name.clone().into());
        option("--op", step.case.name.name().into());
        option("--implementation", step.implementation.clone().into());
        option("--inputs", absolute(&self.options.inputs).into());
        option("--iterations", self.iterations.to_string().into());
        option("--warmup", self.warmup.to_string().into());
        if let Some(config) = &step.config {
            let text = serde_json::Value::Object(config.clone()).to_string();
            option("--config", text.into());
        }
        if self.options.jobs > 1 {
            let lock = self.options.root.join("target/captures.lock");
            option("--lock", absolute(&lock).into());
        }
        let compiled = compiled(&self.options.root, &self.namespace);
        if compiled.is_dir() {
            option("--compiled", absolute(&compiled).into());
        }
        if let Some(python) = &self.options.python {
            // A bare name is looked up in PATH.
            let bare = python.components().count() == 1 && !python.is_absolute();
            let python = if bare {
                python.clone()
            } else {
                absolute(python)
            };
            option("--python", python.into());
        }
        words
    }
}

/// What the run of the namespace left of a case: what does not run there, and what was chosen. None where there was
/// no run.
fn samples(directory: &Path, case: &Case) -> Result<Option<Samples>, StoreError> {
    let path = directory.join(format!("samples/{}.json", case.name));
    path.is_file().then(|| store::read_json(&path)).transpose()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn cases(experiment: &Experiment, wanted: Option<&[Operation]>) -> Result<Vec<Case>, Invalid> {
    for operation in wanted.unwrap_or_default() {
        if experiment.case(*operation).is_none() {
            let known: Vec<&str> = experiment
                .operations
                .iter()
                .map(|c| c.name.name())
                .collect();
            return Err(Invalid::new(
                "--ops",
                operation,
                format!("operations of {}: {}", experiment.name, known.join(", ")),
            ));
        }
    }
    Ok(experiment
        .operations
        .iter()
        .filter(|case| wanted.is_none_or(|wanted| wanted.contains(&case.name)))
        .cloned()
        .collect())
}

fn implementations(
    experiment: &Experiment,
    wanted: Option<&[String]>,
) -> Result<Vec<String>, Invalid> {
    let known = &experiment.implementations;
    if let Some(unknown) = wanted
        .unwrap_or_default()
        .iter()
        .find(|w| !known.contains(w))
    {
        return Err(Invalid::new(
            "--implementations",
            format!("{unknown:?}"),
            format!(
                "implementations of {}: {}",
                experiment.name,
                known.join(", ")
            ),
        ));
    }
    Ok(known
        .iter()
        .filter(|name| wanted.is_none_or(|wanted| wanted.contains(name)))
        .cloned()
        .collect())
}
