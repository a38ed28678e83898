//! The figures of a namespace, one a file.

mod both_views;
mod event_spans;
mod improvements;
mod kernel_time;
mod ladder;
mod launches;
mod note_and_here;
mod reads;
mod roofline;
mod samples;

use crate::chart::frame::Frame;
use crate::chart::{Chart, Group, Layout, Note, Panel, Row};
use crate::data::{Data, NO_CAPTURES, results_directory};
use crate::escape;
use crate::font::Fonts;
use crate::level;
use crate::number;
use crate::palette::Theme;
use crate::svg::Svg;
use crate::table::{Cell, Column, Table};
use crate::words;
use mage_evidence::diff::Quantity;
use mage_evidence::operation::Operation;
use mage_evidence::summary::{CaseSummary, OperationSummary};
use serde_json::Value;
use std::path::PathBuf;

/// A figure with its words and its table.
pub struct Figure {
    /// Its name in a row of tabs.
    pub label: &'static str,
    /// The files that its numbers come from, below the root.
    pub evidence: Vec<PathBuf>,
    /// What stands around the chart.
    pub frame: Frame,
    /// The chart.
    pub chart: Box<dyn Chart>,
    /// The same numbers.
    pub table: Table,
    /// What is plotted beyond the table's numbers, for machines.
    pub plotted: Option<Value>,
}

impl Figure {
    /// File name without its ending.
    pub fn name(&self) -> &'static str {
        self.frame.name
    }

    /// The figure as SVG.
    pub fn svg(&self, fonts: &Fonts, layout: Layout, theme: Theme) -> Svg {
        self.frame.draw(fonts, self.chart.as_ref(), layout, theme)
    }
}

/// A figure that a namespace does not have, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// File name without its ending.
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// Why it is not there.
    pub reason: String,
}

type Drawing = fn(&Data) -> Result<Figure, String>;

/// Name, title and drawing of every figure, in order.
const ALL: [(&str, &str, Drawing); 10] = [
    (kernel_time::NAME, kernel_time::TITLE, kernel_time::draw),
    (event_spans::NAME, event_spans::TITLE, event_spans::draw),
    (launches::NAME, launches::TITLE, launches::draw),
    (both_views::NAME, both_views::TITLE, both_views::draw),
    (samples::NAME, samples::TITLE, samples::draw),
    (improvements::NAME, improvements::TITLE, improvements::draw),
    (
        note_and_here::NAME,
        note_and_here::TITLE,
        note_and_here::draw,
    ),
    (ladder::NAME, ladder::TITLE, ladder::draw),
    (roofline::NAME, roofline::TITLE, roofline::draw),
    (reads::NAME, reads::TITLE, reads::draw),
];

/// One figure an operation of the ladder, with every variant, for the ladder's own page; none without a ladder.
pub fn ladders(data: &Data) -> Vec<Figure> {
    let measured = data.ladder.iter();
    measured
        .flat_map(|ladder| {
            ladder
                .operations
                .iter()
                .map(|op| ladder::of_one(data, ladder, op))
        })
        .collect()
}

/// Every figure of a namespace, and those that it does not have.
pub fn all(data: &Data) -> (Vec<Figure>, Vec<LeftOut>) {
    let mut figures = Vec::new();
    let mut left_out = Vec::new();
    for (name, title, draw) in ALL {
        match draw(data) {
            Ok(figure) => figures.push(figure),
            Err(reason) => left_out.push(LeftOut {
                name,
                title: title.to_string(),
                reason,
            }),
        }
    }
    (figures, left_out)
}

/// A time and its interval, where it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Time {
    us: f64,
    range: Option<(f64, f64)>,
}

/// Kernel time; several captures give it an interval.
fn kernel_time_of(case: &CaseSummary) -> Option<Time> {
    case.kernel_time.map(|k| Time {
        us: k.mean_us,
        range: (k.captures > 1).then_some((k.min_us, k.max_us)),
    })
}

/// Event span; several rounds give it an interval.
fn event_span_of(data: &Data, case: &CaseSummary) -> Option<Time> {
    case.event.map(|e| Time {
        us: e.mean_us,
        range: (data.results.rounds > 1).then_some((e.min_us, e.max_us)),
    })
}

/// `rows 4096, width 768`.
fn dims(op: &OperationSummary) -> String {
    let names = op.operation.dim_names().iter();
    let parts: Vec<String> = names
        .zip(&op.dims)
        .map(|(name, dim)| format!("{name} {dim}"))
        .collect();
    parts.join(", ")
}

