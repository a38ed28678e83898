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
use crate::number;
use crate::palette::Theme;
use crate::svg::Svg;
use crate::table::{Cell, Column, Table};
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

/// One row an implementation; the shortest times stand out.
fn time_rows(
    data: &Data,
    op: &OperationSummary,
    time: &dyn Fn(&CaseSummary) -> Option<Time>,
) -> Vec<Row> {
    let rows = data.series.iter().map(|series| {
        let found = op.implementations.get(&series.name).and_then(time);
        Row {
            label: series.short.clone(),
            swatch: series.swatch,
            value: found.map(|t| t.us),
            range: found.and_then(|t| t.range),
            shown: found.map_or("not measured".to_string(), |t| number::time(t.us)),
            strong: false,
        }
    });
    let mut rows: Vec<Row> = rows.collect();
    mark_shortest(&mut rows);
    rows
}

/// Sets the smallest values, as shown, in bold; nothing stands out where all are the same or alone.
fn mark_shortest(rows: &mut [Row]) {
    let values = || rows.iter().filter_map(|row| row.value);
    let least = values().fold(f64::INFINITY, f64::min);
    let shown = rows.iter().find(|row| row.value == Some(least));
    let Some(shown) = shown.map(|row| row.shown.clone()) else {
        return;
    };
    let others = rows
        .iter()
        .any(|row| row.value.is_some() && row.shown != shown);
    for row in rows {
        row.strong = others && row.value.is_some() && row.shown == shown;
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
fn alternative(data: &Data, what: &str, time: &dyn Fn(&CaseSummary) -> Option<Time>) -> String {
    let sentences = data.summary.operations.iter().filter_map(|op| {
        let mut found: Vec<(String, f64)> = data
            .series
            .iter()
            .filter_map(|s| {
                let case = op.implementations.get(&s.name)?;
                Some((escape::isolate(&s.label), time(case)?.us))
            })
            .collect();
        // Stable: equal times keep the order in which they are shown.
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        Some(format!(
            "{}: {}.",
            op.operation.label(),
            ranking(what, &found)?
        ))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

/// What a reader sees in one panel, in words; `found` is sorted.
fn ranking(what: &str, found: &[(String, f64)]) -> Option<String> {
    let least = number::time(found.first()?.1);
    let first = found.iter().filter(|(_, us)| number::time(*us) == least);
    let names: Vec<&str> = first.map(|(name, _)| name.as_str()).collect();
    let rest: Vec<String> = found[names.len()..]
        .iter()
        .map(|(name, us)| format!("{name} {} µs", number::time(*us)))
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
                .map(|s| op.implementations.get(&s.name).map_or(Cell::Missing, cell)),
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
            let Some(case) = op.implementations.get(&series.name) else {
                continue;
            };
            let mut row = vec![
                Cell::text(op.operation.label()),
                Cell::text(series.label.clone()),
            ];
            row.extend(cells(case));
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

fn own_scale(data: &Data) -> Note {
    let scale = "Each panel has its own scale, from zero. Shorter is better";
    Note::new(match data.series.len() {
        1 => format!("{scale}."),
        _ => format!("{scale}; the shortest is in bold."),
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
