//! `mage-harness identical`: one process of an A/A study.

use super::verb::identical_arms;
use super::{End, Plan, Side, measure};
use crate::cli::load;
use crate::monitor::{Monitor, NvmlMonitor};
use crate::{bench, interrupt, run};
use anyhow::Context;
use clap::Args;
use mage_evidence::calibration::{PROCESS_SCHEMA, Process};
use mage_evidence::{Invalid, store};
use mage_kernels::launch::Gpu;
use mage_kernels::variants;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What to measure.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Experiment whose operations, dims and variants.
    #[arg(long)]
    experiment: String,
    /// Cycles of six rounds, each operation.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cycles: u32,
    /// File to write, which must not exist.
    #[arg(long, value_name = "FILE.json")]
    output: PathBuf,
}

/// Measures every operation's kernel under three names and writes the file.
///
/// # Errors
/// As [`measure`], and where the file cannot be written.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.output.exists() {
        let taken = Invalid::new("--output", "a file that exists", "a new name");
        return Err(taken.in_file(&arguments.output).into());
    }
    interrupt::install()?;
    let experiment = load(root, &arguments.experiment)?;
    let build = mage_workspace::build(root, bench::objects_sha256())?;
    bench::built_from(root)?;
    let gpu = Gpu::open()?;
    let monitor = NvmlMonitor::open(&gpu)?;
    let mut sessions = Vec::new();
    for case in &experiment.operations {
        let inputs = run::case_inputs(&experiment, case)?;
        let variant = variants::find(&case.variant)
            .with_context(|| format!("no variant {}", case.variant))?;
        let side = Side {
            name: variant.id.to_string(),
            variant: variant.id,
        };
        let plan = Plan {
            inputs: &inputs,
            directory: root,
            tolerance: experiment.tolerance,
            sides: [side.clone(), side],
            end: End::Cycles(arguments.cycles as usize),
        };
        let began = Instant::now();
        let mut clock = || began.elapsed();
        let measured = measure(
            &plan,
            &mut identical_arms(&gpu),
            &monitor,
            &mut clock,
            &mut |_| {},
        )
        .with_context(|| case.name.to_string())?;
        eprintln!("{}: {:.1} s", case.name, measured.took.as_secs_f64());
        sessions.push(measured.session);
    }
    let process = Process {
        schema: PROCESS_SCHEMA.into(),
        experiment: experiment.name.clone(),
        command: mage_workspace::command_line(root),
        device: monitor.device().clone(),
        binary_sha256: build.binary_sha256,
        objects_sha256: build.objects_sha256,
        sessions,
    };
    store::write_json(&arguments.output, &process)?;
    mage_workspace::outln!("{}", arguments.output.display());
    Ok(())
}