/// A time of a case.
fn time_of(data: &Data, case: &CaseSummary, quantity: Quantity) -> Option<Time> {
    match quantity {
        Quantity::KernelTime => kernel_time_of(case),
        Quantity::EventSpan => event_span_of(data, case),
    }
}

/// One row an implementation; the shortest times stand out.
fn time_rows(data: &Data, op: &OperationSummary, quantity: Quantity) -> Vec<Row> {
    let rows = data.series.iter().map(|series| {
        let case = op.implementations.get(&series.name);
        let found = case.and_then(|case| time_of(data, case, quantity));
        Row {
            label: series.short.clone(),
            swatch: series.swatch,
            value: found.map(|t| t.us),
            range: found.and_then(|t| t.range),
            shown: match found {
                Some(time) => number::time(time.us),
                None => nothing(data, op.operation, &series.name),
            },
            strong: false,
        }
    });
    let mut rows: Vec<Row> = rows.collect();
    mark_shortest(&mut rows, level::bound(data, quantity));
    rows
}

/// Stands in the place of a value that is not there.
fn nothing(data: &Data, operation: Operation, implementation: &str) -> String {
    match data.reason(operation, implementation) {
        Some(_) => UNAVAILABLE.to_string(),
        None => "not measured".to_string(),
    }
}

/// Stands where an implementation does not run an operation; the reason is told beside it.
const UNAVAILABLE: &str = "unavailable";

/// One note a reason why something does not run here. Long reasons are told whole on the page.
fn unavailable(data: &Data) -> impl Iterator<Item = Note> {
    const MOST: usize = 160;
    data.unavailable().into_iter().map(|u| {
        Note::new(format!(
            "{} is unavailable for {} (“{}”).",
            u.implementation,
            u.of(),
            words::beginning(u.reason.trim_end_matches('.'), MOST)
        ))
    })
}

/// Sets the smallest value in bold and all that are level with it; nothing stands out where all are.
fn mark_shortest(rows: &mut [Row], bound: f64) {
    let values = || rows.iter().filter_map(|row| row.value);
    let least = values().fold(f64::INFINITY, f64::min);
    if values().all(|us| level::is_level(us, least, bound)) {
        return;
    }
    for row in rows {
        row.strong = row
            .value
            .is_some_and(|us| level::is_level(us, least, bound));
    }
}

fn panel(op: &OperationSummary, groups: Vec<Group>) -> Panel {
    Panel {
        title: op.operation.label().to_string(),
        note: dims(op),
        tag: None,
        groups,
    }
}

fn rows_only(rows: Vec<Row>) -> Vec<Group> {
    vec![Group {
        heading: None,
        rows,
    }]
}

fn has_values(panels: &[Panel]) -> bool {
    panels
        .iter()
        .flat_map(Panel::rows)
        .any(|row| row.value.is_some())
}

