//! The counters of every case of an experiment, written so that a directory under the session's name is complete.

use super::kernels;
use super::session::{self, CounterError, OPTIONS, Read, Request};
use crate::answer;
use crate::error::Error;
use crate::ncu::{self, Ncu};
use crate::run::{
    absolute, cases, check_harness, check_inputs, implementations, interpreter, samples,
};
use crate::text;
use mage_evidence::Invalid;
use mage_evidence::artifact::Build;
use mage_evidence::choice::Config;
use mage_evidence::counters::artifact::{
    CALL_SCHEMA, CALLS, Call, Launch, Metric, PROBES_FILE, PROBES_SCHEMA, Plan, ProbeLaunch,
    Probes, SESSION_FILE, SESSION_SCHEMA, Session,
};
use mage_evidence::counters::metrics::{self, DURATION};
use mage_evidence::experiment::{Case, Experiment, check_name};
use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_workspace::{
    NewDirectory, artifacts, compiled, counter_artifacts, discard, now, profile_artifacts,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What to read and how; what is none is as the experiment says.
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
    /// Calls before the one that is read.
    pub warmup: Option<u32>,
    /// Result namespace, else the experiment's name.
    pub namespace: Option<String>,
    /// Input files, as `mage-harness inputs` writes them.
    pub inputs: PathBuf,
    /// The directory to be made, else `artifacts/<ns>-kernels-ncu`.
    pub output: Option<PathBuf>,
    /// The profiler, else it is looked for.
    pub ncu: Option<PathBuf>,
    /// The target program.
    pub harness: PathBuf,
    /// The Python that the target starts, else its own choice.
    pub python: Option<PathBuf>,
    /// How long one case may take.
    pub timeout: Duration,
    /// How long processes may go on after the profiler has ended.
    pub grace: Duration,
    /// Whether what an interrupted run left under the directory's name is removed: these are made whole, in one go.
    pub replace: bool,
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
            warmup: None,
            namespace: None,
            inputs,
            output: None,
            ncu: None,
            harness,
            python: None,
            timeout: Duration::from_secs(300),
            grace: Duration::from_secs(3),
            replace: false,
            command: Vec::new(),
        }
    }
}

/// What a run tells while it goes on.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The profiler that was found, and how many processes of it there will be.
    Begins(&'a Ncu, usize),
    /// A case starts, or the limits.
    Starts(&'a str),
    /// `ncu` does not know a counter: it is left out.
    Refused(&'a str, &'a str),
    /// There is no capture of a case in the namespace to hold its kernels against.
    Unproved(&'a str),
    /// It is done and written: how many launches, and their duration in microseconds.
    Done(&'a str, usize, f64),
    /// The run ended early: where its complete cases are kept, and how many.
    Kept(&'a Path, usize),
}

/// A session that is complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Where it is.
    pub directory: PathBuf,
    /// `counters.json`.
    pub session: Session,
    /// Its calls in the order in which they ran.
    pub calls: Vec<Call>,
}

/// Name of the limits in messages.
const LIMITS: &str = "limits";

/// Reads limits and every case and publishes the session. `build` is what the programs were built from, read
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
    let bench = Bench::new(options, stop)?;
    let directory = match options.replace {
        true => NewDirectory::replace(&bench.directory)?,
        false => NewDirectory::create(&bench.directory)?,
    };
    let started = now();
    let mut reader = Reader {
        bench: &bench,
        metrics: metrics::all(),
        refused: BTreeMap::new(),
        done: 0,
    };
    tell(Event::Begins(&bench.ncu, 1 + bench.steps.len()));
    let all = |reader: &mut Reader<'_>, tell: &mut dyn FnMut(Event<'_>)| {
        let plan = reader.limits(directory.path(), tell)?;
        let calls = bench
            .steps
            .iter()
            .map(|step| reader.case(step, directory.path(), tell))
            .collect::<Result<Vec<_>, Error>>()?;
        // At the end: what was read is kept whatever comes of this.
        let captures = profile_artifacts(&options.root, &bench.namespace);
        let mut unproved = Vec::new();
        for call in &calls {
            if !kernels::check(&captures, call)? {
                let case = format!("{}-{}", call.operation, call.implementation);
                tell(Event::Unproved(&case));
                unproved.push(case);
            }
        }
        Ok::<_, Error>((plan, calls, unproved))
    };
    let (plan, calls, unproved) = match all(&mut reader, tell) {
        Ok(read) => read,
        Err(error) => {
            match reader.done {
                // The first error is the one to tell.
                0 => drop(discard(directory)),
                done => tell(Event::Kept(directory.path(), done)),
            }
            return Err(error);
        }
    };
    let session = Session {
        schema: SESSION_SCHEMA.to_string(),
        namespace: bench.namespace.clone(),
        experiment: bench.experiment.name.clone(),
        experiment_sha256: bench.experiment_sha256.clone(),
        started,
        finished: now(),
        command: options.command.clone(),
        options: OPTIONS.map(String::from).to_vec(),
        warmup: bench.warmup,
        implementations: bench.implementations.clone(),
        refused: reader.refused,
        unproved,
        profiler: bench.ncu.version.clone(),
        device: plan.device,
        build,
        target_sha256: bench.target_sha256.clone(),
        objects_sha256: plan.objects_sha256,
    };
    store::write_json(&directory.path().join(SESSION_FILE), &session)?;
    Ok(Outcome {
        directory: directory.publish()?,
        session,
        calls,
    })
}

/// Everything that is decided, and checked, before anything runs.
struct Bench<'a> {
    options: &'a Options,
    stop: &'a AtomicBool,
    ncu: Ncu,
    experiment: Experiment,
    experiment_sha256: String,
    target_sha256: String,
    namespace: String,
    directory: PathBuf,
    implementations: Vec<String>,
    warmup: u32,
    steps: Vec<(Case, String, Option<Config>)>,
}

