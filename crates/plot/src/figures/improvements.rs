//! Rust before and after, beside the other implementations of the new session.

use super::{Figure, kernel_time_of, panel, rows_only, source, time_cell, time_rows, unavailable};
use crate::chart::frame::Frame;
use crate::chart::panels::Panels;
use crate::chart::{Mark, Note, Panel, Row};
use crate::data::Data;
use crate::number;
use crate::palette;
use crate::table::{Cell, Column, Table};
use mage_evidence::diff::Quantity;
use mage_evidence::profiles;
use mage_evidence::summary::{CaseSummary, OperationSummary, Summary};

pub(super) const NAME: &str = "improvements";
pub(super) const TITLE: &str = "Rust before and after";

const RUST: &str = "rust";

/// What happened to an operation's Rust kernel between the two namespaces.
struct Change<'a> {
    op: &'a OperationSummary,
    before: f64,
    after: f64,
    kernel_before: Option<&'a str>,
    kernel_after: Option<&'a str>,
    /// Whether the same object ran; `None` where the evidence does not say.
    control: Option<bool>,
}

impl Change<'_> {
    fn percent(&self) -> f64 {
        number::change(self.before, self.after)
    }

    fn status(&self) -> Option<&'static str> {
        self.control
            .map(|same| if same { "control" } else { "rewritten" })
    }
}

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let baseline = data.baseline.as_ref().map_err(Clone::clone)?;
    let place = data.series.iter().position(|s| s.name == RUST);
    let place = place.ok_or("the namespace has no Rust implementation")?;
    let changes: Vec<Change<'_>> = data
        .summary
        .operations
        .iter()
        .filter_map(|op| change(op, baseline))
        .collect();
    if changes.is_empty() {
        return Err(format!(
            "no operation has a Rust kernel time both here and in {}",
            baseline.namespace
        ));
    }
    let panels = changes
        .iter()
        .map(|c| panel_of(data, baseline, place, c))
        .collect();
    Ok(Figure {
        label: "Before and after",
        evidence: super::evidence(data, &[profiles::FILE]),
        plotted: None,
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: format!(
                "Kernel time of one call in microseconds, {} to {}, {}",
                baseline.namespace,
                data.namespace,
                data.gpu()
            ),
            notes: notes(data, baseline, place, &changes),
            source: source(data, &[profiles::FILE]) + ", and of " + &baseline.namespace,
            alternative: alternative(baseline, &changes),
        },
        chart: Box::new(Panels {
            panels,
            blocks: false,
        }),
        table: table(data, baseline, &changes),
    })
}

fn change<'a>(op: &'a OperationSummary, baseline: &'a Summary) -> Option<Change<'a>> {
    let after = op.implementations.get(RUST)?;
    let before = baseline.operation(op.operation)?;
    // Times of other shapes do not compare.
    if before.dims != op.dims {
        return None;
    }
    let before = before.implementations.get(RUST)?;
    let control = after.same_kernel(before);
    let us = |case: &CaseSummary| case.kernel_time.map(|k| k.mean_us);
    Some(Change {
        op,
        before: us(before)?,
        after: us(after)?,
        kernel_before: before.kernel.as_deref(),
        kernel_after: after.kernel.as_deref(),
        control,
    })
}

/// Rust before and after, then the others in their order; `place` is Rust's among the series.
fn panel_of(data: &Data, baseline: &Summary, place: usize, change: &Change<'_>) -> Panel {
    let mut rows = time_rows(data, change.op, Quantity::KernelTime);
    let after = rows.remove(place);
    let before = baseline.case(change.op.operation, RUST);
    let before = Row {
        label: "Rust before".to_string(),
        swatch: palette::earlier(after.swatch),
        value: Some(change.before),
        range: before.and_then(kernel_time_of).and_then(|t| t.range),
        shown: number::time(change.before),
        strong: false,
    };
    let after = Row {
        label: "Rust after".to_string(),
        ..after
    };
    rows.splice(0..0, [before, after]);
    for row in &mut rows {
        row.strong = false;
    }
    let percent = number::percent(change.percent());
    let tag = match change.control {
        Some(true) => (format!("control: {percent}"), false),
        _ => (percent, true),
    };
    Panel {
        tag: Some(tag),
        ..panel(change.op, rows_only(rows))
    }
}

fn notes(data: &Data, baseline: &Summary, place: usize, changes: &[Change<'_>]) -> Vec<Note> {
    let swatch = data.series[place].swatch;
    let mut notes = vec![
        Note::marked(
            Mark::Bar(palette::earlier(swatch)),
            format!("Rust in the earlier session, {}.", baseline.namespace),
        ),
        Note::marked(
            Mark::Bar(swatch),
            format!("Rust in {}, the session of all other bars.", data.namespace),
        ),
    ];
    if changes.iter().any(|c| c.control == Some(true)) {
        notes.push(Note::new(
            "A control ran the same kernel in both sessions: its change is what the measurement \
             cannot resolve.",
        ));
    }
    notes.push(Note::new(
        "Each panel has its own scale, from zero. Shorter is better.",
    ));
    let ranges = |s: &Summary| {
        let mut cases = s
            .operations
            .iter()
            .flat_map(|op| op.implementations.values());
        cases.any(|case| case.kernel_time.is_some_and(|k| k.captures > 1))
    };
    if ranges(&data.summary) || ranges(baseline) {
        let text = "Range of the captures, not a confidence interval.";
        notes.push(Note::marked(Mark::Whisker, text));
    }
    notes.extend(unavailable(data));
    notes
}

fn alternative(baseline: &Summary, changes: &[Change<'_>]) -> String {
    let sentences = changes.iter().map(|c| {
        let status = c.status().map_or(String::new(), |s| format!(" ({s})"));
        format!(
            "{}{status}: {} to {} µs, {}.",
            c.op.operation.label(),
            number::time(c.before),
            number::time(c.after),
            number::percent(c.percent())
        )
    });
    let sentences: Vec<String> = sentences.collect();
    format!(
        "Kernel time of Rust from {} to here. {}",
        baseline.namespace,
        sentences.join(" ")
    )
}

fn table(data: &Data, baseline: &Summary, changes: &[Change<'_>]) -> Table {
    let others: Vec<_> = data.series.iter().filter(|s| s.name != RUST).collect();
    let mut columns = vec![
        Column::text("Operation"),
        Column::time("Rust before"),
        Column::time("Rust after"),
        Column {
            unit: Some("%"),
            ..Column::number("Change")
        },
    ];
    columns.extend(others.iter().map(|s| Column::time(s.label.clone())));
    columns.extend(["Kernel before", "Kernel after", "Status"].map(Column::text));
    let word = |text: Option<&str>| text.map_or(Cell::Missing, Cell::text);
    let rows = changes.iter().map(|c| {
        let mut row = vec![
            Cell::text(c.op.operation.label()),
            time_cell(Some(c.before)),
            time_cell(Some(c.after)),
            Cell::number(Some(c.percent()), |v| {
                number::percent(v).trim_end_matches('%').to_string()
            }),
        ];
        row.extend(others.iter().map(|s| {
            let case = c.op.implementations.get(&s.name);
            time_cell(case.and_then(|case| case.kernel_time).map(|k| k.mean_us))
        }));
        row.extend([
            word(c.kernel_before),
            word(c.kernel_after),
            word(c.status()),
        ]);
        row
    });
    Table {
        caption: format!(
            "Kernel time of one call, {} to {}, on {}",
            baseline.namespace, data.namespace, data.summary.gpu
        ),
        columns,
        keys: 1,
        rows: rows.collect(),
    }
}
