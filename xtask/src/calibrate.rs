//! `xtask calibrate`: kernels measured against themselves, and what verdicts make of that.

use crate::{exit, programs};
use anyhow::Context;
use clap::Args;
use mage_evidence::experiment::Experiment;
use mage_export::calibration;
use mage_harness::bench::{check_runnable, objects_sha256};
use mage_harness::{host, inputs};
use mage_kernels::launch::Gpu;
use mage_profile::calibrate::{Options, measure};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Write nothing; prove that docs/calibration is what the artifacts give.
    #[arg(long, conflicts_with = "measure")]
    check: bool,
    /// First measure a study on this machine's GPU, with Nsight Systems, into artifacts/calibration-<device>.
    #[arg(long)]
    measure: bool,
    /// Experiment whose operations, dims and Rust kernels.
    #[arg(long, requires = "measure", default_value = "mage-002")]
    experiment: String,
    /// Processes that measure spans, and captures of each operation (3..).
    #[arg(long, requires = "measure", default_value_t = 6)]
    processes: u32,
    /// Cycles of six rounds, each operation, in each process (24..).
    #[arg(long, requires = "measure", default_value_t = 30)]
    cycles: u32,
    /// Calls in each capture, of two handles in turn; a multiple of 4.
    #[arg(long, requires = "measure", default_value_t = 100)]
    iterations: u32,
    /// Name below artifacts/; calibration-<device> by default.
    #[arg(long, requires = "measure")]
    name: Option<String>,
    /// Nsight Systems' nsys; found by default.
    #[arg(long, requires = "measure")]
    nsys: Option<PathBuf>,
}

/// Measures, writes or proves; 1 where what is committed is not what the artifacts give.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.measure {
        run_measure(root, arguments)?;
    }
    let names = calibration::names(root)?;
    if names.is_empty() {
        mage_workspace::outln!(
            "no calibration here; measure one on a machine with a GPU: cargo xtask calibrate --measure"
        );
    }
    if !arguments.check {
        for path in calibration::write(root)? {
            mage_workspace::outln!("written: {}", path.display());
        }
        return Ok(ExitCode::SUCCESS);
    }
    for name in names {
        for file in calibration::evidence(root, &name)? {
            if std::fs::read(root.join(&file.path)).is_ok_and(|found| found == file.text.as_bytes())
            {
                mage_workspace::outln!("proved: {}", file.path.display());
                continue;
            }
            eprintln!(
                "xtask: {}: found other text than the artifacts give, or none; run `cargo xtask calibrate`",
                file.path.display()
            );
            return Ok(exit::FAILED.into());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_measure(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let experiment = Experiment::named(root, &arguments.experiment)?;
    let path = Experiment::path(root, &experiment.name);
    check_runnable(&experiment).map_err(|invalid| invalid.in_file(&path))?;
    // Only to refuse early: the processes that measure open the device themselves.
    drop(Gpu::open().context("a calibration is measured on a machine with an NVIDIA GPU")?);
    programs::build(root)?;
    let build = mage_workspace::build(root, objects_sha256())?;
    let written = root.join("target/inputs");
    inputs::write(&experiment, &written)?;
    let options = Options {
        root: root.to_path_buf(),
        experiment: experiment.name.clone(),
        name: arguments.name.clone(),
        processes: arguments.processes,
        cycles: arguments.cycles,
        iterations: arguments.iterations,
        inputs: written,
        nsys: arguments.nsys.clone(),
        harness: programs::path("mage-harness")?,
        timeout: Duration::from_secs(120),
        host: host::read(),
        command: mage_workspace::command_line(root),
    };
    let directory = measure(&options, build, &AtomicBool::new(false), &mut |step| {
        eprintln!("{step}");
    })?;
    let shown = directory.strip_prefix(root).unwrap_or(&directory);
    mage_workspace::outln!("measured: {}", shown.display());
    Ok(())
}
