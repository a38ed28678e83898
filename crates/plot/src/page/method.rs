//! How it was measured and how to do it again: fixed sentences around numbers of the evidence.

use super::diff::calibration;
use super::html::fill;
use crate::data::Data;
use crate::figures::{between, captures_a_case};
use crate::level;
use crate::number;
use mage_evidence::claims::By;
use mage_evidence::diff::Quantity;
use mage_evidence::verdict::MARGIN;

const METHOD: &str = include_str!("method.md");
const CAPTURES: &str = include_str!("captures.md");

/// The method, as Markdown.
pub(super) fn prose(data: &Data) -> String {
    let r = &data.results;
    let check = r
        .results
        .iter()
        .flat_map(|op| &op.rounds)
        .flat_map(|round| round.implementations.values())
        .map(|case| &case.correctness)
        .next();
    let bound = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:e}"));
    fill(
        METHOD,
        &[
            ("seed", &data.experiment.seed.to_string()),
            ("order", order(data)),
            (
                "rounds",
                &number::plural(r.rounds.into(), "round", "rounds"),
            ),
            (
                "warmup",
                &number::plural(r.warmup_per_round.into(), "warm-up call", "warm-up calls"),
            ),
            (
                "iterations",
                &number::plural(
                    r.iterations_per_round.into(),
                    "measured call",
                    "measured calls",
                ),
            ),
            ("atol", &bound(check.map(|c| c.atol))),
            ("rtol", &bound(check.map(|c| c.rtol))),
            (
                "checks",
                &format!(
                    "{} of {} such checks passed.",
                    r.passed_checks(),
                    r.checks()
                ),
            ),
            ("captures", captures(data).trim_end()),
            ("margin", &format!("{}%", MARGIN * 100.0)),
            (
                "kernel_level",
                &number::share(level::bound(data, Quantity::KernelTime)),
            ),
            (
                "span_level",
                &number::share(level::bound(data, Quantity::EventSpan)),
            ),
            ("calibration", &calibration(data)),
        ],
    )
}

/// Whether the order of implementations changes from round to round, as the evidence has it.
fn order(data: &Data) -> &'static str {
    let rotates = data.results.results.iter().all(|op| {
        let mut orders: Vec<_> = op.rounds.iter().map(|round| &round.order).collect();
        orders.dedup();
        orders.len() == op.rounds.len()
    });
    match rotates && data.results.rounds > 1 && data.series.len() > 1 {
        true => "The order of implementations rotates from round to round.",
        false => "",
    }
}

fn captures(data: &Data) -> String {
    let Some(profiles) = &data.profiles else {
        return "Kernel time was not measured: the namespace has no profiler captures.".to_string();
    };
    let calls: Vec<u64> = profiles
        .captures
        .iter()
        .map(|c| u64::from(c.requested_iterations))
        .collect();
    let captures = captures_a_case(data);
    fill(
        CAPTURES,
        &[
            ("backend", &profiles.backend),
            (
                "captures",
                &format!("{} a case", between(&captures, "capture", "captures")),
            ),
            ("calls", &between(&calls, "call", "calls")),
        ],
    )
}

/// Commands: what each does, and the command.
pub(super) fn commands(data: &Data) -> Vec<(&'static str, String)> {
    let (namespace, experiment) = (&data.namespace, &data.experiment.name);
    let of = match namespace == experiment {
        true => String::new(),
        false => format!(" --namespace {namespace}"),
    };
    let mut commands = vec![
        (
            "On a machine with an NVIDIA GPU, measure it again. Without one, this checks the kernels on the CPU and makes everything on this page again from the raw samples:",
            format!("cargo xtask reproduce --experiment {experiment}"),
        ),
        (
            "Check every file, every hash and every published number:",
            format!("cargo xtask verify {namespace}"),
        ),
    ];
    if let Ok(baseline) = &data.baseline {
        commands.push((
            "Compare it with its baseline:",
            format!("cargo xtask diff {} {namespace}", baseline.namespace),
        ));
    }
    if let Ok(verdicts) = &data.claims {
        commands.push((
            match verdicts.by {
                By::Note => "Judge the claims:",
                By::Goal => "Judge the goals:",
            },
            format!("cargo xtask claims --experiment {experiment}{of}"),
        ));
    }
    commands.push((
        "Prove that the figures, tables and this page are what the evidence gives:",
        format!("cargo xtask figures --experiment {namespace} --check"),
    ));
    commands.push((
        "Print the plotted values as JSON:",
        format!("cargo run --release -p mage-plot -- --namespace {namespace} --json"),
    ));
    commands
}
