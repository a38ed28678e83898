//! The protocol: rounds in rotating order, a full-output check before every timing, inputs proved
//! unchanged after, everything written whole or not at all.

mod left;

use self::left::Left;
use crate::implementation::{Implementation, Load, Loaded};
use crate::interrupt;
use crate::monitor::Monitor;
use crate::verify::{self, Expected};
use anyhow::{Context, bail};
use indexmap::IndexMap;
use mage_evidence::artifact::{self, Build, Measurement, Python, Round, Run, Samples};
use mage_evidence::experiment::{Case, Experiment, Protocol};
use mage_evidence::operation::Operation;
use mage_evidence::{hash, store};
use mage_kernels::inputs::{self, Inputs};
use mage_kernels::products;
use mage_kernels::reference::reference;
use mage_workspace::NewDirectory;
use mage_workspace::progress::Progress;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which implementation gives the output of record.
const RECORD: &str = "python";

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The experiment, checked.
    pub experiment: Experiment,
    /// Its spec's text.
    pub spec: String,
    /// Its rounds and calls, with what the command line changed.
    pub protocol: Protocol,
    /// Which of its operations, in its order.
    pub operations: Vec<Operation>,
    /// Which of its implementations, in its order.
    pub implementations: Vec<String>,
    /// Where the evidence goes.
    pub namespace: String,
    /// The directory to make.
    pub output: PathBuf,
    /// The command line, for the record.
    pub command: Vec<String>,
}

/// What runs it.
pub struct Bench {
    /// One for each name in [`Plan::implementations`], in that order.
    pub implementations: Vec<Box<dyn Implementation>>,
    /// Reads the GPU's state.
    pub monitor: Box<dyn Monitor>,
    /// The Python environment, where there is one.
    pub python: Option<Python>,
    /// What was built, read before anything is written.
    pub build: Build,
}

/// Runs the plan and publishes its directory.
///
/// An interrupt or an error publishes nothing; operations that were complete stay in `<output>.partial`, from
/// where [`resume`] goes on; it is removed where there are none.
///
/// # Errors
/// A failed check, a changed input, whatever the device or the worker reports, or
/// [`interrupt::Interrupted`].
pub fn run(plan: &Plan, bench: &mut Bench) -> anyhow::Result<PathBuf> {
    let directory = NewDirectory::create(&plan.output)?;
    finish(plan, bench, directory, None)
}

/// Goes on with what an interrupted run of the same plan left, and publishes its directory.
///
/// What is resumed is whole operations. The rounds of an operation are compared with each other, and pairs cancel
/// what a session does to both sides; rounds of another process are another session. So an operation that was not
/// complete is measured again from its first round, those that were complete are kept, and the record says which are
/// from which side of the interruption.
///
/// # Errors
/// As [`run`]; and, leaving everything as it is, where there is nothing to resume, another run works on it, or what is
/// there was begun by another build, on another device or driver, or under another plan.
pub fn resume(plan: &Plan, bench: &mut Bench) -> anyhow::Result<PathBuf> {
    let directory = NewDirectory::resume(&plan.output)?;
    match left::read(plan, bench, directory.path())? {
        Left::Nothing => finish(plan, bench, directory, None),
        Left::Begun(begun) => finish(plan, bench, directory, Some(*begun)),
        Left::Whole => {
            left::end(directory.path())?;
            Ok(directory.publish()?)
        }
    }
}

fn finish(
    plan: &Plan,
    bench: &mut Bench,
    directory: NewDirectory,
    begun: Option<Begun>,
) -> anyhow::Result<PathBuf> {
    let mut complete = begun.as_ref().map_or(0, |begun| begun.whole.len());
    match fill(plan, bench, directory.path(), begun, &mut complete) {
        Ok(()) => Ok(directory.publish()?),
        Err(error) if complete == 0 => {
            let error = or_interrupted(error);
            match mage_workspace::discard(directory) {
                Ok(()) => Err(error),
                Err(left) => Err(error.context(left)),
            }
        }
        Err(error) => {
            let error = or_interrupted(error);
            let kept = directory.path().display().to_string();
            Err(error.context(format!(
                "nothing was published; {complete} complete operations are kept in {kept}: go on with --resume"
            )))
        }
    }
}

