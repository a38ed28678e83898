//! The command line: parsing, progress, tables, exit codes.

use crate::capture::Captured;
use crate::counters;
use crate::error::{Error, is_no_profiler};
use crate::import::{self, Format, Summary};
use crate::ladder;
use crate::run::{self, Event, Options, Outcome};
use crate::text;
use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use mage_evidence::Invalid;
use mage_evidence::artifact::Build;
use mage_evidence::ladder::raw::Capture as LadderCapture;
use mage_evidence::operation::Operation;
use mage_evidence::{stats, store};
use mage_workspace::exit::{self, FAILED, INTERRUPTED, NOTHING, USAGE};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Kernel time under Nsight Systems, hardware counters under Nsight Compute.
#[derive(Debug, Parser)]
#[command(name = "mage-profile", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Capture every case of an experiment
    Run(Box<RunArguments>),
    /// Capture every kernel variant of an experiment's operations side by side
    Ladder(Box<LadderArguments>),
    /// Read the hardware counters of every case of an experiment, and the device's limits, with Nsight Compute
    Counters(Box<CountersArguments>),
    /// Read a report made elsewhere: an SQLite export or the text of `nsys stats -f csv`
    Import(ImportArguments),
    /// Show which Nsight Systems would be used
    Find {
        /// Try this program and no other
        #[arg(long, value_name = "PATH")]
        nsys: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
struct RunArguments {
    /// Experiment, the stem of its file in experiments/
    #[arg(long)]
    experiment: String,
    /// Operations, else all of the experiment
    #[arg(long, value_delimiter = ',', value_name = "OP,...")]
    ops: Option<Vec<Operation>>,
    /// Implementations, else all of the experiment
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    implementations: Option<Vec<String>>,
    /// Captures of each operation and implementation, else as the experiment says
    #[arg(long)]
    captures: Option<u32>,
    /// Calls inside a capture, else as the experiment says
    #[arg(long)]
    iterations: Option<u32>,
    /// Calls before a capture, else as the experiment says
    #[arg(long)]
    warmup: Option<u32>,
    /// Go on with what an interrupted run of the same command left: its captures are kept
    #[arg(long)]
    resume: bool,
    /// Result namespace, else the experiment's name
    #[arg(long)]
    namespace: Option<String>,
    /// Input files, as `mage-harness inputs` writes them
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,
    /// Directory to be made, else artifacts/<namespace>-kernels-nsys
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The program nsys, else MAGE_NSYS, else it is looked for
    #[arg(long, value_name = "PATH")]
    nsys: Option<PathBuf>,
    /// The program mage-harness, else the one beside this program
    #[arg(long, value_name = "PATH")]
    harness: Option<PathBuf>,
    /// Python with PyTorch and Triton
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Longest time for one step of a capture
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Keep reports and exports here; they embed the target's (scrubbed) environment
    #[arg(long, value_name = "DIR")]
    keep_reports: Option<PathBuf>,
    /// Captures under way at once (1..64); they prepare side by side, and each is measured alone.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    jobs: u32,
    /// Allow kernels of this name outside the iterations; they do not count
    #[arg(long, value_name = "KERNEL")]
    allow: Vec<String>,
    /// Accept reports without NVTX data: kernels are then counted, not attributed
    #[arg(long)]
    without_ranges: bool,
}

#[derive(Debug, Args)]
struct LadderArguments {
    /// Experiment, the stem of its file in experiments/
    #[arg(long)]
    experiment: String,
    /// Operations, else all of the experiment
    #[arg(long, value_delimiter = ',', value_name = "OP,...")]
    ops: Option<Vec<Operation>>,
    /// Captures, each with every operation; else as the experiment's [ladder] says
    #[arg(long)]
    captures: Option<u32>,
    /// Calls of a variant in a capture, else as the experiment says
    #[arg(long)]
    iterations: Option<u32>,
    /// Calls of a variant before each of its turns, else as the experiment says
    #[arg(long)]
    warmup: Option<u32>,
    /// Remove what an interrupted run left under this name, and start again
    #[arg(long)]
    replace: bool,
    /// Result namespace, else the experiment's name
    #[arg(long)]
    namespace: Option<String>,
    /// Input files, as `mage-harness inputs` writes them
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,
    /// Directory to be made, else artifacts/<namespace>-ladder
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The program nsys, else MAGE_NSYS, else it is looked for
    #[arg(long, value_name = "PATH")]
    nsys: Option<PathBuf>,
    /// The program mage-harness, else the one beside this program
    #[arg(long, value_name = "PATH")]
    harness: Option<PathBuf>,
    /// Longest time for one step of a capture
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Keep reports and exports here; they embed the target's (scrubbed) environment
    #[arg(long, value_name = "DIR")]
    keep_reports: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct CountersArguments {
    /// Experiment, the stem of its file in experiments/
    #[arg(long)]
    experiment: String,
    /// Operations, else all of the experiment
    #[arg(long, value_delimiter = ',', value_name = "OP,...")]
    ops: Option<Vec<Operation>>,
    /// Implementations, else all of the experiment
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    implementations: Option<Vec<String>>,
    /// Calls before the one that is read, else as the experiment says
    #[arg(long)]
    warmup: Option<u32>,
    /// Remove what an interrupted run left under this name, and start again
    #[arg(long)]
    replace: bool,
    /// Result namespace, else the experiment's name
    #[arg(long)]
    namespace: Option<String>,
    /// Input files, as `mage-harness inputs` writes them
    #[arg(long, value_name = "DIR")]
    inputs: PathBuf,
    /// Directory to be made, else artifacts/<namespace>-kernels-ncu
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The program ncu, else MAGE_NCU, else it is looked for
    #[arg(long, value_name = "PATH")]
    ncu: Option<PathBuf>,
    /// The program mage-harness, else the one beside this program
    #[arg(long, value_name = "PATH")]
    harness: Option<PathBuf>,
    /// Python with PyTorch and Triton
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Longest time for one case
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

#[derive(Debug, Args)]
struct ImportArguments {
    /// The report
    file: PathBuf,
    /// Calls that it holds
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    iterations: u32,
    /// Read the file as CSV, whatever its name
    #[arg(long)]
    from_csv: bool,
    /// Allow kernels of this name outside the iterations; they do not count
    #[arg(long, value_name = "KERNEL")]
    allow: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Does what the command line says; the exit status is 0, or one of [`mage_workspace::exit`].
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(arguments) => run_command(*arguments),
        Command::Ladder(arguments) => {
            until_stopped(|stop| Ok(climbed(&try_ladder(*arguments, stop)?)))
        }
        Command::Counters(arguments) => counters_command(*arguments),
        Command::Import(arguments) => import_command(&arguments),
        Command::Find { nsys } => match crate::find::find(nsys.as_deref()) {
            Ok(nsys) => print(&format!("{nsys}\n")),
            Err(error) => fail(&error, NOTHING),
        },
    }
}

fn fail(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("mage-profile: {}", text::one_line(&error.to_string()));
    ExitCode::from(code)
}

/// Prints to standard output.
fn print(text: &str) -> ExitCode {
    mage_workspace::out!("{text}");
    ExitCode::SUCCESS
}

fn run_command(arguments: RunArguments) -> ExitCode {
    until_stopped(|stop| Ok(results(&try_run(arguments, stop)?)))
}

fn counters_command(arguments: CountersArguments) -> ExitCode {
    until_stopped(|stop| {
        let outcome = try_counters(arguments, stop)?;
        Ok(format!("{}\n", outcome.directory.display()))
    })
}

/// Prints what `go` gives, which an interrupt stops.
fn until_stopped(go: impl FnOnce(&AtomicBool) -> anyhow::Result<String>) -> ExitCode {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    if let Err(error) = ctrlc::set_handler(move || raised.store(true, Ordering::Relaxed)) {
        return fail(&error, FAILED);
    }
    match go(&stop) {
        Ok(text) => print(&text),
        Err(error) => fail(&error, exit_code(&error)),
    }
}

/// The exit code for what kept a run from being done.
fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Error>() {
        Some(Error::Interrupted) => INTERRUPTED,
        Some(none) if is_no_profiler(none) => NOTHING,
        Some(Error::Invalid(invalid)) if exit::is_usage(invalid) => USAGE,
        Some(Error::Store(store)) if exit::is_usage(store) => USAGE,
        _ => FAILED,
    }
}

fn try_run(arguments: RunArguments, stop: &AtomicBool) -> anyhow::Result<Outcome> {
    let root = mage_workspace::find_root()?;
    let harness = harness(arguments.harness)?;
    let mut options = Options::new(
        root.clone(),
        arguments.experiment,
        arguments.inputs,
        harness,
    );
    options.operations = arguments.ops;
    options.implementations = arguments.implementations;
    options.captures = arguments.captures;
    options.iterations = arguments.iterations;
    options.warmup = arguments.warmup;
    options.namespace = arguments.namespace;
    options.output = arguments.output;
    options.nsys = arguments.nsys;
    options.python = arguments.python;
    options.timeout = Duration::from_secs(arguments.timeout);
    options.keep_reports = arguments.keep_reports;
    options.jobs = arguments.jobs as usize;
    options.allowed_outside = arguments.allow;
    options.without_ranges = arguments.without_ranges;
    options.resume = arguments.resume;
    options.command = mage_workspace::command_line(&root);
    let build = build(&root)?;
    let mut progress = Progress::new();
    let outcome = run::run(&options, build, stop, &mut |event| progress.tell(event));
    progress.bar.finish_and_clear();
    Ok(outcome?)
}

fn try_ladder(arguments: LadderArguments, stop: &AtomicBool) -> anyhow::Result<ladder::Outcome> {
    let root = mage_workspace::find_root()?;
    let build = build(&root)?;
    let options = ladder::Options {
        experiment: arguments.experiment,
        operations: arguments.ops,
        captures: arguments.captures,
        iterations: arguments.iterations,
        warmup: arguments.warmup,
        namespace: arguments.namespace,
        inputs: arguments.inputs,
        output: arguments.output,
        nsys: arguments.nsys,
        harness: harness(arguments.harness)?,
        timeout: Duration::from_secs(arguments.timeout),
        grace: run::GRACE,
        keep_reports: arguments.keep_reports,
        replace: arguments.replace,
        command: mage_workspace::command_line(&root),
        root,
    };
    let mut progress = Progress::new();
    let outcome = ladder::run(&options, build, stop, &mut |event| {
        match event {
        Event::Kept(directory, captures) => progress.say(&format!(
            "nothing was published; {captures} complete captures are kept in {}: remove it and start again",
            directory.display()
        )),
        event => progress.tell(event),
    }
    });
    progress.bar.finish_and_clear();
    Ok(outcome?)
}

/// The target program: the one that was named, else the one beside this.
fn harness(named: Option<PathBuf>) -> std::io::Result<PathBuf> {
    match named {
        Some(harness) => Ok(harness),
        None => Ok(std::env::current_exe()?.with_file_name("mage-harness")),
    }
}

fn try_counters(
    arguments: CountersArguments,
    stop: &AtomicBool,
) -> anyhow::Result<counters::Outcome> {
    let root = mage_workspace::find_root()?;
    let harness = harness(arguments.harness)?;
    let mut options = counters::Options::new(
        root.clone(),
        arguments.experiment,
        arguments.inputs,
        harness,
    );
    options.operations = arguments.ops;
    options.implementations = arguments.implementations;
    options.warmup = arguments.warmup;
    options.namespace = arguments.namespace;
    options.output = arguments.output;
    options.ncu = arguments.ncu;
    options.python = arguments.python;
    options.timeout = Duration::from_secs(arguments.timeout);
    options.replace = arguments.replace;
    options.command = mage_workspace::command_line(&root);
    let build = build(&root)?;
    let mut position = (0, 0);
    let outcome = counters::run(&options, build, stop, &mut |event| match event {
        counters::Event::Begins(ncu, cases) => {
            position.1 = cases;
            eprintln!("{} ({})", ncu.path.display(), ncu.version);
        }
        counters::Event::Starts(_) => position.0 += 1,
        counters::Event::Refused(metric, said) => {
            eprintln!("left out {metric}: {}", text::one_line(said));
        }
        counters::Event::Unproved(case) => eprintln!(
            "{case}: not proved to be the kernels that were measured: the namespace has no capture of it (mage-profile run)"
        ),
        counters::Event::Done(case, launches, us) => {
            let (at, of) = position;
            eprintln!("[{at}/{of}] {case}: {launches} launches, {us:.3} us under ncu");
        }
        counters::Event::Kept(directory, cases) => eprintln!(
            "nothing was published; {cases} complete cases are kept in {}",
            directory.display()
        ),
    })?;
    Ok(outcome)
}

/// What this program was built from. PTX objects belong to the kernels' crate, which this one does not
/// know: they are hashed where the target is built, and `target_sha256` ties the profile to it.
fn build(root: &Path) -> anyhow::Result<Build> {
    Ok(mage_workspace::build(root, BTreeMap::new())?)
}

/// A bar on a terminal, lines elsewhere.
struct Progress {
    bar: ProgressBar,
    lines: bool,
}

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("{bar:24} {pos}/{len} captures, {eta} left: {msg}")
        {
            bar.set_style(style);
        }
        let lines = bar.is_hidden();
        Self { bar, lines }
    }

    fn say(&self, line: &str) {
        match self.lines {
            true => eprintln!("{line}"),
            false => self.bar.println(line),
        }
    }

    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Begins(nsys, captures) => {
                self.say(&nsys.to_string());
                self.bar.set_length(captures as u64);
                self.bar.enable_steady_tick(Duration::from_millis(500));
            }
            Event::Starts(case) => self.bar.set_message(case.to_string()),
            Event::Done(case, captured) => self.done(case, captured),
            Event::Climbed(name, capture) => self.climbed(name, capture),
            Event::Kept(directory, captures) => self.say(&format!(
                "nothing was published; {captures} complete captures are kept in {}: go on with --resume",
                directory.display()
            )),
        }
    }

    fn climbed(&self, name: &str, capture: &LadderCapture) {
        self.bar.inc(1);
        let failed = capture
            .answer
            .steps
            .iter()
            .filter(|step| step.failed.is_some());
        let (timed, failed) = (capture.arms.len(), failed.count());
        if self.lines {
            let length = self.bar.length().unwrap_or_default();
            let position = self.bar.position();
            self.say(&format!(
                "[{position}/{length}] {name}: {timed} arms timed, {failed} checks failed"
            ));
        }
        for note in &capture.notes {
            self.say(&format!("{name}: {}", text::one_line(note)));
        }
    }

    fn done(&self, case: &str, captured: &Captured) {
        self.bar.inc(1);
        if self.lines {
            let length = self.bar.length().unwrap_or_default();
            let position = self.bar.position();
            let iterations = f64::from(captured.capture.requested_iterations);
            let us = captured.times.sum_ns as f64 / 1000.0 / iterations;
            self.say(&format!("[{position}/{length}] {case}: {us:.3} us"));
        }
        for note in &captured.capture.notes {
            self.say(&format!("{case}: {}", text::one_line(note)));
        }
    }
}

