//! `mage-harness ab`: the command line around a comparison.

use super::{Arms, End, Measured, Plan, Side, measure};
use crate::cli::{case, load};
use crate::monitor::{Monitor, NvmlMonitor};
use crate::rust::Rust;
use crate::{bench, host, interrupt, python, run, worker};
use anyhow::Context;
use clap::{Args, ValueEnum};
use mage_evidence::ab::{self, Comparison, Row, Session};
use mage_evidence::artifact::{Build, Device, Python};
use mage_evidence::diff::{FailOn, Percent, Status};
use mage_evidence::experiment::Tolerance;
use mage_evidence::operation::Operation;
use mage_evidence::stats::percent;
use mage_evidence::verdict::{MARGIN, PROCESS_EFFECT, Verdict};
use mage_evidence::{Invalid, store};
use mage_kernels::inputs::{Inputs, SEED};
use mage_kernels::launch::Gpu;
use mage_kernels::suite::default_case;
use mage_kernels::variants;
use mage_workspace::exit::{self, FAILED, NOTHING, USAGE};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What the exit status means.
pub const AFTER_HELP: &str = "Exit status: 0 the policy of --fail-on is met, 1 it is not, 2 wrong usage, 3 nothing was compared (no GPU, \
     a failed check, an error of the device), 130 interrupted.";

/// What to compare, and how.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Operation that both compute.
    #[arg(long)]
    op: Operation,
    /// Compared with: a kernel variant, or an implementation other than rust.
    #[arg(long, value_name = "VARIANT")]
    a: String,
    /// Judged: likewise. The same as --a measures the session's own noise.
    #[arg(long, value_name = "VARIANT")]
    b: String,
    /// Take dims, seed and tolerance from this experiment; else the shapes that are measured by default.
    #[arg(long)]
    experiment: Option<String>,
    /// Longest time for the measurement; it ends earlier where the intervals are narrow enough.
    #[arg(long, default_value = "45s", value_parser = seconds)]
    budget: Duration,
    /// Largest difference that is of no interest, in percent.
    #[arg(long, default_value_t = Percent(MARGIN), allow_hyphen_values = true)]
    margin: Percent,
    /// How to print it.
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// When to exit with 1: slower, inconclusive (or slower), never; hot and cold both count.
    #[arg(long, default_value = "never")]
    fail_on: FailOn,
    /// Also write the JSON to this file, which must not exist.
    #[arg(long, value_name = "FILE.json")]
    output: Option<PathBuf>,
    /// Python with PyTorch and Triton, where one of them is compared.
    #[arg(long)]
    python: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned text.
    Table,
    /// JSON.
    Json,
}

/// `45s`, `45`, `2m`.
fn seconds(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60.0),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    match number.parse::<f64>() {
        Ok(n) if (1.0..=86_400.0).contains(&(n * unit)) => Ok(Duration::from_secs_f64(n * unit)),
        _ => Err(format!(
            "found {text:?}, expected a time from 1 s to a day, such as 45s or 2m"
        )),
    }
}

/// Compares, prints, and says by the exit status whether the policy is met.
///
/// # Errors
/// [`interrupt::Interrupted`].
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let told = |error: &dyn std::fmt::Display, code: u8| {
        eprintln!("mage-harness: {error:#}");
        ExitCode::from(code)
    };
    let mut sides = Vec::new();
    for (flag, name) in [("--a", &arguments.a), ("--b", &arguments.b)] {
        match side(arguments.op, name) {
            Ok(side) => sides.push(side),
            Err(invalid) => return Ok(told(&invalid.under(flag), USAGE)),
        }
    }
    if let Some(path) = arguments.output.as_ref().filter(|path| path.exists()) {
        let taken = Invalid::new("--output", "a file that exists", "a new name").in_file(path);
        return Ok(told(&taken, USAGE));
    }
    let sides: [Side; 2] = sides
        .try_into()
        .unwrap_or_else(|_| unreachable!("two flags"));
    match compare(root, arguments, sides) {
        Ok(comparison) => match finish(arguments, &comparison) {
            Ok(code) => Ok(code),
            Err(error) => Ok(told(&error, NOTHING)),
        },
        Err(error) if error.is::<interrupt::Interrupted>() => Err(error),
        Err(error) if error.chain().any(exit::is_usage) => Ok(told(&error, USAGE)),
        Err(error) => Ok(told(&error, NOTHING)),
    }
}

