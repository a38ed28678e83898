//! Every variant of an experiment's operations, captured side by side: one process and one capture hold them all,
//! operation by operation. A directory under the ladder's name is complete.

use crate::answer;
use crate::attribute::{self, Of};
use crate::capture::{self, CaptureError, Job};
use crate::error::Error;
use crate::find::{self, Nsys};
use crate::run::{
    Event, absolute, by_flag, cases, check_harness, check_inputs, of_case, profiler_words,
};
use mage_evidence::Invalid;
use mage_evidence::artifact::Build;
use mage_evidence::experiment::{Case, Experiment, Ladder, check_name};
use mage_evidence::hash::sha256_hex;
use mage_evidence::ladder::raw::{Answers, CAPTURE_SCHEMA, Capture, RUN_SCHEMA, Run};
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_workspace::{NewDirectory, discard, ladder_artifacts, now};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What to measure and how; what is none is as the experiment says.
#[derive(Debug, Clone)]
pub struct Options {
    /// Root of the workspace.
    pub root: PathBuf,
    /// Name of the experiment.
    pub experiment: String,
    /// Operations, else all.
    pub operations: Option<Vec<Operation>>,
    /// Captures; each has every operation.
    pub captures: Option<u32>,
    /// Calls of a variant inside a capture.
    pub iterations: Option<u32>,
    /// Calls of a variant before each of its turns.
    pub warmup: Option<u32>,
    /// Result namespace, else the experiment's name.
    pub namespace: Option<String>,
    /// Input files, as `mage-harness inputs` writes them.
    pub inputs: PathBuf,
    /// The directory to be made, else `artifacts/<ns>-ladder`.
    pub output: Option<PathBuf>,
    /// The profiler, else it is looked for.
    pub nsys: Option<PathBuf>,
    /// The target program.
    pub harness: PathBuf,
    /// How long one step of a capture may take.
    pub timeout: Duration,
    /// How long processes may go on after the profiler has ended.
    pub grace: Duration,
    /// Where reports are kept; they embed the target's scrubbed environment and are not for publication.
    pub keep_reports: Option<PathBuf>,
    /// Whether what an interrupted run left under the directory's name is removed: these are made whole, in one go.
    pub replace: bool,
    /// The command line, as it is recorded.
    pub command: Vec<String>,
}

/// A ladder that is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Where it is.
    pub directory: PathBuf,
    /// `ladder.json`.
    pub run: Run,
    /// Its captures in the order in which they ran.
    pub captures: Vec<Capture>,
}

/// Makes every capture and publishes the ladder. `build` is what the programs were built from, read before
/// anything is written; `stop` is set from outside to end.
///
/// # Errors
/// [`Error`]. Nothing is published then: what was complete stays in `<directory>.partial`, which is removed where
/// nothing was.
pub fn run(
    options: &Options,
    build: Build,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome, Error> {
    let plan = Plan::new(options)?;
    let nsys = find::find(options.nsys.as_deref())?;
    let directory = match options.replace {
        true => NewDirectory::replace(&plan.directory)?,
        false => NewDirectory::create(&plan.directory)?,
    };
    let started = now();
    tell(Event::Begins(
        &nsys,
        plan.captures as usize * plan.cases.len(),
    ));
    let mut captures: Vec<Capture> = Vec::new();
    let mut profiler = None;
    for index in 1..=plan.captures {
        match plan.step(index, &nsys, stop, directory.path(), tell) {
            Ok((of_operations, words)) => {
                profiler.get_or_insert(words);
                captures.extend(of_operations);
            }
            Err(error) if captures.is_empty() => {
                // The first error is the one to tell.
                let _ = discard(directory);
                return Err(error);
            }
            Err(error) => {
                tell(Event::Kept(directory.path(), captures.len()));
                return Err(error);
            }
        }
    }
    let run = Run {
        schema: RUN_SCHEMA.to_string(),
        namespace: plan.namespace.clone(),
        experiment: plan.experiment.name.clone(),
        experiment_sha256: plan.experiment_sha256.clone(),
        started,
        finished: now(),
        command: options.command.clone(),
        captures: plan.captures,
        iterations: plan.iterations,
        warmup: plan.warmup,
        operations: plan.cases.iter().map(|case| case.name).collect(),
        profiler: profiler.unwrap_or_else(|| nsys.version.clone()),
        build,
        target_sha256: plan.target_sha256.clone(),
    };
    run.check()?;
    store::write_json(&directory.path().join("ladder.json"), &run)?;
    Ok(Outcome {
        directory: directory.publish()?,
        run,
        captures,
    })
}

/// Everything that is decided, and checked, before anything runs.
struct Plan<'a> {
    options: &'a Options,
    experiment: Experiment,
    experiment_sha256: String,
    target_sha256: String,
    namespace: String,
    directory: PathBuf,
    cases: Vec<Case>,
    captures: u32,
    iterations: u32,
    warmup: u32,
}