/// The table at the end of a run: one row a capture.
fn results(outcome: &Outcome) -> String {
    let mut rows = vec![
        [
            "operation",
            "implementation",
            "capture",
            "launches",
            "kernel time us",
        ]
        .map(String::from),
    ];
    for capture in &outcome.captures {
        // Both were checked before the capture was written.
        let (Ok(launches), Ok(us)) = (capture.launches(), capture.kernel_time_us()) else {
            continue;
        };
        rows.push([
            capture.operation.to_string(),
            capture.implementation.clone(),
            capture.index.to_string(),
            launches.to_string(),
            format!("{us:.3}"),
        ]);
    }
    rows[1..].sort_by_cached_key(|row| {
        let position = |i: usize, names: &[String]| names.iter().position(|n| *n == row[i]);
        (
            outcome
                .captures
                .iter()
                .position(|c| c.operation.name() == row[0]),
            position(1, &outcome.profile.implementations),
            row[2].parse::<u32>().ok(),
        )
    });
    format!("{}{}\n", table(&rows, 2), outcome.directory.display())
}

/// The table at the end of a ladder: one row a variant and operation, the mean of its captures.
fn climbed(outcome: &ladder::Outcome) -> String {
    let mut rows = vec![
        [
            "operation",
            "variant",
            "status",
            "captures",
            "kernel time us",
        ]
        .map(String::from),
    ];
    for operation in &outcome.run.operations {
        let captures: Vec<&LadderCapture> = outcome
            .captures
            .iter()
            .filter(|capture| capture.answer.operation == *operation)
            .collect();
        for step in captures
            .iter()
            .take(1)
            .flat_map(|first| &first.answer.steps)
        {
            let id = &step.variant.id;
            let times: Vec<f64> = captures
                .iter()
                .filter_map(|c| c.kernel_time_us(id))
                .collect();
            let time = stats::mean(&times).map_or("failed".to_string(), |us| format!("{us:.3}"));
            let status = step.variant.status.word().to_string();
            rows.push([
                operation.to_string(),
                id.clone(),
                status,
                times.len().to_string(),
                time,
            ]);
        }
    }
    format!("{}{}\n", table(&rows, 3), outcome.directory.display())
}