/// What `name` asks for.
fn side(operation: Operation, name: &str) -> Result<Side, Invalid> {
    let named = |variant| Side {
        name: name.to_string(),
        variant,
    };
    if python::NAMES.contains(&name) {
        return Ok(named(""));
    }
    match variants::computing(operation).find(|variant| variant.id == name) {
        Some(variant) => Ok(named(variant.id)),
        None => {
            let known = variants::computing(operation).map(|variant| variant.id);
            let known: Vec<&str> = known.chain(python::NAMES).collect();
            Err(Invalid::new(
                "",
                format!("{name:?}"),
                format!("one of {}", known.join(", ")),
            ))
        }
    }
}

fn compare(root: &Path, arguments: &Arguments, sides: [Side; 2]) -> anyhow::Result<Comparison> {
    interrupt::install()?;
    let started = mage_workspace::now();
    let build = mage_workspace::build(root, bench::objects_sha256())?;
    bench::built_from(root)?;
    let (inputs, tolerance) = inputs(root, arguments)?;
    let gpu = Gpu::open().context("two variants are compared on a machine with an NVIDIA GPU")?;
    let monitor = NvmlMonitor::open(&gpu)?;
    let files = tempfile::tempdir().context("cannot make a temporary directory")?;
    let python = worker::interpreter(root, arguments.python.as_deref());
    let (mut arms, python) = arms(root, &gpu, &sides, &python)?;
    if python.is_some() {
        inputs.write(files.path())?;
    }
    let margin = arguments.margin.0;
    let plan = Plan {
        inputs: &inputs,
        directory: &files.path().join(inputs.operation.name()),
        tolerance,
        sides,
        end: End::Narrow {
            margin,
            budget: arguments.budget,
        },
    };
    eprintln!(
        "comparing {} with {} for at most {} s",
        plan.sides[1].name,
        plan.sides[0].name,
        arguments.budget.as_secs()
    );
    let began = Instant::now();
    let measured = measure(
        &plan,
        &mut arms,
        &monitor,
        &mut || began.elapsed(),
        &mut |session| eprintln!("{}", widths(session, margin)),
    )?;
    comparison(
        measured,
        margin,
        arguments.budget,
        started,
        Machine {
            device: monitor.device().clone(),
            python,
            build,
            command: mage_workspace::command_line(root),
        },
    )
}

/// Where a comparison was made, and by what.
pub struct Machine {
    /// The GPU.
    pub device: Device,
    /// The Python environment, where an arm needed one.
    pub python: Option<Python>,
    /// What was built, from what.
    pub build: Build,
    /// The command line, as it is recorded.
    pub command: Vec<String>,
}

/// What was measured, with what follows from it.
///
/// # Errors
/// [`Invalid`] on times that are no times.
pub fn comparison(
    measured: Measured,
    margin: f64,
    budget: Duration,
    started: String,
    machine: Machine,
) -> anyhow::Result<Comparison> {
    let mut comparison = Comparison {
        schema: ab::SCHEMA.into(),
        results: Vec::new(),
        margin,
        process_effect: PROCESS_EFFECT,
        budget_s: budget.as_secs_f64(),
        took_s: measured.took.as_secs_f64(),
        ended: measured.ended,
        started,
        command: machine.command,
        session: measured.session,
        host: host::read(),
        device: machine.device,
        python: machine.python,
        build: machine.build,
    };
    comparison.results = comparison.judged()?.iter().map(Row::of).collect();
    comparison.check()?;
    Ok(comparison)
}

/// Inputs made in memory, and the bound of the checks.
fn inputs(root: &Path, arguments: &Arguments) -> anyhow::Result<(Inputs, Tolerance)> {
    let Some(name) = &arguments.experiment else {
        let case = default_case(arguments.op);
        return Ok((case.inputs(SEED)?, case.tolerance()));
    };
    let experiment = load(root, name)?;
    let case = case(&experiment, arguments.op)?;
    Ok((run::case_inputs(&experiment, case)?, experiment.tolerance))
}

