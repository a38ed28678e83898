//! Every capture of an experiment, written so that a directory under the profile's name is complete.

use crate::capture::{self, CaptureError, Captured, Job, Request};
use crate::error::Error;
use crate::find::{self, Nsys};
use mage_evidence::Invalid;
use mage_evidence::artifact::{
    Build, Capture, PROFILE_SCHEMA, Profile, Resumed, Samples, rotated, same_session,
};
use mage_evidence::choice::Config;
use mage_evidence::experiment::{Case, Experiment, check_name};
use mage_evidence::hash::sha256_hex;
use mage_evidence::ladder::raw::Capture as LadderCapture;
use mage_evidence::operation::Operation;
use mage_evidence::store::{self, StoreError};
use mage_workspace::{
    NewDirectory, artifacts, compiled, discard, now, profile_artifacts, remove_cut_writes,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

/// How long processes may go on after the profiler has ended, where nothing else is said.
pub const GRACE: Duration = Duration::from_secs(3);

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
    /// How many captures may be under way at once. They start, prepare, end and are exported side by side; from its
    /// warm-up to its last call a target has the GPU to itself.
    pub jobs: usize,
    /// Whether to go on with what an interrupted run of the same options left.
    pub resume: bool,
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
            grace: GRACE,
            keep_reports: None,
            allowed_outside: Vec::new(),
            without_ranges: false,
            jobs: 1,
            resume: false,
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
    /// A capture of a ladder is done and written.
    Climbed(&'a str, &'a LadderCapture),
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
/// [`Error`]. Nothing is published then: what was complete stays in `<directory>.partial`, from where a run with
/// [`Options::resume`] goes on; it is removed where nothing was. Every capture is a process of its own, so those of
/// before and after an interruption are what they would have been without it. What was begun by another build, with
/// another profiler or under another plan is refused and left as it is.
pub fn run(
    options: &Options,
    build: Build,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome, Error> {
    let plan = Plan::new(options)?;
    let nsys = find::find(options.nsys.as_deref())?;
    let mut profile = plan.profile(&nsys, build);
    let (directory, left) = match options.resume {
        false => (NewDirectory::create(&plan.directory)?, None),
        true => {
            let directory = NewDirectory::resume(&plan.directory)?;
            let left = plan.left(directory.path(), &profile)?;
            (directory, left)
        }
    };
    let mut captures = Vec::new();
    if let Some(left) = left {
        captures = left.captures;
        if left.ended {
            end(directory.path())?;
            return Ok(Outcome {
                directory: directory.publish()?,
                profile: left.profile,
                captures,
            });
        }
        profile = left.profile;
    }
    // First of all: without it nobody could tell what the rest is of.
    let begun = match Begun::write(directory.path(), profile) {
        Ok(begun) => begun,
        Err(error) => {
            if captures.is_empty() {
                let _ = discard(directory);
            }
            return Err(error.into());
        }
    };
    let kept = captures.len();
    tell(Event::Begins(&nsys, plan.steps.len() - kept));
    let missing: Vec<&Step> = plan
        .steps
        .iter()
        .filter(|step| !captures[..kept].iter().any(|capture| step.is(capture)))
        .collect();
    let (done, failed) = plan.all(&missing, &nsys, stop, &begun, tell);
    match failed {
        None => {}
        Some(error) if captures.is_empty() && done.is_empty() => {
            // The first error is the one to tell.
            let _ = discard(directory);
            return Err(error);
        }
        Some(error) => {
            tell(Event::Kept(directory.path(), kept + done.len()));
            return Err(error);
        }
    }
    let mut profile = begun.profile();
    captures.extend(done.into_values().map(|captured| captured.capture));
    profile.finished = now();
    store::write_json(&directory.path().join(PROFILE), &profile)?;
    end(directory.path())?;
    Ok(Outcome {
        directory: directory.publish()?,
        profile,
        captures,
    })
}

/// The record of a profile that has not ended: [`Profile`] with the end standing for the beginning. Never published.
const BEGUN: &str = "begun.json";
/// The record of one that has.
const PROFILE: &str = "profile.json";
const CAPTURES: &str = "captures";

/// The record is whole: what was only for resuming goes.
fn end(directory: &Path) -> Result<(), Error> {
    let path = directory.join(BEGUN);
    if path.exists() {
        std::fs::remove_file(&path).map_err(store::io_error("remove", &path))?;
    }
    Ok(())
}

/// The record of a profile under way. It is on disk, with all that is known, before what it is the record of.
struct Begun {
    directory: PathBuf,
    /// And whether a report has said what it says of itself.
    profile: Mutex<(Profile, bool)>,
}

impl Begun {
    fn write(directory: &Path, profile: Profile) -> Result<Self, StoreError> {
        store::write_json(&directory.join(BEGUN), &profile)?;
        Ok(Self {
            directory: directory.to_path_buf(),
            profile: Mutex::new((profile, false)),
        })
    }

    /// Records the words of the first report.
    fn learn(&self, words: String) -> Result<(), StoreError> {
        let mut known = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.1 {
            let profile = Profile {
                profiler: words,
                ..known.0.clone()
            };
            store::write_json(&self.directory.join(BEGUN), &profile)?;
            *known = (profile, true);
        }
        Ok(())
    }

    fn profile(self) -> Profile {
        let known = self.profile.into_inner();
        known.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// What an interrupted run left.
struct Left {
    profile: Profile,
    captures: Vec<Capture>,
    /// Whether it ended between its record and its name.
    ended: bool,
}

/// The profiler's version, the export's schema and the driver, as far as they are known.
pub(crate) fn profiler_words(nsys: &Nsys, schema: Option<&str>, driver: Option<&str>) -> String {
    let mut words = nsys.version.clone();
    if let Some(version) = schema {
        words.push_str(&format!(", export schema {version}"));
    }
    if let Some(driver) = driver {
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
    fn name(&self) -> String {
        format!("{}-{}-{}", self.case.name, self.implementation, self.index)
    }

    /// Whether `capture` is the one that this step makes.
    fn is(&self, capture: &Capture) -> bool {
        capture.operation == self.case.name
            && capture.implementation == self.implementation
            && capture.index == self.index
    }
}

impl<'a> Plan<'a> {
    fn new(options: &'a Options) -> Result<Self, Error> {
        let root = &options.root;
        let experiment = Experiment::named(root, &options.experiment)?;
        let mut protocol = experiment.protocol;
        protocol.captures = options.captures.unwrap_or(protocol.captures);
        protocol.capture_iterations = options.iterations.unwrap_or(protocol.capture_iterations);
        protocol.warmup = options.warmup.unwrap_or(protocol.warmup);
        protocol.check().map_err(by_flag)?;
        let namespace = options.namespace.clone().unwrap_or(experiment.name.clone());
        check_name(&namespace).map_err(|invalid| invalid.under("--namespace"))?;
        let cases = cases(&experiment, options.operations.as_deref())?;
        let implementations = implementations(&experiment, options.implementations.as_deref())?;
        check_inputs(&options.inputs, &experiment)?;
        check_harness(&options.harness)?;
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

    /// Makes these captures, as many at once as `jobs` says; what is done, by its place, and the first error, after
    /// which no other starts.
    fn all(
        &self,
        steps: &[&Step],
        nsys: &Nsys,
        stop: &AtomicBool,
        begun: &Begun,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> (BTreeMap<usize, Captured>, Option<Error>) {
        let next = AtomicUsize::new(0);
        let ended = AtomicBool::new(false);
        let mut done = BTreeMap::new();
        let mut failed = None;
        std::thread::scope(|scope| {
            let (sender, messages) = mpsc::channel();
            for _ in 0..self.options.jobs.clamp(1, steps.len().max(1)) {
                let (sender, next, ended) = (sender.clone(), &next, &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(step) = steps.get(place) else {
                            break;
                        };
                        // The receiver lives as long as a sender does.
                        let _ = sender.send((place, step.name(), None));
                        let captured = self.step(step, nsys, stop, begun);
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

    /// The record of the profile as it begins.
    fn profile(&self, nsys: &Nsys, build: Build) -> Profile {
        let now = now();
        Profile {
            schema: PROFILE_SCHEMA.to_string(),
            namespace: self.namespace.clone(),
            experiment: self.experiment.name.clone(),
            experiment_sha256: self.experiment_sha256.clone(),
            started: now.clone(),
            finished: now,
            command: self.options.command.clone(),
            capture_iterations: self.iterations,
            warmup: self.warmup,
            captures: self.captures,
            implementations: self.implementations.clone(),
            profiler: nsys.version.clone(),
            build,
            target_sha256: self.target_sha256.clone(),
            resumed: Vec::new(),
        }
    }

    /// What `directory` holds of the plan; none where the run ended before it captured anything.
    fn left(&self, directory: &Path, now: &Profile) -> Result<Option<Left>, Error> {
        remove_cut_writes(directory, &[BEGUN, PROFILE, CAPTURES])?;
        let files: Vec<String> = self
            .steps
            .iter()
            .map(|s| format!("{}.json", s.name()))
            .collect();
        let captured = directory.join(CAPTURES);
        if captured.exists() {
            let known: Vec<&str> = files.iter().map(String::as_str).collect();
            remove_cut_writes(&captured, &known)?;
        }
        let whole: Vec<(&Step, PathBuf)> = self
            .steps
            .iter()
            .zip(&files)
            .map(|(step, file)| (step, captured.join(file)))
            .filter(|(_, path)| path.is_file())
            .collect();
        let ended = directory.join(PROFILE).is_file();
        let path = directory.join(if ended { PROFILE } else { BEGUN });
        let again = "remove the directory and start again";
        if !path.is_file() {
            return match whole.first() {
                None => Ok(None),
                Some((step, _)) => Err(Invalid::new(
                    BEGUN,
                    format!("none, and a capture of {}", step.name()),
                    "the record that every profile begins with",
                )
                .help(again)
                .in_file(directory)
                .into()),
            };
        }
        let mut profile: Profile = store::read_json(&path)?;
        profile.check().map_err(|invalid| invalid.in_file(&path))?;
        // What the profiler's reports say of themselves is known only after the first of them.
        let said = profile.profiler.strip_prefix(&now.profiler);
        let profiler = match said.is_some_and(|said| said.starts_with(", ")) {
            true => now.profiler.clone(),
            false => profile.profiler.clone(),
        };
        let begun = Profile {
            profiler,
            ..profile.clone()
        };
        same_session(&begun, now).map_err(|invalid| invalid.in_file(&path))?;
        let mut captures = Vec::new();
        for (step, path) in &whole {
            let capture: Capture = store::read_json(path)?;
            let right = capture.check().and_then(|()| capture.check_in(&profile));
            right.map_err(|invalid| invalid.help(again).in_file(path))?;
            if !step.is(&capture) || capture.dims != step.case.dims {
                let found = format!("{} {:?}", capture.operation, capture.dims);
                let expected = format!("{} {:?}", step.name(), step.case.dims);
                let other = Invalid::new("", found, expected).help(again);
                return Err(other.in_file(path).into());
            }
            captures.push(capture);
        }
        if ended && whole.len() < self.steps.len() {
            let found = format!("{} of {} captures", whole.len(), self.steps.len());
            let missing = Invalid::new(CAPTURES, found, "all, where there is profile.json");
            return Err(missing.help(again).in_file(directory).into());
        }
        if !ended {
            profile.resumed.push(Resumed {
                at: mage_workspace::now(),
                command: self.options.command.clone(),
                kept: whole.iter().map(|(step, _)| step.name()).collect(),
            });
        }
        Ok(Some(Left {
            profile,
            captures,
            ended,
        }))
    }

    /// Makes one capture and writes it.
    fn step(
        &self,
        step: &Step,
        nsys: &Nsys,
        stop: &AtomicBool,
        begun: &Begun,
    ) -> Result<Captured, Error> {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let target = self.target(step);
        let case = step.name();
        let request = Request {
            job: Job {
                name: &case,
                nsys,
                target: &target,
                root: &self.options.root,
                timeout: self.options.timeout,
                grace: self.options.grace,
                keep: self.options.keep_reports.as_deref(),
                stop,
            },
            operation: step.case.name,
            dims: &step.case.dims,
            implementation: &step.implementation,
            config: step.config.as_ref(),
            index: step.index,
            iterations: self.iterations,
            ranges_required: !self.options.without_ranges,
            allowed_outside: &self.options.allowed_outside,
        };
        let captured = capture::capture(&request).map_err(|source| of_case(&case, source))?;
        let (schema, driver) = (&captured.schema_version, &captured.driver);
        let words = profiler_words(nsys, schema.as_deref(), driver.as_deref());
        begun.learn(words)?;
        let path = begun.directory.join(CAPTURES).join(format!("{case}.json"));
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
            option("--python", interpreter(python).into());
        }
        words
    }
}

/// Names a refused number of the protocol by its flag.
pub(crate) fn by_flag(mut invalid: Invalid) -> Invalid {
    let flag = match invalid.field.as_str() {
        "capture_iterations" => "iterations",
        other => other,
    };
    invalid.field = format!("--{flag}");
    invalid
}

/// The error of one capture.
pub(crate) fn of_case(case: &str, source: CaptureError) -> Error {
    match source {
        CaptureError::Interrupted => Error::Interrupted,
        source => Error::Capture {
            case: case.to_string(),
            source: Box::new(source),
        },
    }
}

/// What the run of the namespace left of a case: what does not run there, and what was chosen. None where there was
/// no run.
pub(crate) fn samples(directory: &Path, case: &Case) -> Result<Option<Samples>, StoreError> {
    let path = directory.join(format!("samples/{}.json", case.name));
    path.is_file().then(|| store::read_json(&path)).transpose()
}

pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The interpreter as the target is given it; a bare name is looked up in PATH.
pub(crate) fn interpreter(python: &Path) -> PathBuf {
    let bare = python.components().count() == 1 && !python.is_absolute();
    match bare {
        true => python.to_path_buf(),
        false => absolute(python),
    }
}

pub(crate) fn check_inputs(inputs: &Path, experiment: &Experiment) -> Result<(), Invalid> {
    if inputs.is_dir() {
        return Ok(());
    }
    Err(Invalid::new(
        "--inputs",
        format!("{}, which is no directory", inputs.display()),
        "the directory of input files",
    )
    .help(format!(
        "write them with `mage-harness inputs --experiment {} --output DIR`",
        experiment.name
    )))
}

pub(crate) fn check_harness(harness: &Path) -> Result<(), Invalid> {
    if harness.is_file() {
        return Ok(());
    }
    Err(Invalid::new(
        "--harness",
        format!("{}, which is no file", harness.display()),
        "the program mage-harness",
    )
    .help("build it with `cargo build --release -p mage-harness`, or name it"))
}

pub(crate) fn cases(
    experiment: &Experiment,
    wanted: Option<&[Operation]>,
) -> Result<Vec<Case>, Invalid> {
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

pub(crate) fn implementations(
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
