//! The command line of `mage-harness`.

use crate::{
    ab, bench, capture, check, cpu, errors, inputs, interrupt, ladder, limits, run, worker,
};
use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use mage_evidence::experiment::{self, Case, Experiment, Protocol};
use mage_evidence::operation::Operation;
use mage_evidence::{Invalid, store};
use mage_kernels::hard;
use mage_kernels::launch::{Absent, Gpu};
use mage_kernels::suite;
use mage_kernels::variants::{self, Status, VARIANTS};
use mage_workspace::{NewDirectory, exit};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Rounds of event-timed calls and full-output checks of five GPU operations.
#[derive(Debug, Parser)]
#[command(name = "mage-harness", version)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure an experiment into artifacts/<namespace>-kernels.
    Run(RunArguments),
    /// Compare two variants or implementations of one operation, interleaved in one session.
    #[command(after_help = ab::verb::AFTER_HELP)]
    Ab(ab::verb::Arguments),
    /// Measure kernels under three names each (run by xtask calibrate).
    Identical(ab::identical::Arguments),
    /// Check every implementation and kernel variant, without timing.
    Check(CheckArguments),
    /// Measure the errors of every implementation against FP64, on standard and on hard inputs.
    Errors(ErrorsArguments),
    /// Write an experiment's inputs and verify their hashes.
    Inputs(InputsArguments),
    /// Call one case inside a profiler's range (run by mage-profile).
    Capture(CaptureArguments),
    /// Call every kernel variant inside a profiler's range (run by mage-profile).
    Ladder(LadderArguments),
    /// Launch what measures the device's limits, each inside a profiler's range (run by mage-profile).
    Limits(LimitsArguments),
    /// List the kernel variants.
    Variants,
}

