//! Time inside the kernels above time around the call, on one scale an operation.

use super::{Figure, has_capture_ranges, has_values, long_table, panel, source, time_cell};
use super::{time_rows, unavailable};
use crate::chart::frame::Frame;
use crate::chart::matrix::Matrix;
use crate::chart::{Group, Mark, Note};
use crate::data::Data;
use crate::table::Column;
use crate::{escape, level, number};
use mage_evidence::diff::Quantity;
use mage_evidence::{profiles, results};

pub(super) const NAME: &str = "both-views";
pub(super) const TITLE: &str = "Inside the kernels and around the call";

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let operations = data.summary.operations.iter();
    let panels: Vec<_> = operations
        .map(|op| {
            let inside = Group {
                heading: Some("Inside the kernels".to_string()),
                rows: time_rows(data, op, Quantity::KernelTime),
            };
            let around = Group {
                heading: Some("Around the call".to_string()),
                rows: time_rows(data, op, Quantity::EventSpan),
            };
            panel(op, vec![inside, around])
        })
        .collect();
    let inside = data
        .summary
        .operations
        .iter()
        .flat_map(|op| op.implementations.values());
    if inside.clone().all(|case| case.kernel_time.is_none()) {
        return Err(super::NO_CAPTURES.to_string());
    }
    if !has_values(&panels) {
        return Err("the namespace has no times".to_string());
    }
    let mut notes = vec![
        Note::new(format!(
            "Each operation has its own scale, from zero, for both views. Shorter is better; in bold: the \
             shortest of a view, and what is level with it, within {} inside the kernels and {} around the call.",
            number::share(level::bound(data, Quantity::KernelTime)),
            number::share(level::bound(data, Quantity::EventSpan)),
        )),
        Note::new("The two views are two runs: one is never subtracted from the other."),
    ];
    if let Some(note) = whiskers(data) {
        notes.push(Note::marked(Mark::Whisker, note));
    }
    notes.extend(unavailable(data));
    let caption = format!(
        "Kernel time and event span of one call on {}",
        data.summary.gpu
    );
    let columns = vec![Column::time("Kernel time"), Column::time("Event span")];
    Ok(Figure {
        label: "Both times",
        evidence: super::evidence(data, &[profiles::FILE, results::FILE]),
        plotted: None,
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: format!("Microseconds a call, {}", data.gpu()),
            notes,
            source: source(data, &[profiles::FILE, results::FILE]),
            alternative: alternative(data),
        },
        chart: Box::new(Matrix { panels }),
        table: long_table(data, caption, columns, &|case| {
            vec![
                time_cell(case.kernel_time.map(|k| k.mean_us)),
                time_cell(case.event.map(|e| e.mean_us)),
            ]
        }),
    })
}

fn whiskers(data: &Data) -> Option<String> {
    let rounds = data.results.rounds;
    let of_rounds = (rounds > 1).then(|| format!("the {rounds} round means"));
    let of_captures = has_capture_ranges(data).then(|| "the captures".to_string());
    let of: Vec<String> = of_captures.into_iter().chain(of_rounds).collect();
    (!of.is_empty()).then(|| format!("Range of {}, not a confidence interval.", of.join(" or ")))
}

fn alternative(data: &Data) -> String {
    let sentences = data.summary.operations.iter().map(|op| {
        let parts = data.series.iter().filter_map(|series| {
            let case = op.implementations.get(&series.name)?;
            let shown = |us: Option<f64>| {
                us.map_or("not measured".to_string(), |us| {
                    format!("{} µs", number::time(us))
                })
            };
            Some(format!(
                "{} {} inside the kernels and {} around the call",
                escape::isolate(&series.label),
                shown(case.kernel_time.map(|k| k.mean_us)),
                shown(case.event.map(|e| e.mean_us))
            ))
        });
        let parts: Vec<String> = parts.collect();
        format!("{}: {}.", op.operation.label(), parts.join("; "))
    });
    sentences.collect::<Vec<_>>().join(" ")
}
