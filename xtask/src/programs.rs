//! The programs that measure: beside the own one, built first where cargo is there.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes sure that the programs are what the source gives, where a cargo started this one; elsewhere they
/// are used as they are.
pub fn build(root: &Path) -> anyhow::Result<()> {
    let Some(cargo) = std::env::var_os("CARGO") else {
        return Ok(());
    };
    run(Command::new(cargo)
        .current_dir(root)
        .args(["build", "--quiet", "--release", "--locked", "--bins"])
        .args(["-p", "mage-harness", "-p", "mage-profile"]))
}

/// Path of a program beside the own one.
pub fn path(name: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find the own program")?;
    let path = own.with_file_name(name);
    if !path.is_file() {
        bail!(
            "{}: found no such program, expected it beside {}; run `cargo build --release`",
            path.display(),
            own.display()
        );
    }
    Ok(path)
}

/// Runs a command with this process's standard streams and refuses a status that is not success.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_os_string();
    let program = Path::new(&program)
        .file_name()
        .unwrap_or(&program)
        .to_string_lossy()
        .into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program}: {status}");
    }
    Ok(())
}