/// Aligned columns; those from `right` on to the right.
fn table<const N: usize>(rows: &[[String; N]], right: usize) -> String {
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(i, cell)| {
                let width = rows
                    .iter()
                    .map(|row| row[i].chars().count())
                    .max()
                    .unwrap_or(0);
                match i {
                    i if i >= right => format!("{cell:>width$}"),
                    _ => format!("{cell:<width$}"),
                }
            })
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

fn import_command(arguments: &ImportArguments) -> ExitCode {
    let format = match arguments.from_csv {
        true => Format::Csv,
        false => Format::Guess,
    };
    let read = || -> Result<String, Invalid> {
        let summary = import::read(
            &arguments.file,
            format,
            arguments.iterations,
            &arguments.allow,
        )?;
        match arguments.json {
            true => store::to_json(&summary),
            false => Ok(summary_text(&arguments.file, &summary)),
        }
    };
    match read() {
        Ok(text) => print(&text),
        Err(invalid) => fail(&invalid, NOTHING),
    }
}

/// The summary for a reader: one line, notes, and one row for each distinct kernel.
fn summary_text(file: &Path, summary: &Summary) -> String {
    let plural = if summary.launches == 1 {
        "launch"
    } else {
        "launches"
    };
    let mut out = format!(
        "{}: {:.3} us, {} {plural} an iteration ({}, {} iterations)\n",
        file.display(),
        summary.kernel_time_us,
        summary.launches,
        summary.source,
        summary.iterations
    );
    for note in &summary.notes {
        out.push_str(&format!("note: {}\n", text::one_line(note)));
    }
    let known = |value: Option<u32>| value.map_or("-".to_string(), |value| value.to_string());
    let axes =
        |value: Option<[u32; 3]>| value.map_or("-".to_string(), |[x, y, z]| format!("{x},{y},{z}"));
    let mut distinct: Vec<([String; 6], u64, u64)> = Vec::new();
    for row in &summary.rows {
        let key = [
            axes(row.grid),
            axes(row.block),
            known(row.registers),
            known(row.static_shared_bytes),
            known(row.dynamic_shared_bytes),
            text::short(&row.name, 160),
        ];
        match distinct.iter_mut().find(|(known, _, _)| *known == key) {
            Some((_, count, total)) => {
                *count += row.count;
                *total += row.total_ns;
            }
            None => distinct.push((key, row.count, row.total_ns)),
        }
    }
    let mut rows = vec![
        [
            "kernels",
            "mean us",
            "grid",
            "block",
            "registers",
            "static B",
            "dynamic B",
            "name",
        ]
        .map(String::from),
    ];
    for ([grid, block, registers, fixed, dynamic, name], count, total) in distinct {
        let mean = total as f64 / 1000.0 / count as f64;
        rows.push([
            count.to_string(),
            format!("{mean:.3}"),
            grid,
            block,
            registers,
            fixed,
            dynamic,
            name,
        ]);
    }
    out.push_str(&table(&rows, 8));
    out
}