impl<'a> Bench<'a> {
    fn new(options: &'a Options, stop: &'a AtomicBool) -> Result<Self, Error> {
        let root = &options.root;
        let experiment = Experiment::named(root, &options.experiment)?;
        let mut protocol = experiment.protocol;
        protocol.warmup = options.warmup.unwrap_or(protocol.warmup);
        protocol.check().map_err(|mut invalid| {
            invalid.field = format!("--{}", invalid.field);
            invalid
        })?;
        let namespace = options.namespace.clone().unwrap_or(experiment.name.clone());
        check_name(&namespace).map_err(|invalid| invalid.under("--namespace"))?;
        let cases = cases(&experiment, options.operations.as_deref())?;
        let implementations = implementations(&experiment, options.implementations.as_deref())?;
        check_inputs(&options.inputs, &experiment)?;
        check_harness(&options.harness)?;
        let mut steps = Vec::new();
        for case in &cases {
            let samples = samples(&artifacts(root, &namespace), case)?;
            let names = match &samples {
                Some(samples) => samples.available(&implementations),
                None => implementations.clone(),
            };
            for name in names {
                let choice = samples.as_ref().and_then(|s| s.choices.get(&name));
                let config = choice.map(|choice| choice.config.clone());
                steps.push((case.clone(), name, config));
            }
        }
        let spec = store::read_bytes(&Experiment::path(root, &experiment.name))?;
        let target = store::read_bytes(&options.harness)?;
        let directory = match &options.output {
            Some(output) => output.clone(),
            None => counter_artifacts(root, &namespace),
        };
        Ok(Self {
            options,
            stop,
            ncu: ncu::find(options.ncu.as_deref()).map_err(Error::NotAvailable)?,
            experiment_sha256: sha256_hex(&spec),
            target_sha256: sha256_hex(&target),
            namespace,
            directory: absolute(&directory),
            implementations,
            warmup: protocol.warmup,
            steps,
            experiment,
        })
    }