impl<'a> Plan<'a> {
    fn new(options: &'a Options) -> Result<Self, Error> {
        let root = &options.root;
        let experiment = Experiment::named(root, &options.experiment)?;
        let asked = options.captures.map(|captures| Ladder { captures });
        let Some(ladder) = asked.or(experiment.ladder) else {
            return Err(
                Invalid::new("ladder", "no such table", "[ladder] with captures")
                    .help("add it to the experiment, or give --captures")
                    .in_file(&Experiment::path(root, &experiment.name))
                    .into(),
            );
        };
        ladder.check().map_err(by_flag)?;
        let mut protocol = experiment.protocol;
        protocol.capture_iterations = options.iterations.unwrap_or(protocol.capture_iterations);
        protocol.warmup = options.warmup.unwrap_or(protocol.warmup);
        protocol.check().map_err(by_flag)?;
        let namespace = options.namespace.clone().unwrap_or(experiment.name.clone());
        check_name(&namespace).map_err(|invalid| invalid.under("--namespace"))?;
        let cases = cases(&experiment, options.operations.as_deref())?;
        check_inputs(&options.inputs, &experiment)?;
        check_harness(&options.harness)?;
        let spec = store::read_bytes(&Experiment::path(root, &experiment.name))?;
        let target = store::read_bytes(&options.harness)?;
        let directory = match &options.output {
            Some(output) => output.clone(),
            None => ladder_artifacts(root, &namespace),
        };
        Ok(Self {
            options,
            experiment_sha256: sha256_hex(&spec),
            target_sha256: sha256_hex(&target),
            namespace,
            directory: absolute(&directory),
            cases,
            captures: ladder.captures,
            iterations: protocol.capture_iterations,
            warmup: protocol.warmup,
            experiment,
        })
    }

    /// Makes one capture and writes it below `partial`, a file an operation; with it, what the profiler says of itself.
    fn step(
        &self,
        index: u32,
        nsys: &Nsys,
        stop: &AtomicBool,
        partial: &Path,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Vec<Capture>, String), Error> {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let name = format!("ladder-{index}");
        tell(Event::Starts(&name));
        let target = self.target(index);
        let job = Job {
            name: &name,
            nsys,
            target: &target,
            root: &self.options.root,
            timeout: self.options.timeout,
            grace: self.options.grace,
            keep: self.options.keep_reports.as_deref(),
            stop,
        };
        let (captures, words) = self.capture(index, &job).map_err(|e| of_case(&name, e))?;
        for capture in &captures {
            let case = format!("{}-{index}", capture.answer.operation);
            let path = partial.join("captures").join(format!("{case}.json"));
            store::write_json(&path, capture)?;
            tell(Event::Climbed(&case, capture));
        }
        Ok((captures, words))
    }

    fn capture(&self, index: u32, job: &Job<'_>) -> Result<(Vec<Capture>, String), CaptureError> {
        let expected = "what was called, as `mage-harness ladder` prints it";
        let profiled = capture::profile(job, true, expected, |stdout| self.answers(stdout))?;
        let Answers { answers } = profiled.answer;
        let operations: Vec<Of<'_>> = answers
            .iter()
            .map(|answer| Of {
                operation: answer.operation.name(),
                arms: &answer.order,
            })
            .collect();
        let found = attribute::arms(&profiled.report, &operations, self.iterations)?;
        let mut notes = found.notes;
        notes.extend(profiled.notes);
        let words = profiler_words(
            job.nsys,
            profiled.report.schema_version.as_deref(),
            profiled.report.driver.as_deref(),
        );
        let mut captures = Vec::new();
        for (answer, arms) in answers.into_iter().zip(found.launches) {
            let operation = answer.operation;
            let capture = Capture {
                schema: CAPTURE_SCHEMA.to_string(),
                index,
                iterations: self.iterations,
                warmup: self.warmup,
                commands: profiled.commands.clone(),
                notes: notes.clone(),
                answer,
                arms,
            };
            capture
                .check()
                .map_err(|invalid| invalid.under(operation.name()))?;
            captures.push(capture);
        }
        Ok((captures, words))
    }

    /// The target's command line.
    fn target(&self, index: u32) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec![absolute(&self.options.harness).into(), "ladder".into()];
        let mut option = |flag: &str, value: OsString| words.extend([flag.into(), value]);
        let operations: Vec<&str> = self.cases.iter().map(|case| case.name.name()).collect();
        option("--experiment", self.experiment.name.clone().into());
        option("--ops", operations.join(",").into());
        option("--inputs", absolute(&self.options.inputs).into());
        option("--capture", index.to_string().into());
        option("--iterations", self.iterations.to_string().into());
        option("--warmup", self.warmup.to_string().into());
        words
    }

    /// What the target says it called, of the cases that it was asked for.
    ///
    /// # Errors
    /// What it says in its place.
    fn answers(&self, stdout: &str) -> Result<Answers, String> {
        let line = answer::last(stdout).ok_or("none")?;
        let answers: Answers =
            serde_json::from_value(line.into()).map_err(|error| error.to_string())?;
        for answer in &answers.answers {
            let name = answer.operation.name();
            answer
                .check()
                .map_err(|invalid| invalid.under(name).to_string())?;
        }
        let called = answers.answers.iter().map(|a| (a.operation, &a.dims));
        let asked = self.cases.iter().map(|case| (case.name, &case.dims));
        match called.clone().eq(asked) {
            true => Ok(answers),
            false => Err(format!("{:?}", called.collect::<Vec<_>>())),
        }
    }
}
