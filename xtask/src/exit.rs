//! How the verbs end that do not succeed.

pub use mage_workspace::exit::{FAILED, NOTHING as INVALID, USAGE};
use std::process::ExitCode;

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
