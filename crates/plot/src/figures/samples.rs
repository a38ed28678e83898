//! Every event span, in measured order.

use super::{Figure, dims, evidence, source, time_cell, unavailable};
use crate::chart::frame::Frame;
use crate::chart::runs::{Cell, Round, Runs, Section};
use crate::chart::{Mark, Note};
use crate::data::{Data, Series};
use crate::palette::Ink;
use crate::table::{self, Column, Table};
use crate::{escape, number};
use mage_evidence::results::{self, OperationResults};
use mage_evidence::stats;
use serde_json::json;

pub(super) const NAME: &str = "samples";
pub(super) const TITLE: &str = "Every sample";

/// The samples of one case, by round.
struct Case<'a> {
    series: &'a Series,
    rounds: Vec<&'a [f64]>,
    median: f64,
}

impl Case<'_> {
    fn all(&self) -> impl Iterator<Item = f64> {
        self.rounds.iter().flat_map(|round| round.iter().copied())
    }

    fn range(&self) -> (f64, f64) {
        self.all().fold((f64::INFINITY, 0.0), |(low, high), v| {
            (v.min(low), v.max(high))
        })
    }
}

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let operations: Vec<(&OperationResults, Vec<Case<'_>>)> = data
        .results
        .results
        .iter()
        .map(|op| (op, cases(data, op)))
        .filter(|(_, cases)| !cases.is_empty())
        .collect();
    if operations.is_empty() {
        return Err("the namespace has no samples".to_string());
    }
    let sections = operations.iter().map(|(op, cases)| Section {
        title: op.op.label().to_string(),
        note: data.summary.operation(op.op).map_or(String::new(), dims),
        cells: cases.iter().map(cell).collect(),
    });
    let chart = Runs {
        sections: sections.collect(),
    };
    let plotted = operations.iter().flat_map(|(op, cases)| {
        cases.iter().map(
            |c| json!({"operation": op.op, "implementation": c.series.name, "rounds_us": c.rounds}),
        )
    });
    Ok(Figure {
        label: "Every sample",
        evidence: evidence(data, &[results::FILE]),
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: format!(
                "CUDA event span of each call in measured order, as a multiple of its case’s median, {}",
                data.gpu()
            ),
            notes: notes(data, &chart),
            source: source(data, &[results::FILE]),
            alternative: alternative(&operations),
        },
        table: table(data, &operations),
        plotted: Some(plotted.collect()),
        chart: Box::new(chart),
    })
}

fn cases<'a>(data: &'a Data, op: &'a OperationResults) -> Vec<Case<'a>> {
    let of = |series: &'a Series| {
        let rounds = op.rounds.iter();
        let rounds: Vec<&[f64]> = rounds
            .filter_map(|round| round.implementations.get(&series.name))
            .map(|case| case.samples_us.as_slice())
            .collect();
        let all: Vec<f64> = rounds.iter().flat_map(|r| r.iter().copied()).collect();
        Some(Case {
            series,
            median: stats::median(&all).ok()?,
            rounds,
        })
    };
    data.series.iter().filter_map(of).collect()
}

fn cell(case: &Case<'_>) -> Cell {
    // A round without samples has no median: it is not drawn.
    let rounds = case.rounds.iter().filter_map(|samples| {
        Some(Round {
            median: stats::median(samples).ok()? / case.median,
            samples: samples.iter().map(|us| us / case.median).collect(),
        })
    });
    Cell {
        label: case.series.short.clone(),
        shown: format!("{} µs", number::time(case.median)),
        ink: Ink::Hue(case.series.swatch.hue),
        rounds: rounds.collect(),
    }
}

fn notes(data: &Data, chart: &Runs) -> Vec<Note> {
    let rounds = number::plural(data.results.rounds.into(), "round", "rounds");
    let mut notes = vec![
        Note::new(format!(
            "One dot is one call; {rounds} of {} from left to right. A slope is drift, a step between rounds is what a round changes.",
            number::plural(data.results.iterations_per_round.into(), "call", "calls"),
        )),
        Note::marked(
            Mark::Line,
            "Median of the round. The number at the right is the median of all, 1× on a scale that all share.",
        ),
    ];
    let beyond = chart.beyond();
    if beyond > 0 {
        let scale = chart.scale();
        notes.push(Note::marked(
            Mark::Dart,
            format!(
                "Beyond the scale of {:.2}× to {:.2}×: {}. They count like all others.",
                scale.low,
                scale.high,
                number::plural(beyond as u64, "sample", "samples"),
            ),
        ));
    }
    notes.extend(unavailable(data));
    notes
}

fn alternative(operations: &[(&OperationResults, Vec<Case<'_>>)]) -> String {
    let sentences = operations.iter().map(|(op, cases)| {
        let parts = cases.iter().map(|case| {
            let (low, high) = case.range();
            format!(
                "{} has a median of {} µs, from {} to {} µs",
                escape::isolate(&case.series.label),
                number::time(case.median),
                number::time(low),
                number::time(high)
            )
        });
        let parts: Vec<String> = parts.collect();
        format!("{}: {}.", op.op.label(), parts.join("; "))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn table(data: &Data, operations: &[(&OperationResults, Vec<Case<'_>>)]) -> Table {
    let mut rows = Vec::new();
    for (op, cases) in operations {
        for case in cases {
            for (i, samples) in case.rounds.iter().enumerate() {
                // A round without samples has neither; its cells say so.
                let range = stats::range(samples).ok();
                let whole = |n: usize| table::Cell::Number(n as f64, n.to_string());
                rows.push(vec![
                    table::Cell::text(op.op.label()),
                    table::Cell::text(&case.series.label),
                    whole(i + 1),
                    whole(samples.len()),
                    time_cell(range.map(|(low, _)| low)),
                    time_cell(stats::median(samples).ok()),
                    time_cell(range.map(|(_, high)| high)),
                ]);
            }
        }
    }
    Table {
        caption: format!(
            "Event spans of each round on {}; the samples themselves are in the evidence",
            data.summary.gpu
        ),
        columns: vec![
            Column::text("Operation"),
            Column::text("Implementation"),
            Column::number("Round"),
            Column::number("Samples"),
            Column::time("Smallest"),
            Column::time("Median"),
            Column::time("Largest"),
        ],
        keys: 3,
        rows,
    }
}
