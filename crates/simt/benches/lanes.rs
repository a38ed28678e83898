//! How fast the executor is, with every check and counter: thread instructions a second of every variant at
//! the default dims, on all cores. Names of variants as arguments select some.
//!
//! `cargo bench -p mage-simt [-- layer_norm_warp]`
#![allow(clippy::print_stdout, reason = "what a benchmark is for")]

use mage_kernels::inputs::SEED;
use mage_kernels::suite::default_case;
use mage_kernels::variants::VARIANTS;
use mage_simt::execute;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return; // a test run, which asks for no times
    }
    let names: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    println!(
        "{:<24}{:>10}{:>16}{:>16}",
        "variant", "seconds", "instructions", "millions/s"
    );
    for variant in VARIANTS {
        if !names.is_empty() && !names.iter().any(|name| *name == variant.id) {
            continue;
        }
        let case = default_case(variant.operation);
        let inputs = case.inputs(SEED).expect("a case of the suite is valid");
        let start = Instant::now();
        match execute(variant, &inputs) {
            Ok(execution) => {
                let seconds = start.elapsed().as_secs_f64();
                let instructions = execution.counts.thread_instructions();
                let rate = instructions as f64 / seconds / 1e6;
                println!(
                    "{:<24}{seconds:>10.2}{instructions:>16}{rate:>16.1}",
                    variant.id
                );
            }
            Err(error) => println!("{:<24}{error}", variant.id),
        }
    }
}