/// A, A again and B on `gpu`, and the Python environment where one takes part.
fn arms(
    root: &Path,
    gpu: &Gpu,
    sides: &[Side; 2],
    python: &Path,
) -> anyhow::Result<(Arms, Option<Python>)> {
    let [a, b] = sides;
    let names: Vec<String> = [a, a, b]
        .map(|side| match side.variant {
            "" => side.name.clone(),
            _ => "rust".to_string(),
        })
        .into();
    let (implementations, python) = bench::implementations(root, gpu, &names, python, None)?;
    let arms = implementations.try_into();
    let arms = arms.map_err(|_| anyhow::anyhow!("an implementation a name"))?;
    Ok((arms, python))
}

/// A, A again and B are all this kernel variant, each with memory of its own.
pub(super) fn identical_arms(gpu: &Gpu) -> Arms {
    let arm = || -> Box<dyn crate::Implementation> { Box::new(Rust::new(gpu.clone())) };
    [arm(), arm(), arm()]
}

/// How narrow the intervals are; never who leads, which is nobody's business before the end.
fn widths(session: &Session, margin: f64) -> String {
    let half = |cache| {
        let judged = session.judge(cache, margin, 0.0).ok();
        let half = judged.and_then(|judged| judged.ratio.half.ok());
        half.map_or("-".into(), |half| format!("{:.2}%", percent(half)))
    };
    format!(
        "{} cycles: known to {} hot, {} cold",
        session.cycles(),
        half(ab::Cache::Hot),
        half(ab::Cache::Cold)
    )
}

fn finish(arguments: &Arguments, comparison: &Comparison) -> anyhow::Result<ExitCode> {
    let json = store::to_json(comparison)?;
    if let Some(path) = &arguments.output {
        store::write_bytes(path, json.as_bytes())?;
    }
    match arguments.format {
        Format::Table => mage_workspace::out!("{}", comparison.text()?),
        Format::Json => mage_workspace::out!("{json}"),
    }
    let mut code = ExitCode::SUCCESS;
    for judged in comparison.judged()? {
        if refused(arguments.fail_on, judged.verdict()) {
            let (policy, cache) = (arguments.fail_on, judged.cache);
            eprintln!("--fail-on {policy}: {cache}: {}", judged.verdict());
            code = FAILED.into();
        }
    }
    Ok(code)
}

fn refused(policy: FailOn, verdict: &Verdict) -> bool {
    policy.refuses(verdict, Status::Rewritten)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_evidence::verdict::Reason;

    #[test]
    fn sides_are_variants_that_compute_or_implementations() {
        let found = side(Operation::LayerNorm, "layer_norm_warp").unwrap();
        assert_eq!(found.variant, "layer_norm_warp");
        assert_eq!(side(Operation::Matmul, "triton").unwrap().variant, "");
        for other in ["tiled_matmul", "rust", "copy_wide", ""] {
            let refusal = side(Operation::Gelu, other).unwrap_err().under("--a");
            let text = refusal.to_string();
            assert!(text.starts_with(&format!(
                "--a: found {other:?}, expected one of bias_gelu, "
            )));
            let known = ", python, torch-compile, triton, triton-tuned, cusparse";
            assert!(text.ends_with(known), "{text}");
        }
    }

    #[test]
    fn budgets_are_times() {
        assert_eq!(seconds("45s").unwrap(), Duration::from_secs(45));
        assert_eq!(seconds("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(seconds("1.5").unwrap(), Duration::from_millis(1500));
        for bad in ["", "0", "-3s", "NaN", "inf", "1h", "2d", "100000"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_policy_fails_on_what_it_says() {
        let open = Verdict::Inconclusive(Reason::NoControl);
        for (policy, verdict, expected) in [
            (FailOn::Slower, &Verdict::Slower, true),
            (FailOn::Slower, &Verdict::Faster, false),
            (FailOn::Slower, &open, false),
            (FailOn::Inconclusive, &open, true),
            (FailOn::Inconclusive, &Verdict::Equivalent, false),
            (FailOn::Never, &Verdict::Slower, false),
        ] {
            assert_eq!(refused(policy, verdict), expected, "{policy} {verdict}");
        }
    }
}