/// What went wrong after an interrupt went wrong because of it.
fn or_interrupted(error: anyhow::Error) -> anyhow::Error {
    match interrupt::check() {
        Err(interrupted) if !error.is::<interrupt::Interrupted>() => {
            anyhow::Error::new(interrupted)
        }
        _ => error,
    }
}

/// A run that was begun, and the operations of it that are complete.
struct Begun {
    run: Run,
    whole: Vec<Operation>,
}

fn fill(
    plan: &Plan,
    bench: &mut Bench,
    directory: &Path,
    begun: Option<Begun>,
    complete: &mut usize,
) -> anyhow::Result<()> {
    let Begun { mut run, whole } = match begun {
        Some(begun) => begun,
        None => Begun {
            run: record(plan, bench)?,
            whole: Vec::new(),
        },
    };
    // First of all: without it nobody could tell what the rest is of.
    store::write_json(&directory.join(left::BEGUN), &run)?;
    store::write_bytes(&directory.join("experiment.toml"), plan.spec.as_bytes())?;
    let inputs_directory = directory.join("inputs");
    let left = plan.operations.len() - whole.len();
    let steps = left * plan.protocol.rounds as usize * plan.implementations.len();
    let mut progress = Progress::new(steps as u64);
    for &operation in &plan.operations {
        if whole.contains(&operation) {
            continue;
        }
        let case = plan
            .experiment
            .case(operation)
            .with_context(|| format!("the experiment has no operation {operation}"))?;
        let samples = measure(plan, bench, case, &inputs_directory, &mut progress)
            .with_context(|| operation.to_string())?;
        let path = directory.join("samples").join(format!("{operation}.json"));
        store::write_json(&path, &samples)?;
        *complete += 1;
    }
    progress.finish();
    run.finished = mage_workspace::now();
    run.gpu_state_after = bench.monitor.state()?;
    store::write_json(&directory.join(left::RUN), &run)?;
    left::end(directory)
}

/// Generates a case's inputs and proves them against the experiment's hashes.
///
/// # Errors
/// Names the file whose hash differs.
pub fn case_inputs(experiment: &Experiment, case: &Case) -> anyhow::Result<Inputs> {
    let inputs = inputs::generate(case.name, &case.dims, experiment.seed)?;
    inputs.verify(&case.sha256)?;
    Ok(inputs)
}

fn measure(
    plan: &Plan,
    bench: &mut Bench,
    case: &Case,
    inputs_directory: &Path,
    progress: &mut Progress,
) -> anyhow::Result<Samples> {
    let inputs = case_inputs(&plan.experiment, case)?;
    inputs.write(inputs_directory)?;
    let files = inputs_directory.join(case.name.name());
    let reference = reference(&inputs)?;
    let mut unavailable = BTreeMap::new();
    let mut choices = BTreeMap::new();
    for implementation in &mut bench.implementations {
        let name = implementation.name().to_string();
        let loaded = implementation.load(&Load {
            inputs: &inputs,
            directory: &files,
            variant: &case.variant,
            tolerance: plan.experiment.tolerance,
            config: None,
        })?;
        match loaded {
            Loaded::Unavailable(reason) => drop(unavailable.insert(name, reason)),
            Loaded::Ready(Some(choice)) => drop(choices.insert(name, choice)),
            Loaded::Ready(None) => {}
        }
    }
    let of_kernels = bench.implementations.iter().filter_map(|implementation| {
        let products = products::of(implementation.kernel()?)?;
        Some((implementation.name().to_string(), products.words().into()))
    });
    let products = of_kernels
        .filter(|(name, _)| !unavailable.contains_key(name))
        .collect();
    let runs = |name: &&String| !unavailable.contains_key(*name);
    let available: Vec<String> = plan.implementations.iter().filter(runs).cloned().collect();
    let record = output_of_record(&mut bench.implementations)?;
    let expected = Expected {
        shape: case.name.output_shape(&case.dims),
        record: record.as_deref(),
        reference: &reference,
        tolerance: plan.experiment.tolerance,
    };
    let mut rounds = Vec::new();
    for round in 0..plan.protocol.rounds {
        let gpu_state = bench.monitor.state()?;
        let mut measurements = IndexMap::new();
        for name in artifact::rotated(&available, round as usize) {
            interrupt::check()?;
            progress.step(&format!("{} round {} {name}", case.name, round + 1));
            let implementation = bench
                .implementations
                .iter_mut()
                .find(|i| i.name() == name)
                .with_context(|| format!("no implementation {name} on the bench"))?;
            let measurement = one(implementation.as_mut(), &expected, &plan.protocol)
                .with_context(|| format!("round {}", round + 1))?;
            measurements.insert(name.to_string(), measurement);
        }
        rounds.push(Round {
            index: round + 1,
            gpu_state,
            implementations: measurements,
        });
    }
    for implementation in &mut bench.implementations {
        if !unavailable.contains_key(implementation.name()) {
            unchanged(implementation.as_mut(), case)?;
        }
    }
    Ok(Samples {
        schema: artifact::SAMPLES_SCHEMA.into(),
        operation: case.name,
        dims: case.dims.clone(),
        input_sha256: inputs.sha256(),
        unavailable,
        choices,
        products,
        rounds,
    })
}