#[derive(Debug, Args)]
struct RunArguments {
    /// Experiment to run: the stem of a file in experiments/.
    #[arg(long)]
    experiment: String,
    /// Operations to run, comma-separated; all of the experiment's by default.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<Operation>,
    /// Implementations to run, comma-separated; all of the experiment's by default.
    #[arg(long, value_delimiter = ',')]
    implementations: Vec<String>,
    /// Rounds (1..); the experiment's by default.
    #[arg(long)]
    rounds: Option<u32>,
    /// Measured calls a round (1..100000); the experiment's by default.
    #[arg(long)]
    iterations: Option<u32>,
    /// Calls before them (0..10000); the experiment's by default.
    #[arg(long)]
    warmup: Option<u32>,
    /// Go on with what an interrupted run of the same command left: its complete operations are kept.
    #[arg(long)]
    resume: bool,
    /// Result namespace; the experiment's name by default.
    #[arg(long)]
    namespace: Option<String>,
    /// Directory to make; artifacts/<namespace>-kernels by default.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Python with PyTorch and Triton; MAGE_PYTHON, .venv/bin/python or python3 by default.
    #[arg(long)]
    python: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SuiteName {
    /// Tile tails and degenerate shapes.
    Small,
    /// The shapes that are measured.
    Default,
    /// Both, and values at the edge of what kernels can represent.
    All,
}

impl SuiteName {
    fn cases(self) -> Vec<suite::Case> {
        match self {
            Self::Small => suite::small(),
            Self::Default => suite::DEFAULT.to_vec(),
            Self::All => [&suite::small()[..], &suite::DOMAIN, &suite::DEFAULT].concat(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DeviceName {
    /// A CUDA device, all implementations.
    Cuda,
    /// The executor, which checks every access: the Rust kernels; no GPU and no Python.
    Cpu,
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// Where to run.
    #[arg(long, value_enum, default_value = "cuda")]
    device: DeviceName,
    /// Which cases.
    #[arg(long, value_enum, default_value = "all")]
    suite: SuiteName,
    /// Kernel variants to check, comma-separated, on the cases of their operations; all by default.
    #[arg(long, value_delimiter = ',')]
    variants: Vec<String>,
    /// Implementations to check, comma-separated; all by default, on the CPU and with --variants rust.
    #[arg(long, value_delimiter = ',')]
    implementations: Vec<String>,
    /// Python with PyTorch and Triton.
    #[arg(long)]
    python: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ErrorsArguments {
    /// Experiment whose implementations and variants to run.
    #[arg(long)]
    experiment: String,
    /// Where to run; on the CPU the Rust kernels alone, on small cases.
    #[arg(long, value_enum, default_value = "cuda")]
    device: DeviceName,
    /// Implementations to run, comma-separated; all of the experiment's by default.
    #[arg(long, value_delimiter = ',')]
    implementations: Vec<String>,
    /// Result namespace; the experiment's name by default.
    #[arg(long)]
    namespace: Option<String>,
    /// Directory to make; artifacts/<namespace>-errors by default.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Python with PyTorch and Triton.
    #[arg(long)]
    python: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct InputsArguments {
    /// Experiment whose inputs to write.
    #[arg(long)]
    experiment: String,
    /// Directory to write to.
    #[arg(long)]
    output: PathBuf,
}

#[derive(Debug, Args)]
struct CaptureArguments {
    /// Experiment of the case.
    #[arg(long)]
    experiment: String,
    /// Operation of the case.
    #[arg(long)]
    op: Operation,
    /// Implementation of the case.
    #[arg(long)]
    implementation: String,
    /// Kernel variant that rust runs; the experiment's by default.
    #[arg(long)]
    variant: Option<String>,
    /// What the run chose, as JSON, for an implementation that chooses: run this and choose nothing.
    #[arg(long)]
    config: Option<String>,
    /// Where the run's compilers kept what they made.
    #[arg(long)]
    compiled: Option<PathBuf>,
    /// File whose lock is shared while the capture prepares and ends, and held alone from warm-up to its last call.
    #[arg(long)]
    lock: Option<PathBuf>,
    /// Directory of inputs.
    #[arg(long)]
    inputs: PathBuf,
    /// Two handles of the kernel make the calls in turn: A, B, B, A and so on (for rust).
    #[arg(long)]
    pairs: bool,
    /// Calls inside the range.
    #[arg(long)]
    iterations: Option<u32>,
    /// Calls before it.
    #[arg(long)]
    warmup: Option<u32>,
    /// Python with PyTorch and Triton.
    #[arg(long)]
    python: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct LadderArguments {
    /// Experiment whose operations, dims and tolerance.
    #[arg(long)]
    experiment: String,
    /// Operations whose variants, comma-separated; all of the experiment's by default.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<Operation>,
    /// Directory of inputs.
    #[arg(long)]
    inputs: PathBuf,
    /// Which capture this is, counted from 1; the order of the variants goes on from the one before.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    capture: u32,
    /// Measured calls a variant.
    #[arg(long)]
    iterations: Option<u32>,
    /// Calls of a variant before each of its turns.
    #[arg(long)]
    warmup: Option<u32>,
}

#[derive(Debug, Args)]
struct LimitsArguments {
    /// File to write: the device, and what is launched in which order.
    #[arg(long)]
    plan: PathBuf,
    /// Launches before the one inside the range.
    #[arg(long)]
    warmup: u32,
}

/// Does what the command line says; the exit status.
///
/// # Errors
/// Whatever keeps it from being done.
pub fn main(cli: Cli) -> anyhow::Result<ExitCode> {
    let root = mage_workspace::find_root()?;
    match cli.verb {
        Verb::Ab(arguments) => return ab::verb::run(&root, &arguments),
        Verb::Identical(arguments) => ab::identical::run(&root, &arguments),
        Verb::Run(arguments) => run_experiment(&root, arguments),
        Verb::Check(arguments) => check_suites(&root, arguments),
        Verb::Errors(arguments) => measure_errors(&root, &arguments),
        Verb::Inputs(arguments) => {
            let experiment = load(&root, &arguments.experiment)?;
            let files = inputs::write(&experiment, &arguments.output)?;
            let output = arguments.output.display();
            mage_workspace::outln!("{files} files verified by SHA-256 and written to {output}");
            Ok(())
        }
        Verb::Capture(arguments) => capture_case(&root, arguments),
        Verb::Ladder(arguments) => climb(&root, arguments),
        Verb::Limits(arguments) => limits::run(&arguments.plan, arguments.warmup),
        Verb::Variants => {
            mage_workspace::out!("{}", variants_table());
            Ok(())
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

/// The exit code for what kept it from being done.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<interrupt::Interrupted>() {
        exit::INTERRUPTED
    } else if error.chain().any(exit::is_usage) {
        exit::USAGE
    } else if error.is::<Absent>() {
        exit::NOTHING
    } else {
        exit::FAILED
    }
}

/// The experiment of this name, if this program can run it.
pub(crate) fn load(root: &Path, name: &str) -> anyhow::Result<Experiment> {
    let experiment = Experiment::named(root, name)?;
    let path = Experiment::path(root, name);
    bench::check_runnable(&experiment).map_err(|invalid| invalid.in_file(&path))?;
    Ok(experiment)
}

fn run_experiment(root: &Path, arguments: RunArguments) -> anyhow::Result<()> {
    interrupt::install()?;
    let plan = plan(root, &arguments)?;
    let python = worker::interpreter(root, arguments.python.as_deref());
    // Before anything is said of names or removed: where nothing can be measured, no other name would help.
    let gpu = Gpu::open()?;
    // Before the bench, which takes long to set up.
    match arguments.resume {
        true => NewDirectory::check_resumable(&plan.output)?,
        false => NewDirectory::check_free(&plan.output)?,
    }
    let compiled = mage_workspace::compiled(root, &plan.namespace);
    // Made by this run or not at all: what an earlier one tuned is not what this one measures. A run that goes
    // elsewhere leaves that of the namespace alone.
    let own = plan.output == mage_workspace::artifacts(root, &plan.namespace);
    if own && compiled.exists() && !arguments.resume {
        std::fs::remove_dir_all(&compiled)
            .with_context(|| format!("{}: cannot be removed", compiled.display()))?;
    }
    let mut bench = bench::bench(root, &gpu, &plan.implementations, &python, &compiled)?;
    let output = match arguments.resume {
        true => run::resume(&plan, &mut bench)?,
        false => run::run(&plan, &mut bench)?,
    };
    mage_workspace::outln!("samples and checks written to {}", output.display());
    Ok(())
}

fn plan(root: &Path, arguments: &RunArguments) -> anyhow::Result<run::Plan> {
    let experiment = load(root, &arguments.experiment)?;
    let mut protocol = experiment.protocol;
    protocol.rounds = arguments.rounds.unwrap_or(protocol.rounds);
    protocol.iterations = arguments.iterations.unwrap_or(protocol.iterations);
    protocol.warmup = arguments.warmup.unwrap_or(protocol.warmup);
    protocol.check().map_err(|e| flag(e, "--"))?;
    let namespace = arguments
        .namespace
        .clone()
        .unwrap_or(experiment.name.clone());
    experiment::check_name(&namespace).map_err(|e| e.under("--namespace"))?;
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| mage_workspace::artifacts(root, &namespace));
    let operations: Vec<Operation> = experiment.operations.iter().map(|c| c.name).collect();
    Ok(run::Plan {
        operations: chosen("--ops", &operations, &arguments.ops)?,
        implementations: chosen(
            "--implementations",
            &experiment.implementations,
            &arguments.implementations,
        )?,
        spec: store::read_text(&Experiment::path(root, &experiment.name))?,
        protocol,
        namespace,
        output,
        command: mage_workspace::command_line(root),
        experiment,
    })
}

/// Those of `all` that were asked for, in the order of `all`; all of them where none were.
fn chosen<T: Clone + PartialEq + std::fmt::Display>(
    flag: &str,
    all: &[T],
    asked: &[T],
) -> Result<Vec<T>, Invalid> {
    if let Some(unknown) = asked.iter().find(|name| !all.contains(name)) {
        let known: Vec<String> = all.iter().map(T::to_string).collect();
        return Err(Invalid::new(
            flag,
            unknown,
            format!("one of the experiment's: {}", known.join(", ")),
        ));
    }
    let keep = |name: &&T| asked.is_empty() || asked.contains(name);
    Ok(all.iter().filter(keep).cloned().collect())
}

/// Names a refused number by its flag.
fn flag(mut invalid: Invalid, dashes: &str) -> Invalid {
    invalid.field = format!("{dashes}{}", invalid.field.replace('_', "-"));
    invalid
}

fn check_suites(root: &Path, arguments: CheckArguments) -> anyhow::Result<()> {
    interrupt::install()?;
    let operations = operations_of(&arguments.variants)?;
    let mut cases = arguments.suite.cases();
    cases.retain(|case| operations.contains(&case.operation));
    let rows = match arguments.device {
        DeviceName::Cpu => {
            if let Some(other) = arguments.implementations.iter().find(|i| *i != "rust") {
                let only = "rust alone with --device cpu";
                return Err(Invalid::new("--implementations", other, only).into());
            }
            cpu::suite(&cases, &arguments.variants)?
        }
        DeviceName::Cuda => check_on_gpu(root, &cases, &arguments)?,
    };
    mage_workspace::out!("{}", check::table(&rows));
    check::failures(&rows)?;
    mage_workspace::outln!("{}", check::summary(&rows));
    Ok(())
}

fn check_on_gpu(
    root: &Path,
    cases: &[suite::Case],
    arguments: &CheckArguments,
) -> anyhow::Result<Vec<check::Row>> {
    let mut names = arguments.implementations.clone();
    if names.is_empty() {
        let all: &[&str] = match arguments.variants[..] {
            [] => &["python", "triton", "rust"],
            _ => &["rust"],
        };
        names = all.iter().map(|name| (*name).to_owned()).collect();
    }
    for name in &names {
        bench::check_implementation(name).map_err(|e| e.under("--implementations"))?;
    }
    let gpu = Gpu::open().context("without a CUDA device, check with --device cpu")?;
    let python = worker::interpreter(root, arguments.python.as_deref());
    let (mut implementations, _) = bench::implementations(root, &gpu, &names, &python, None)?;
    check::suite(cases, &arguments.variants, &mut implementations)
}

fn measure_errors(root: &Path, arguments: &ErrorsArguments) -> anyhow::Result<()> {
    interrupt::install()?;
    let experiment = load(root, &arguments.experiment)?;
    let on_cpu = arguments.device == DeviceName::Cpu;
    let asked = match on_cpu && arguments.implementations.is_empty() {
        true => vec!["rust".to_string()],
        false => arguments.implementations.clone(),
    };
    let names = chosen("--implementations", &experiment.implementations, &asked)?;
    let namespace = arguments
        .namespace
        .clone()
        .unwrap_or(experiment.name.clone());
    experiment::check_name(&namespace).map_err(|e| e.under("--namespace"))?;
    let plan = errors::Plan {
        spec: store::read_text(&Experiment::path(root, &experiment.name))?,
        cases: match on_cpu {
            true => hard::small(),
            false => hard::cases(),
        },
        run: mage_workspace::artifacts(root, &namespace),
        output: match &arguments.output {
            Some(output) => output.clone(),
            None => mage_workspace::error_artifacts(root, &namespace),
        },
        implementations: names,
        namespace,
        command: mage_workspace::command_line(root),
        experiment: &experiment,
    };
    let gpu = match on_cpu {
        true => None,
        false => Some(Gpu::open()?),
    };
    NewDirectory::check_free(&plan.output)?;
    let mut bench = match gpu {
        None => {
            if let Some(other) = plan.implementations.iter().find(|name| *name != "rust") {
                let only = "rust alone with --device cpu";
                return Err(Invalid::new("--implementations", other, only).into());
            }
            errors::Bench {
                implementations: vec![Box::new(errors::Executor::default())],
                device: None,
                python: None,
                build: mage_workspace::build(root, bench::objects_sha256())?,
            }
        }
        Some(gpu) => {
            let python = worker::interpreter(root, arguments.python.as_deref());
            let compiled = mage_workspace::compiled(root, &plan.namespace);
            let made = bench::bench(root, &gpu, &plan.implementations, &python, &compiled)?;
            errors::Bench {
                device: Some(made.monitor.device().clone()),
                implementations: made.implementations,
                python: made.python,
                build: made.build,
            }
        }
    };
    let output = errors::run(&plan, &mut bench)?;
    mage_workspace::outln!("errors written to {}", output.display());
    Ok(())
}

/// The operations of these variants; every one where none is named.
///
/// # Errors
/// [`Invalid`] for a name that is no variant, or one that computes nothing.
fn operations_of(variants: &[String]) -> Result<Vec<Operation>, Invalid> {
    if variants.is_empty() {
        return Ok(Operation::ALL.to_vec());
    }
    variants
        .iter()
        .map(|id| match variants::find(id) {
            Some(variant) if variant.status != Status::Twin => Ok(variant.operation),
            _ => Err(Invalid::new(
                "--variants",
                format!("{id:?}"),
                "variants that compute an operation, as `mage-harness variants` lists them",
            )),
        })
        .collect()
}

fn capture_case(root: &Path, arguments: CaptureArguments) -> anyhow::Result<()> {
    let experiment = load(root, &arguments.experiment)?;
    let case = case(&experiment, arguments.op)?;
    let protocol = protocol(&experiment, arguments.iterations, arguments.warmup)?;
    chosen(
        "--implementation",
        &experiment.implementations,
        std::slice::from_ref(&arguments.implementation),
    )?;
    let target = capture::Target {
        implementation: arguments.implementation,
        variant: arguments.variant,
        config: arguments.config,
        compiled: arguments.compiled,
        lock: arguments.lock,
        inputs: arguments.inputs,
        pairs: arguments.pairs,
        iterations: protocol.capture_iterations,
        warmup: protocol.warmup,
        python: worker::interpreter(root, arguments.python.as_deref()),
    };
    capture::run(root, case, &target)
}

fn climb(root: &Path, arguments: LadderArguments) -> anyhow::Result<()> {
    let experiment = load(root, &arguments.experiment)?;
    let protocol = protocol(&experiment, arguments.iterations, arguments.warmup)?;
    let all: Vec<Operation> = experiment.operations.iter().map(|c| c.name).collect();
    let targets = chosen("--ops", &all, &arguments.ops)?
        .into_iter()
        .map(|op| {
            Ok(ladder::Target {
                case: case(&experiment, op)?,
                tolerance: experiment.tolerance,
                capture: arguments.capture,
                iterations: protocol.capture_iterations,
                warmup: protocol.warmup,
            })
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    mage_workspace::outln!("{}", ladder::run(root, &targets, &arguments.inputs)?);
    Ok(())
}

/// The case of an operation.
pub(crate) fn case(experiment: &Experiment, op: Operation) -> Result<&Case, Invalid> {
    experiment.case(op).ok_or_else(|| {
        let known: Vec<&str> = experiment
            .operations
            .iter()
            .map(|c| c.name.name())
            .collect();
        let expected = format!("one of the experiment's: {}", known.join(", "));
        Invalid::new("--op", op, expected)
    })
}

/// The experiment's calls in a capture, with what the command line changed.
fn protocol(
    experiment: &Experiment,
    iterations: Option<u32>,
    warmup: Option<u32>,
) -> Result<Protocol, Invalid> {
    let mut protocol = experiment.protocol;
    protocol.capture_iterations = iterations.unwrap_or(protocol.capture_iterations);
    protocol.warmup = warmup.unwrap_or(protocol.warmup);
    protocol.check().map_err(|e| flag(e, "--"))?;
    Ok(protocol)
}

/// The table of variants, one a line.
fn variants_table() -> String {
    let mut text = format!(
        "{:<10} {:<26} {:<26} {:<9} {:<9} {}\n",
        "operation", "variant", "parent", "since", "status", "what it does"
    );
    for variant in VARIANTS {
        text += &format!(
            "{:<10} {:<26} {:<26} {:<9} {:<9} {}\n",
            variant.operation,
            variant.id,
            variant.parent.unwrap_or("-"),
            variant.introduced,
            format!("{:?}", variant.status).to_lowercase(),
            variant.summary
        );
    }
    text
}
