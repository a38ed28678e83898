//! The project's verbs, one file each; this file parses and dispatches.

mod counters;
mod doctor;
mod evidence;
mod figures;
mod kernels;
mod programs;
mod python;
mod readme;
mod reproduce;
mod structure;
mod table;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Reproduce an experiment, draw its figures, build its kernels, look at the machine.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure an experiment on this machine's GPU; without one, replay its committed evidence.
    Reproduce(reproduce::Arguments),
    /// Draw the figures, tables and pages of namespaces, and the README's table, from evidence.
    Figures(figures::Arguments),
    /// Build the PTX objects from the kernels' source.
    Kernels {
        /// Write nothing; prove that the committed objects are what the source gives.
        #[arg(long)]
        check: bool,
    },
    /// Prove that the committed evidence is what the committed artifacts give.
    Evidence(evidence::Arguments),
    /// Count what the kernels do, each variant beside its parent, and judge the note's structural claims.
    Structure(structure::Arguments),
    /// Read hardware counters of the kernels with Nsight Compute, for `structure` to compare.
    Counters(counters::Arguments),
    /// Say what this machine has, what it lacks, and the command that mends it.
    Doctor(doctor::Arguments),
}

fn main() -> ExitCode {
    match dispatch(Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(verb: Verb) -> anyhow::Result<()> {
    let root = mage_workspace::find_root()?;
    match verb {
        Verb::Reproduce(arguments) => reproduce::run(&root, &arguments),
        Verb::Figures(arguments) => figures::run(&root, &arguments),
        Verb::Kernels { check } => kernels::run(&root, check),
        Verb::Evidence(arguments) => evidence::run(&root, &arguments),
        Verb::Structure(arguments) => structure::run(&root, &arguments),
        Verb::Counters(arguments) => counters::run(&root, &arguments),
        Verb::Doctor(arguments) => doctor::run(&root, &arguments),
    }
}
