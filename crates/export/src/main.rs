//! `mage-export`: see the library.

use clap::Parser;
use mage_export::cli;
use std::process::ExitCode;

/// Evidence or artifacts that are not what they should be.
const INVALID: u8 = 3;

fn main() -> ExitCode {
    match cli::main(&cli::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mage-export: {error:#}");
            ExitCode::from(INVALID)
        }
    }
}
