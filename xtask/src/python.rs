//! A Python with PyTorch and Triton: the one at hand, or a virtual environment made from pinned versions.

use crate::programs::run;
use anyhow::Context;
use mage_harness::worker;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the Python implementations need, pinned.
pub const REQUIREMENTS: &str = "crates/harness/python/requirements.txt";
const ENVIRONMENT: &str = ".venv";

/// The interpreter to use: as it is where it has PyTorch and Triton, else that of a `.venv` made below
/// `root`.
pub fn prepare(root: &Path, given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let python = worker::interpreter(root, given);
    if given.is_some() || has_packages(&python) {
        return Ok(python);
    }
    eprintln!(
        "{}: no PyTorch and Triton; making {ENVIRONMENT} from {REQUIREMENTS}",
        python.display()
    );
    let environment = root.join(ENVIRONMENT);
    run(Command::new(&python).args(["-m", "venv"]).arg(&environment))
        .context("cannot make a virtual environment; on Debian: apt-get install python3-venv")?;
    let own = environment.join("bin/python");
    run(Command::new(&own)
        .args(["-m", "pip", "install", "--quiet", "-r"])
        .arg(root.join(REQUIREMENTS)))?;
    Ok(own)
}

/// Whether PyTorch and Triton can be imported.
pub fn has_packages(python: &Path) -> bool {
    Command::new(python)
        .args(["-c", "import torch, triton"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
