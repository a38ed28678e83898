//! The project's verbs, one file each; this file parses and dispatches.

mod calibrate;
mod claims;
mod counters;
mod diff;
mod doctor;
mod exit;
mod figures;
mod kernels;
mod pages;
mod programs;
mod python;
mod readme;
mod reproduce;
mod structure;
mod table;
mod verify;

#[cfg(test)]
#[path = "../../crates/export/tests/six/mod.rs"]
mod six;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Reproduce an experiment, verify and compare evidence, judge claims, draw figures, build kernels.
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
    /// Draw the figures, tables and pages of namespaces, the site's first page and the README's table, from evidence.
    Figures(figures::Arguments),
    /// Build the PTX objects from the kernels' source.
    Kernels {
        /// Write nothing; prove that the committed objects are what the source gives.
        #[arg(long)]
        check: bool,
    },
    /// Check every file, hash and published number of namespaces; exits with 3 where one is wrong.
    Verify(verify::Arguments),
    /// Compare two sets of results: what changed, what moved, and what may be said of it.
    Diff(diff::Arguments),
    /// Judge the published claims by evidence, and write or prove their page.
    Claims(claims::Arguments),
    /// Kernels measured against themselves: how often a verdict is wrong, and what it finds.
    Calibrate(calibrate::Arguments),
    /// Count what the kernels do, each variant beside its parent, and judge the note's structural claims.
    Structure(structure::Arguments),
    /// Read hardware counters of the kernels with Nsight Compute, for `structure` to compare.
    Counters(counters::Arguments),
    /// Say what this machine has, what it lacks, and the command that mends it.
    Doctor(doctor::Arguments),
}

fn main() -> ExitCode {
    let verb = Cli::parse().verb;
    // A verb that judges evidence has a code of its own for evidence that cannot be judged.
    let judges = matches!(verb, Verb::Verify(_) | Verb::Diff(_) | Verb::Claims(_));
    match dispatch(verb) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            exit::of(&error, judges).into()
        }
    }
}

fn dispatch(verb: Verb) -> anyhow::Result<ExitCode> {
    let root = mage_workspace::find_root()?;
    match verb {
        Verb::Verify(arguments) => return verify::run(&root, &arguments),
        Verb::Diff(arguments) => return diff::run(&root, &arguments),
        Verb::Claims(arguments) => return claims::run(&root, &arguments),
        Verb::Calibrate(arguments) => return calibrate::run(&root, &arguments),
        Verb::Reproduce(arguments) => reproduce::run(&root, &arguments),
        Verb::Figures(arguments) => figures::run(&root, &arguments),
        Verb::Kernels { check } => kernels::run(&root, check),
        Verb::Structure(arguments) => structure::run(&root, &arguments),
        Verb::Counters(arguments) => counters::run(&root, &arguments),
        Verb::Doctor(arguments) => doctor::run(&root, &arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}
