//! Errors against FP64 on the standard inputs and on hard ones, every implementation, into `artifacts/<ns>-errors`.

use crate::implementation::{Implementation, Load, Loaded};
use crate::interrupt;
use anyhow::Context;
use mage_evidence::artifact::{Build, Device, Python, Samples};
use mage_evidence::choice::Config;
use mage_evidence::errors::{self, Case, Errors, OutputError, Row};
use mage_evidence::experiment::Experiment;
use mage_evidence::{hash, store};
use mage_kernels::hard;
use mage_kernels::inputs::Inputs;
use mage_kernels::reference::reference;
use mage_kernels::variants;
use mage_workspace::NewDirectory;
use mage_workspace::progress::Progress;
use std::path::{Path, PathBuf};

/// What to measure.
pub struct Plan<'a> {
    /// The experiment, whose variants `rust` runs.
    pub experiment: &'a Experiment,
    /// Its spec's text.
    pub spec: String,
    /// Implementations, in order.
    pub implementations: Vec<String>,
    /// Cases, in order.
    pub cases: Vec<hard::Case>,
    /// Result namespace.
    pub namespace: String,
    /// Artifact directory of the namespace's run, whose choices are taken where it is there.
    pub run: PathBuf,
    /// The directory to make.
    pub output: PathBuf,
    /// The command line, for the record.
    pub command: Vec<String>,
}

/// What runs it.
pub struct Bench {
    /// One for each name of the plan, in that order.
    pub implementations: Vec<Box<dyn Implementation>>,
    /// The GPU; none for the CPU executor.
    pub device: Option<Device>,
    /// The Python environment, where there is one.
    pub python: Option<Python>,
    /// What was built, read before anything is written.
    pub build: Build,
}

/// Runs the plan and publishes its directory; returns where it is.
///
/// # Errors
/// Inputs that cannot be made, whatever the device or the worker reports, or an interrupt. Nothing is published then.
pub fn run(plan: &Plan<'_>, bench: &mut Bench) -> anyhow::Result<PathBuf> {
    let directory = NewDirectory::create(&plan.output)?;
    match measure(plan, bench) {
        Ok(errors) => {
            errors.check()?;
            store::write_json(&directory.path().join(errors::ARTIFACT), &errors)?;
            Ok(directory.publish()?)
        }
        Err(error) => match mage_workspace::discard(directory) {
            Ok(()) => Err(error),
            Err(left) => Err(error.context(left)),
        },
    }
}

fn measure(plan: &Plan<'_>, bench: &mut Bench) -> anyhow::Result<Errors> {
    let started = mage_workspace::now();
    let scratch = tempfile::tempdir()?;
    let mut progress = Progress::new((plan.cases.len() * plan.implementations.len()) as u64);
    let mut cases = Vec::new();
    for case in &plan.cases {
        let inputs = case.inputs(plan.experiment.seed)?;
        let directory = scratch.path().join(&case.name);
        inputs.write(&directory)?;
        let expected = reference(&inputs)?;
        let mut rows = Vec::new();
        for implementation in &mut bench.implementations {
            interrupt::check()?;
            progress.step(&format!("{} {}", case.name, implementation.name()));
            let files = directory.join(case.operation.name());
            let row = row(
                plan,
                case,
                &inputs,
                &files,
                &expected,
                implementation.as_mut(),
            )
            .with_context(|| format!("{} {}", case.name, implementation.name()))?;
            rows.push(row);
        }
        std::fs::remove_dir_all(&directory).context("cannot clear the temporary directory")?;
        cases.push(Case {
            name: case.name.clone(),
            operation: case.operation,
            dims: case.dims.clone(),
            kind: case.kind.name().into(),
            input_sha256: inputs.sha256(),
            largest_expected: expected.iter().fold(0.0, |most, x| x.abs().max(most)),
            rows,
        });
    }
    progress.finish();
    Ok(Errors {
        schema: errors::SCHEMA.into(),
        namespace: plan.namespace.clone(),
        experiment: plan.experiment.name.clone(),
        experiment_sha256: hash::sha256_hex(plan.spec.as_bytes()),
        started,
        finished: mage_workspace::now(),
        command: plan.command.clone(),
        seed: plan.experiment.seed,
        implementations: plan.implementations.clone(),
        host: crate::host::read(),
        device: bench.device.clone(),
        python: bench.python.clone(),
        build: bench.build.clone(),
        artifacts_sha256: Default::default(),
        cases,
    })
}

