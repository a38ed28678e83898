//! How the verbs end that do not succeed.

use mage_kernels::launch::Absent;
use mage_profile::is_no_profiler;
use mage_workspace::exit::is_usage;
pub use mage_workspace::exit::{FAILED, NOTHING as INVALID, USAGE};
use std::process::ExitCode;

/// The code for what kept a verb from being done; one that `judges` evidence has that of evidence which cannot be
/// judged.
pub fn of(error: &anyhow::Error, judges: bool) -> u8 {
    if error.chain().any(is_usage) {
        USAGE
    } else if judges || error.chain().any(|e| is_no_profiler(e) || e.is::<Absent>()) {
        INVALID
    } else {
        FAILED
    }
}

/// Says what is wrong with the command line.
pub fn usage(message: &str) -> ExitCode {
    eprintln!("xtask: {message}");
    USAGE.into()
}

/// Says what is wrong with the evidence.
pub fn invalid(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("xtask: {error}");
    INVALID.into()
}
