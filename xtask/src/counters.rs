//! `xtask counters`: hardware counters of every variant, on a machine with a GPU and Nsight Compute.

use crate::programs;
use anyhow::Context;
use clap::{Args, Subcommand};
use mage_evidence::experiment::Experiment;
use mage_harness::bench::{check_runnable, objects_sha256};
use mage_harness::monitor::NvmlMonitor;
use mage_harness::{Monitor, inputs};
use mage_kernels::launch::Gpu;
use mage_profile::ncu::{self, Ncu};
use mage_structure::counters::measure::{self, Bench};
use mage_structure::counters::stored;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Read the counters of every variant of an experiment's operations into a new directory.
    Measure(Measure),
    /// Take the counters out of such a directory and keep them below artifacts/. Needs no GPU.
    Import(Import),
}

#[derive(Debug, Args)]
struct Measure {
    /// Experiment whose operations, dims and inputs.
    #[arg(long)]
    experiment: String,
    /// Directory to make.
    #[arg(long)]
    output: PathBuf,
    /// Nsight Compute's ncu; found by default.
    #[arg(long)]
    ncu: Option<PathBuf>,
    /// Print the command lines and do nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
struct Import {
    /// What `measure` made.
    directory: PathBuf,
    /// Name below artifacts/; structure-<device> by default.
    #[arg(long)]
    name: Option<String>,
}

/// Measures or imports.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    match &arguments.verb {
        Verb::Measure(arguments) => run_measure(root, arguments),
        Verb::Import(arguments) => {
            let kept = stored::import(root, &arguments.directory, arguments.name.as_deref())?;
            mage_workspace::outln!(
                "{}: written; `cargo xtask structure --write` compares",
                kept.strip_prefix(root).unwrap_or(&kept).display()
            );
            Ok(())
        }
    }
}

fn run_measure(root: &Path, arguments: &Measure) -> anyhow::Result<()> {
    let experiment = Experiment::named(root, &arguments.experiment)?;
    let path = Experiment::path(root, &experiment.name);
    check_runnable(&experiment).map_err(|invalid| invalid.in_file(&path))?;
    let written = root.join("target/inputs");
    if arguments.dry_run {
        let named = arguments.ncu.clone().unwrap_or_else(|| "ncu".into());
        let ncu = Ncu {
            path: named,
            version: String::new(),
        };
        let bench = Bench {
            root,
            ncu: &ncu,
            harness: Path::new("target/release/mage-harness"),
            inputs: Path::new("target/inputs"),
        };
        for (_, _, line) in measure::plan(&experiment, &bench, &arguments.output)? {
            let words: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
            mage_workspace::outln!("{}", words.join(" "));
        }
        return Ok(());
    }
    let gpu = Gpu::open().context("counters are read on a machine with an NVIDIA GPU")?;
    let device = NvmlMonitor::open(&gpu)?.device().clone();
    drop(gpu);
    let ncu = ncu::find(arguments.ncu.as_deref()).map_err(mage_profile::Error::NotAvailable)?;
    let build = mage_workspace::build(root, objects_sha256())?;
    programs::build(root)?;
    inputs::write(&experiment, &written)?;
    let bench = Bench {
        root,
        ncu: &ncu,
        harness: &programs::path("mage-harness")?,
        inputs: &written,
    };
    let output = measure::measure(&experiment, &bench, device, build, &arguments.output)?;
    mage_workspace::outln!(
        "{}: written; `cargo xtask counters import` keeps what counts",
        output.display()
    );
    Ok(())
}
