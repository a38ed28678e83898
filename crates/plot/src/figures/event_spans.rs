//! Time around one call, from event to event.

use super::{Figure, alternative, has_values, long_table, own_scale, panel};
use super::{rows_only, source, time_cell, time_rows, unavailable};
use crate::chart::frame::Frame;
use crate::chart::panels::Panels;
use crate::chart::{Mark, Note};
use crate::data::Data;
use crate::number;
use crate::table::Column;
use mage_evidence::diff::Quantity;
use mage_evidence::results;

pub(super) const NAME: &str = "event-spans";
pub(super) const TITLE: &str = "Time around the call";

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let operations = data.summary.operations.iter();
    let panels: Vec<_> = operations
        .map(|op| panel(op, rows_only(time_rows(data, op, Quantity::EventSpan))))
        .collect();
    if !has_values(&panels) {
        return Err("the namespace has no event spans".to_string());
    }
    Ok(Figure {
        label: "Event span",
        evidence: super::evidence(data, &[results::FILE]),
        plotted: None,
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: format!(
                "CUDA event span of one call in microseconds, {}",
                data.gpu()
            ),
            notes: notes(data),
            source: source(data, &[results::FILE]),
            alternative: alternative(data, Quantity::EventSpan),
        },
        chart: Box::new(Panels {
            panels,
            blocks: false,
        }),
        table: table(data),
    })
}

fn notes(data: &Data) -> Vec<Note> {
    let results = &data.results;
    let samples = u64::from(results.rounds) * u64::from(results.iterations_per_round);
    let mut notes = vec![
        Note::new(format!(
            "Mean of {} in {}. A span can include gaps while the host submits work.",
            number::plural(samples, "warmed call", "warmed calls"),
            number::plural(results.rounds.into(), "round", "rounds"),
        )),
        own_scale(data, Quantity::EventSpan),
    ];
    if results.rounds > 1 {
        let text = format!(
            "Range of the {} round means, not a confidence interval.",
            results.rounds
        );
        notes.push(Note::marked(Mark::Whisker, text));
    }
    notes.extend(unavailable(data));
    notes
}

fn table(data: &Data) -> super::Table {
    let caption = format!("Event span of one call on {}", data.summary.gpu);
    let mut columns = vec![Column::time("Mean"), Column::time("Median")];
    let ranges = data.results.rounds > 1;
    if ranges {
        columns.push(Column::time("Smallest round mean"));
        columns.push(Column::time("Largest round mean"));
    }
    long_table(data, caption, columns, &|case| {
        let e = case.event;
        let mut cells = vec![
            time_cell(e.map(|e| e.mean_us)),
            time_cell(e.and_then(|e| e.median_us)),
        ];
        if ranges {
            cells.push(time_cell(e.map(|e| e.min_us)));
            cells.push(time_cell(e.map(|e| e.max_us)));
        }
        cells
    })
}
