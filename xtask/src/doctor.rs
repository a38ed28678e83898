//! `xtask doctor`: what this machine has, what it lacks, and the command that mends it.

use crate::{kernels, python};
use clap::Args;
use mage_harness::monitor::NvmlMonitor;
use mage_harness::{Monitor, worker};
use mage_kernels::launch::Gpu;
use mage_profile::find;
use mage_profile::ncu::{self, Permission};
use std::path::{Path, PathBuf};

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
        ("hardware counters", counters()),
        ("python", packages(root, arguments.python.as_deref())),
        (
            "device compiler",
            kernels::compiler().map_err(|e| format!("{e:#}")),
        ),
    ];
    for (what, finding) in &findings {
        match finding {
            Ok(found) => mage_workspace::outln!("ok       {what}: {found}"),
            Err(mend) => mage_workspace::outln!(
                "missing  {what}: {}",
                mend.trim_end().replace('\n', "\n         ")
            ),
        }
    }
    mage_workspace::outln!(
        "replaying needs none of these; measuring needs device, nsys and python; `cargo xtask kernels` needs the device compiler; ncu and hardware counters are for `cargo xtask counters` and `cargo xtask reproduce --counters`"
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
    let found = ncu::find(None)?;
    Ok(format!("{} ({})", found.path.display(), found.version))
}

fn counters() -> Finding {
    match ncu::permission(Path::new("/")) {
        Permission::Granted(why) => Ok(format!("permitted {why}")),
        Permission::Denied => Err(format!("not permitted here; {}", ncu::PERMISSION)),
        Permission::Unknown(why) => Err(format!(
            "not known whether they are permitted: {why}; `mage-profile counters` says so where they are not"
        )),
    }
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
