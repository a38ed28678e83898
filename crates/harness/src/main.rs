//! `mage-harness`: see the library.

use clap::Parser;
use mage_harness::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::main(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("mage-harness: {error:#}");
            cli::exit_code(&error).into()
        }
    }
}
