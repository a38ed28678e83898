//! What changed since the baseline, and what moved: causes before effects.

use super::{Block, to, top};
use crate::data::Data;
use crate::number;
use crate::page_directory;
use crate::table::{Cell, Column, Table};
use mage_evidence::diff::{Diff, Effect, Quantity, Row};
use mage_evidence::implementation;
use mage_evidence::stats::percent;
use mage_evidence::verdict::{KERNEL_TIME_EFFECT, SPAN_EFFECT};
use std::path::Path;

pub(super) fn blocks<'a>(data: &'a Data, blocks: &mut Vec<Block<'a>>) {
    let (Ok(diff), Ok(baseline)) = (&data.diff, &data.baseline) else {
        return;
    };
    let baseline = &baseline.namespace;
    blocks.push(Block::Heading(format!("What changed since {baseline}")));
    blocks.push(Block::Prose(
        format!("A is {baseline}; B is {}.", data.namespace).into(),
    ));
    let lines = diff.causes.lines();
    // Files are named by their paths, and there are many: a line opens them.
    let (files, changed) = lines.changed.into_iter().partition(|line| {
        let mut groups = diff.causes.files.iter();
        groups.any(|group| line.starts_with(&format!("{}: ", group.what)))
    });
    for (title, lines, open) in [
        ("Changed", changed, true),
        ("Files that changed", files, false),
        ("The same in both", lines.same, false),
        ("Recorded by one side alone", lines.silent, false),
    ] {
        let lines: Vec<String> = lines
            .iter()
            .map(|l: &String| l.replace(" -> ", " → "))
            .collect();
        if !lines.is_empty() {
            blocks.push(Block::List { title, lines, open });
        }
    }
    blocks.push(Block::Heading("What moved".to_string()));
    blocks.push(Block::Prose(in_all(data, diff).into()));
    for quantity in Quantity::ALL {
        let label = number::capital(quantity.label());
        let summary = format!("{label}, {baseline} to {}", data.namespace);
        blocks.push(Block::Table(
            summary,
            table(diff, quantity, baseline, &data.namespace),
        ));
    }
}

/// Verdicts counted, and what they were judged against.
fn in_all(data: &Data, diff: &Diff) -> String {
    let counts = diff.counts();
    let all: usize = counts.values().sum();
    let parts: Vec<String> = counts
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let mut text = format!(
        "Of {all} comparisons of a time with the baseline’s: {}. Margin {}%.",
        parts.join(", "),
        diff.margin * 100.0
    );
    for (quantity, floor) in &diff.floors {
        let share = |log: f64| number::share(percent(log) / 100.0);
        text += &format!(
            "\n\n{}: {} controls, cases whose code is the same in both, moved by up to {}. From their scatter, a difference up to \
             {} is noise between these two runs, whatever the case; a row is judged by the controls of its own \
             implementation where there are enough.{}",
            number::capital(quantity.label()),
            floor.controls,
            share(floor.largest),
            share(floor.log),
            calibrated(data, diff, *quantity)
        );
    }
    let quantity = Quantity::KernelTime;
    if diff.by_calibration(quantity) {
        text += &format!(
            "\n\n{}: where too few other cases run the same code in both, what is noise is taken from the {}: the start of a process moves the same code by up to {}.",
            number::capital(quantity.label()),
            calibration(data),
            number::share(KERNEL_TIME_EFFECT)
        );
    }
    text
}

/// The word for the calibration, with a link to its page where that is there.
pub(super) fn calibration(data: &Data) -> String {
    let directory = Path::new("docs/calibration");
    let page = data.related.iter().find(|r| r.path.starts_with(directory));
    page.map_or("calibration".to_string(), |page| {
        let top = top(&page_directory(&data.namespace));
        format!("[calibration]({})", to(&top, &page.markdown()))
    })
}

/// What the calibration adds to the noise of these two runs, and for which comparisons.
fn calibrated(data: &Data, diff: &Diff, quantity: Quantity) -> String {
    let (effect, what) = match quantity {
        Quantity::EventSpan => (SPAN_EFFECT, "sessions"),
        Quantity::KernelTime => (KERNEL_TIME_EFFECT, "single captures"),
    };
    let single = |row: &Row| {
        let ratio = row
            .effect(quantity)
            .and_then(|effect| effect.ratio.as_ref());
        ratio.is_some_and(|ratio| ratio.half.is_err())
    };
    if quantity == Quantity::KernelTime && !diff.rows.iter().any(single) {
        return String::new();
    }
    format!(
        " Below {} no winner is named in any case: so far apart were two {what} of one kernel in the {}, in all but a few pairs.",
        number::share(effect),
        calibration(data)
    )
}

fn table(diff: &Diff, quantity: Quantity, a: &str, b: &str) -> Table {
    let rows = diff.rows.iter().filter_map(|row| {
        let effect = row.effect(quantity)?;
        Some(cells(row, effect))
    });
    Table {
        caption: format!(
            "{} of one call, {a} to {b}",
            number::capital(quantity.label())
        ),
        columns: vec![
            Column::text("Operation"),
            Column::text("Implementation"),
            Column::text("Code"),
            Column::time(a),
            Column::time(b),
            Column {
                unit: Some("%"),
                ..Column::number("Change")
            },
            Column {
                unit: Some("%"),
                ..Column::number("95% interval")
            },
            Column::text("Verdict"),
        ],
        keys: 2,
        rows: rows.collect(),
    }
}

fn cells(row: &Row, effect: &Effect) -> Vec<Cell> {
    let sign = |log: f64| {
        let shown = number::percent(percent(log));
        shown.trim_end_matches('%').to_string()
    };
    let change = effect.ratio.as_ref().map(|ratio| ratio.log);
    vec![
        Cell::text(row.operation.label()),
        Cell::text(implementation::label(&row.implementation)),
        Cell::text(row.standing.status.word()),
        Cell::number(effect.a, number::time),
        Cell::number(effect.b, number::time),
        change.map_or(Cell::Missing, |log| Cell::Number(percent(log), sign(log))),
        effect.interval.as_ref().map_or(Cell::Missing, |i| {
            Cell::text(format!("{} to {}", sign(i.low), sign(i.high)))
        }),
        Cell::text(effect.verdict.to_string()),
    ]
}