/// One sentence an operation: `LayerNorm: Triton has the shortest kernel time, 8.1 µs; ...`.
fn alternative(data: &Data, quantity: Quantity) -> String {
    let bound = level::bound(data, quantity);
    let sentences = data.summary.operations.iter().filter_map(|op| {
        let mut found: Vec<(String, f64)> = data
            .series
            .iter()
            .filter_map(|s| {
                let case = op.implementations.get(&s.name)?;
                let us = level::mean_us(case, quantity)?;
                Some((escape::isolate(&s.label), us))
            })
            .collect();
        // Stable: equal times keep the order in which they are shown.
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        Some(format!(
            "{}: {}.",
            op.operation.label(),
            ranking(quantity.label(), &found, bound)?
        ))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

/// What a reader sees in one panel, in words; `found` is sorted.
fn ranking(what: &str, found: &[(String, f64)], bound: f64) -> Option<String> {
    let shortest = found.first()?.1;
    let least = number::time(shortest);
    let first = found.iter().filter(|(_, us)| number::time(*us) == least);
    let names: Vec<&str> = first.map(|(name, _)| name.as_str()).collect();
    let rest: Vec<String> = found[names.len()..]
        .iter()
        .map(|(name, us)| {
            let level = match level::is_level(*us, shortest, bound) {
                true => " (level)",
                false => "",
            };
            format!("{name} {} µs{level}", number::time(*us))
        })
        .collect();
    Some(match (names.as_slice(), rest.is_empty()) {
        ([only], true) => format!("{only} has a {what} of {least} µs"),
        (all, true) => format!("{} have the same {what}, {least} µs", all.join(" and ")),
        ([one], false) => format!(
            "{one} has the shortest {what}, {least} µs; {}",
            rest.join(", ")
        ),
        (all, false) => format!(
            "{} have the shortest {what}, {least} µs; {}",
            all.join(" and "),
            rest.join(", ")
        ),
    })
}

/// Values by operation (rows) and implementation (columns).
fn wide_table(
    data: &Data,
    caption: String,
    column: fn(String) -> Column,
    cell: &dyn Fn(&CaseSummary) -> Cell,
) -> Table {
    let mut columns = vec![Column::text("Operation")];
    columns.extend(data.series.iter().map(|s| column(s.label.clone())));
    let rows = data.summary.operations.iter().map(|op| {
        let mut row = vec![Cell::text(op.operation.label())];
        row.extend(
            data.series
                .iter()
                .map(|s| match op.implementations.get(&s.name) {
                    Some(case) => cell(case),
                    None => absent(data, op.operation, &s.name),
                }),
        );
        row
    });
    Table {
        caption,
        columns,
        keys: 1,
        rows: rows.collect(),
    }
}

/// One row a case.
fn long_table(
    data: &Data,
    caption: String,
    columns: Vec<Column>,
    cells: &dyn Fn(&CaseSummary) -> Vec<Cell>,
) -> Table {
    let mut all = vec![Column::text("Operation"), Column::text("Implementation")];
    all.extend(columns);
    let mut rows = Vec::new();
    for op in &data.summary.operations {
        for series in &data.series {
            let mut row = vec![
                Cell::text(op.operation.label()),
                Cell::text(series.label.clone()),
            ];
            match op.implementations.get(&series.name) {
                Some(case) => row.extend(cells(case)),
                None => {
                    row.push(absent(data, op.operation, &series.name));
                    row.resize(all.len(), Cell::Missing);
                }
            }
            rows.push(row);
        }
    }
    Table {
        caption,
        columns: all,
        keys: 2,
        rows,
    }
}

/// The cell of a case that is not there.
fn absent(data: &Data, operation: Operation, implementation: &str) -> Cell {
    match data.reason(operation, implementation) {
        Some(_) => Cell::Absent(UNAVAILABLE),
        None => Cell::Missing,
    }
}

fn time_cell(us: Option<f64>) -> Cell {
    Cell::number(us, number::time)
}

/// `mage-002 · measured 2025-11-29 · docs/assets/results/mage-002/comparison-results.json`.
fn source(data: &Data, files: &[&str]) -> String {
    let directory = results_directory(&data.namespace);
    let date = data.results.utc.get(..10).unwrap_or(&data.results.utc);
    format!(
        "{} · measured {date} · evidence: {}/{}",
        data.namespace,
        directory.display(),
        files.join(", ")
    )
}

/// Paths of the namespace's files of evidence.
fn evidence(data: &Data, files: &[&str]) -> Vec<PathBuf> {
    let directory = results_directory(&data.namespace);
    files.iter().map(|file| directory.join(file)).collect()
}

fn own_scale(data: &Data, quantity: Quantity) -> Note {
    let scale = "Each panel has its own scale, from zero. Shorter is better";
    Note::new(match data.series.len() {
        1 => format!("{scale}."),
        _ => format!(
            "{scale}; in bold: the shortest, and what is within {} of it, which is level.",
            number::share(level::bound(data, quantity))
        ),
    })
}

/// `one Nsight Systems capture of 100 calls a case`, from what is there.
fn captures(data: &Data) -> String {
    let Some(profiles) = &data.profiles else {
        return String::new();
    };
    let counts = captures_a_case(data);
    let calls: Vec<u64> = profiles
        .captures
        .iter()
        .map(|c| u64::from(c.requested_iterations))
        .collect();
    format!(
        "{} of {}",
        between(&counts, "capture", "captures"),
        between(&calls, "call", "calls")
    )
}

/// Number of captures of each case that has any.
pub(crate) fn captures_a_case(data: &Data) -> Vec<u64> {
    let cases = data
        .summary
        .operations
        .iter()
        .flat_map(|op| op.implementations.values());
    cases
        .filter_map(|case| case.kernel_time.map(|k| k.captures as u64))
        .collect()
}

/// `3 captures`, or `1 to 3 captures` where they differ.
pub(crate) fn between(counts: &[u64], one: &str, many: &str) -> String {
    let low = counts.iter().copied().min().unwrap_or(0);
    let high = counts.iter().copied().max().unwrap_or(0);
    match low == high {
        true => number::plural(high, one, many),
        false => format!(
            "{} to {}",
            number::whole(low),
            number::plural(high, one, many)
        ),
    }
}

fn has_capture_ranges(data: &Data) -> bool {
    let mut cases = data
        .summary
        .operations
        .iter()
        .flat_map(|op| op.implementations.values());
    cases.any(|case| case.kernel_time.is_some_and(|k| k.captures > 1))
}