/// PyTorch's output, which every check of the operation compares with; itself finite and within
/// tolerance of the FP64 reference by its own checks.
fn output_of_record(
    implementations: &mut [Box<dyn Implementation>],
) -> anyhow::Result<Option<Vec<f32>>> {
    implementations
        .iter_mut()
        .find(|i| i.name() == RECORD)
        .map(|python| python.checked_call())
        .transpose()
}

/// One implementation's turn in a round: the check, then the warm-up and the samples.
fn one(
    implementation: &mut dyn Implementation,
    expected: &Expected<'_>,
    protocol: &Protocol,
) -> anyhow::Result<Measurement> {
    let check = verify::check(implementation, expected)?;
    let samples_us = implementation.measure(protocol.warmup, protocol.iterations)?;
    let name = implementation.name();
    if samples_us.len() != protocol.iterations as usize {
        bail!(
            "{name}: found {} samples, expected {}",
            samples_us.len(),
            protocol.iterations
        );
    }
    if let Some(i) = samples_us.iter().position(|s| !(s.is_finite() && *s > 0.0)) {
        bail!(
            "{name}: sample {i}: found {} us, expected a finite time above 0",
            samples_us[i]
        );
    }
    Ok(Measurement {
        kernel: implementation.kernel().map(str::to_string),
        warmup: protocol.warmup,
        samples_us,
        check,
    })
}

fn unchanged(implementation: &mut dyn Implementation, case: &Case) -> anyhow::Result<()> {
    let found = implementation.input_sha256()?;
    if found != case.sha256 {
        bail!(
            "{}: inputs on the device after the run: found {found:?}, expected {:?}; a kernel wrote to its inputs",
            implementation.name(),
            case.sha256
        );
    }
    Ok(())
}

/// The record of the run as it begins: the end stands for the beginning until it is known.
fn record(plan: &Plan, bench: &Bench) -> anyhow::Result<Run> {
    let now = mage_workspace::now();
    let state = bench.monitor.state()?;
    Ok(Run {
        schema: artifact::RUN_SCHEMA.into(),
        namespace: plan.namespace.clone(),
        experiment: plan.experiment.name.clone(),
        experiment_sha256: hash::sha256_hex(plan.spec.as_bytes()),
        started: now.clone(),
        finished: now,
        command: plan.command.clone(),
        protocol: plan.protocol,
        tolerance: plan.experiment.tolerance,
        seed: plan.experiment.seed,
        implementations: plan.implementations.clone(),
        operations: plan.operations.clone(),
        excluded: excluded(plan),
        host: crate::host::read(),
        device: bench.monitor.device().clone(),
        gpu_state_before: state.clone(),
        gpu_state_after: state,
        python: bench.python.clone(),
        build: bench.build.clone(),
        resumed: Vec::new(),
    })
}

/// What the experiment names and this run was told to leave out.
fn excluded(plan: &Plan) -> Vec<String> {
    let operations = plan
        .experiment
        .operations
        .iter()
        .filter(|case| !plan.operations.contains(&case.name))
        .map(|case| format!("{}: not in --ops", case.name));
    let implementations = plan
        .experiment
        .implementations
        .iter()
        .filter(|name| !plan.implementations.contains(name))
        .map(|name| format!("{name}: not in --implementations"));
    operations.chain(implementations).collect()
}