fn row(
    plan: &Plan<'_>,
    case: &hard::Case,
    inputs: &Inputs,
    files: &Path,
    expected: &[f64],
    implementation: &mut dyn Implementation,
) -> anyhow::Result<Row> {
    let name = implementation.name().to_string();
    let config = chosen(plan, case, &name)?;
    let variant = match plan.experiment.case(case.operation) {
        Some(measured) => measured.variant.clone(),
        None => variants::general(case.operation).id.into(),
    };
    let loaded = implementation.load(&Load {
        inputs,
        directory: files,
        variant: &variant,
        tolerance: plan.experiment.tolerance,
        config: config.as_ref(),
    })?;
    let mut row = Row {
        implementation: name,
        kernel: implementation.kernel().map(str::to_string),
        config,
        unavailable: None,
        error: None,
    };
    match loaded {
        Loaded::Unavailable(reason) => row.unavailable = Some(reason),
        Loaded::Ready(choice) => {
            row.config = choice.map(|choice| choice.config).or(row.config);
            let output = implementation.checked_call()?;
            row.error = Some(OutputError::of(&output, expected)?);
        }
    }
    Ok(row)
}

/// What the namespace's run chose for the operation. Code that was compiled for its dims alone is compiled anew at others.
fn chosen(plan: &Plan<'_>, case: &hard::Case, name: &str) -> anyhow::Result<Option<Config>> {
    let path = plan.run.join(format!("samples/{}.json", case.operation));
    if !path.is_file() {
        return Ok(None);
    }
    let samples: Samples = store::read_json(&path)?;
    let config = samples
        .choices
        .get(name)
        .map(|choice| choice.config.clone());
    Ok(config.filter(|config| samples.dims == case.dims || !config.contains_key("emitted")))
}

/// The Rust kernels on the CPU executor, lane by lane: no GPU, and no instruction that only one has.
#[derive(Debug, Default)]
pub struct Executor {
    inputs: Option<Inputs>,
    variant: String,
}

impl Implementation for Executor {
    fn name(&self) -> &str {
        "rust"
    }

    fn load(&mut self, load: &Load<'_>) -> anyhow::Result<Loaded> {
        let asked = variants::find(load.variant).context("rust: no such variant")?;
        let variant = variants::dispatch(asked, &load.inputs.dims, mage_simt::CAPABILITY);
        self.variant = variant.id.into();
        self.inputs = Some(load.inputs.clone());
        match mage_simt::kernel(variant.id) {
            Some(_) => Ok(Loaded::Ready(None)),
            None => Ok(Loaded::Unavailable(
                mage_simt::device_only(&self.variant).to_string(),
            )),
        }
    }

    fn kernel(&self) -> Option<&str> {
        Some(&self.variant)
    }

    fn checked_call(&mut self) -> anyhow::Result<Vec<f32>> {
        let variant = variants::find(&self.variant).context("rust: no such variant")?;
        let inputs = self
            .inputs
            .as_ref()
            .context("rust: no operation is loaded")?;
        Ok(mage_simt::execute(variant, inputs)?.output)
    }

    fn measure(&mut self, _: u32, _: u32) -> anyhow::Result<Vec<f64>> {
        anyhow::bail!("rust on the CPU executor has no times")
    }

    fn input_sha256(&mut self) -> anyhow::Result<std::collections::BTreeMap<String, String>> {
        let inputs = self
            .inputs
            .as_ref()
            .context("rust: no operation is loaded")?;
        Ok(inputs.sha256())
    }
}
