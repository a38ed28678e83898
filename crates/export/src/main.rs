//! `mage-export`: see the library.

use clap::Parser;
use mage_export::cli;
use mage_workspace::exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::main(&cli::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mage-export: {error:#}");
            // Evidence or artifacts are not what they should be, unless there are none of that name.
            let usage = error.chain().any(exit::is_usage);
            ExitCode::from(if usage { exit::USAGE } else { exit::NOTHING })
        }
    }
}