    /// The command line of one case.
    fn target(&self, case: &Case, implementation: &str, config: Option<&Config>) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            vec![absolute(&self.options.harness).into(), "capture".into()];
        let mut option = |flag: &str, value: OsString| words.extend([flag.into(), value]);
        option("--experiment", self.experiment.name.clone().into());
        option("--op", case.name.name().into());
        option("--implementation", implementation.into());
        option("--inputs", absolute(&self.options.inputs).into());
        option("--iterations", "1".into());
        option("--warmup", self.warmup.to_string().into());
        if let Some(config) = config {
            let text = serde_json::Value::Object(config.clone()).to_string();
            option("--config", text.into());
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

/// Reads cases, and learns which counters this `ncu` does not know.
struct Reader<'a> {
    bench: &'a Bench<'a>,
    metrics: Vec<String>,
    refused: BTreeMap<String, String>,
    done: usize,
}

impl Reader<'_> {
    /// Reads the launches of one target, again without each counter that `ncu` does not know.
    fn read(
        &mut self,
        name: &str,
        target: &[OsString],
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Read, CounterError> {
        loop {
            if self.bench.stop.load(Ordering::Relaxed) {
                return Err(CounterError::Interrupted);
            }
            let read = session::read(&Request {
                ncu: &self.bench.ncu,
                target,
                root: &self.bench.options.root,
                name,
                metrics: &self.metrics,
                timeout: self.bench.options.timeout,
                grace: self.bench.options.grace,
                stop: self.bench.stop,
            });
            let (unknown, said) = match read {
                Err(CounterError::Refused { metrics, said })
                    if !metrics.is_empty() && !metrics.iter().any(|m| m == DURATION) =>
                {
                    (metrics, said)
                }
                Err(error) => return Err(error),
                Ok(mut read) => {
                    for launch in &mut read.launches {
                        let absent = |said: &String| Metric::Absent {
                            absent: format!("ncu does not know it here: {said}"),
                        };
                        let refused = self
                            .refused
                            .iter()
                            .map(|(m, said)| (m.clone(), absent(said)));
                        launch.metrics.extend(refused);
                    }
                    return Ok(read);
                }
            };
            self.metrics.retain(|metric| !unknown.contains(metric));
            for metric in unknown {
                tell(Event::Refused(&metric, &said));
                self.refused.insert(metric, said.clone());
            }
        }
    }

    /// Measures the limits and writes them below `partial`.
    fn limits(&mut self, partial: &Path, tell: &mut dyn FnMut(Event<'_>)) -> Result<Plan, Error> {
        let wrong = |source: CounterError| failed(LIMITS, source);
        tell(Event::Starts(LIMITS));
        let private = session::private().map_err(wrong)?;
        let file = private.path().join("plan.json");
        let target: Vec<OsString> = vec![
            absolute(&self.bench.options.harness).into(),
            "limits".into(),
            "--warmup".into(),
            self.bench.warmup.to_string().into(),
            "--plan".into(),
            file.clone().into(),
        ];
        let read = self.read(LIMITS, &target, tell).map_err(wrong)?;
        let plan: Plan = match store::read_json(&file) {
            Ok(plan) => plan,
            Err(error) => {
                let found = format!("no plan ({error})");
                let words = text::last_words(&read.stdout);
                return Err(wrong(CounterError::Unfinished { found, words }));
            }
        };
        if plan.probes.len() != read.launches.len() {
            let found = format!("{} launches", read.launches.len());
            let expected = format!("{}, as mage-harness limits made", plan.probes.len());
            return Err(Invalid::new(LIMITS, found, expected).into());
        }
        let probes = plan.probes.iter().zip(read.launches);
        let probes = Probes {
            schema: PROBES_SCHEMA.to_string(),
            probes: probes
                .map(|(probe, launch)| ProbeLaunch {
                    limit: probe.limit,
                    variant: probe.variant.clone(),
                    dims: probe.dims.clone(),
                    launch,
                })
                .collect(),
        };
        probes.check().map_err(|e| e.under(LIMITS))?;
        store::write_json(&partial.join(PROBES_FILE), &probes)?;
        self.done += 1;
        let launches: Vec<&Launch> = probes.probes.iter().map(|probe| &probe.launch).collect();
        tell(Event::Done(LIMITS, launches.len(), duration_us(&launches)));
        Ok(plan)
    }

    /// Reads one case and writes it below `partial`.
    fn case(
        &mut self,
        (case, implementation, config): &(Case, String, Option<Config>),
        partial: &Path,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Call, Error> {
        let name = format!("{}-{implementation}", case.name);
        tell(Event::Starts(&name));
        let target = self.bench.target(case, implementation, config.as_ref());
        let wrong = |source: CounterError| failed(&name, source);
        let read = self.read(&name, &target, tell).map_err(wrong)?;
        let ran = answer::ran(&read.stdout, implementation, config.as_ref()).map_err(|found| {
            let words = text::last_words(&read.stdout);
            wrong(CounterError::Unfinished { found, words })
        })?;
        let call = Call {
            schema: CALL_SCHEMA.to_string(),
            operation: case.name,
            dims: case.dims.clone(),
            implementation: implementation.clone(),
            variant: ran.variant,
            kernels: read.launches,
        };
        call.check().map_err(|invalid| invalid.under(&name))?;
        let path = partial.join(CALLS).join(format!("{name}.json"));
        store::write_json(&path, &call)?;
        self.done += 1;
        let launches: Vec<&Launch> = call.kernels.iter().collect();
        tell(Event::Done(&name, launches.len(), duration_us(&launches)));
        Ok(call)
    }
}

fn failed(case: &str, source: CounterError) -> Error {
    match source {
        CounterError::Interrupted => Error::Interrupted,
        source => Error::Counters {
            case: case.to_owned(),
            source: Box::new(source),
        },
    }
}

fn duration_us(launches: &[&Launch]) -> f64 {
    let durations = launches
        .iter()
        .map(|launch| match launch.metrics.get(DURATION) {
            Some(Metric::Read { value, .. }) => *value,
            _ => 0.0,
        });
    durations.sum::<f64>() / 1000.0
}
