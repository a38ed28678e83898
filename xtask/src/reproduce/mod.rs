//! `xtask reproduce`: on a CUDA device measure, anywhere else replay; either way end with the table.

mod measure;
mod replay;

use crate::table::Rows;
use anyhow::Context;
use clap::Args;
use mage_evidence::Invalid;
use mage_evidence::experiment::{self, Experiment};
use mage_harness::bench::check_runnable;
use mage_kernels::launch::{Absent, Gpu};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Experiment: the stem of a file in experiments/.
    #[arg(long)]
    experiment: String,
    /// Result namespace. When measuring: <experiment>-<device>-<date> by default, never an existing one.
    /// When replaying: the experiment's own by default.
    #[arg(long)]
    namespace: Option<String>,
    /// Go on with a measurement of this --namespace that was interrupted: what is whole of it is kept.
    #[arg(long, requires = "namespace", conflicts_with = "replay")]
    resume: bool,
    /// Replay also where there is a GPU.
    #[arg(long)]
    replay: bool,
    /// Python with PyTorch and Triton; found or set up by default.
    #[arg(long)]
    python: Option<PathBuf>,
    /// Nsight Systems' nsys; found by default.
    #[arg(long)]
    nsys: Option<PathBuf>,
    /// When measuring: also read hardware counters, with Nsight Compute.
    #[arg(long)]
    counters: bool,
    /// Nsight Compute's ncu; found by default.
    #[arg(long, requires = "counters")]
    ncu: Option<PathBuf>,
}

/// Measures or replays, and prints the table.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let experiment = Experiment::named(root, &arguments.experiment)?;
    let path = Experiment::path(root, &experiment.name);
    check_runnable(&experiment).map_err(|invalid| invalid.in_file(&path))?;
    if let Some(namespace) = &arguments.namespace {
        experiment::check_name(namespace).map_err(|e| e.under("--namespace"))?;
    }
    let gpu = match arguments.replay {
        true => Err("asked to replay".to_string()),
        false => match Gpu::open() {
            Err(broken @ Absent::Broken(_)) => {
                return Err(broken).context(
                    "the NVIDIA driver is there and cannot start; mend it (`nvidia-smi` says more), or replay with --replay",
                );
            }
            gpu => gpu.map_err(|absent| absent.to_string()),
        },
    };
    let (namespace, checks) = match gpu {
        Ok(gpu) => {
            let namespace = measure::measure(root, &experiment, arguments, &gpu)?;
            (namespace, None)
        }
        Err(reason) => {
            let namespace = arguments
                .namespace
                .clone()
                .unwrap_or(experiment.name.clone());
            let known = mage_workspace::namespaces(root)?;
            if arguments.namespace.is_some() && !known.contains(&namespace) {
                let expected = format!("one of {}", known.join(", "));
                let unknown = Invalid::new("--namespace", format!("{namespace:?}"), expected);
                return Err(unknown
                    .help(format!("{reason}: nothing can be measured"))
                    .into());
            }
            mage_workspace::outln!("{reason}: replaying the committed evidence of {namespace}");
            let checks = replay::replay(root, &experiment, &namespace)?;
            (namespace, Some(checks))
        }
    };
    mage_workspace::out!("\n{}", Rows::read(root, &experiment, &namespace)?.text());
    if let Some(checks) = checks {
        mage_workspace::outln!("times: committed evidence; kernels of this source: {checks}");
    }
    Ok(())
}
