//! `xtask doctor`: what this machine has, what it lacks, and the command that mends it.

use crate::{kernels, python};
use clap::Args;
use mage_harness::monitor::NvmlMonitor;
use mage_harness::{Monitor, worker};
use mage_kernels::launch::Gpu;
use mage_profile::find;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Python to look at.
    #[arg(long)]
    python: Option<PathBuf>,
    /// Nsight Systems' nsys to look at.
    #[arg(long)]
    nsys: Option<PathBuf>,
}

/// What was found of one thing: there, or missing with what mends it.
type Finding = Result<String, String>;

/// Prints one line a thing. What is missing is needed to measure; replaying needs none of it.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let findings = [
        ("device", device()),
        ("nsys", nsys(arguments.nsys.as_deref())),
        ("ncu", ncu()),
        ("python", packages(root, arguments.python.as_deref())),
        (
            "device compiler",
            kernels::compiler().map_err(|e| format!("{e:#}")),
        ),
    ];
    for (what, finding) in &findings {
        match finding {
            Ok(found) => println!("ok       {what}: {found}"),
            Err(mend) => println!(
                "missing  {what}: {}",
                mend.trim_end().replace('\n', "\n         ")
            ),
        }
    }
    println!(
        "replaying needs none of these; measuring needs device, nsys and python; `cargo xtask kernels` needs the device compiler; ncu is for counters"
    );
    Ok(())
}

fn device() -> Finding {
    let gpu = Gpu::open().map_err(|absent| {
        format!("{absent}; to measure, run on a machine with an NVIDIA GPU and its driver")
    })?;
    let monitor = NvmlMonitor::open(&gpu).map_err(|error| format!("{error:#}"))?;
    let device = monitor.device();
    Ok(format!(
        "{}, compute capability {}, driver {}, CUDA {}",
        device.name, device.compute_capability, device.driver, device.cuda_driver
    ))
}

fn nsys(given: Option<&Path>) -> Finding {
    let found = find::find(given).map_err(|error| error.to_string())?;
    Ok(found.to_string())
}

fn ncu() -> Finding {
    let places = std::env::var_os("PATH").map(|path| {
        std::env::split_paths(&path)
            .map(|d| d.join("ncu"))
            .collect::<Vec<_>>()
    });
    let usual = ["/usr/local/cuda/bin/ncu"].map(PathBuf::from);
    places
        .unwrap_or_default()
        .into_iter()
        .chain(usual)
        .find(|path| path.is_file())
        .and_then(|path| {
            let output = Command::new(&path).arg("--version").output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = text.lines().rev().find(|line| !line.trim().is_empty())?.to_string();
            Some(format!("{} ({version})", path.display()))
        })
        .ok_or_else(|| {
            "no Nsight Compute on PATH; install it with the CUDA toolkit (package cuda-nsight-compute-13-0 of NVIDIA's repository)".into()
        })
}

fn packages(root: &Path, given: Option<&Path>) -> Finding {
    let python = worker::interpreter(root, given);
    if python::has_packages(&python) {
        return Ok(format!("{} has PyTorch and Triton", python.display()));
    }
    Err(format!(
        "{} has no PyTorch and Triton; `cargo xtask reproduce` on a GPU sets up .venv, or: python3 -m venv .venv && .venv/bin/pip install -r {}",
        python.display(),
        python::REQUIREMENTS
    ))
}
