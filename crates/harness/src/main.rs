//! `mage-harness`: see the library.

use clap::Parser;
use mage_harness::{cli, interrupt};
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::main(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("mage-harness: {error:#}");
            match error.downcast_ref::<interrupt::Interrupted>() {
                Some(_) => ExitCode::from(interrupt::EXIT_STATUS),
                None => ExitCode::FAILURE,
            }
        }
    }
}
