//! Exit codes of the verbs that judge: 0 what was asked for holds, 1 it does not, 2 wrong usage, 3 evidence
//! that is invalid or missing.

use std::process::ExitCode;

/// A policy is not met, or what is committed is stale.
pub const FAILED: u8 = 1;
/// The command line asks for something that there is not.
pub const USAGE: u8 = 2;
/// Evidence, artifacts, claims or published values are not what they should be.
pub const INVALID: u8 = 3;

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
