//! Time inside the kernels of one call.

use super::{Figure, alternative, captures, has_capture_ranges, has_values, long_table, own_scale};
use super::{panel, rows_only, source, time_cell, time_rows, unavailable, wide_table};
use crate::chart::frame::Frame;
use crate::chart::panels::Panels;
use crate::chart::{Mark, Note};
use crate::data::Data;
use crate::table::Column;
use mage_evidence::diff::Quantity;
use mage_evidence::profiles;

pub(super) const NAME: &str = "kernel-time";
pub(super) const TITLE: &str = "Time inside the kernels";

/// Whether every case with captures has enough of them for an interval.
fn has_intervals(data: &Data) -> bool {
    let mut times = data
        .summary
        .operations
        .iter()
        .flat_map(|op| op.implementations.values())
        .filter_map(|case| case.kernel_time);
    times.all(|k| k.interval_us.is_some())
}

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let operations = data.summary.operations.iter();
    let panels: Vec<_> = operations
        .map(|op| panel(op, rows_only(time_rows(data, op, Quantity::KernelTime))))
        .collect();
    if !has_values(&panels) {
        return Err(super::NO_CAPTURES.to_string());
    }
    let ranges = has_capture_ranges(data);
    let mut notes = vec![
        Note::new(format!(
            "All kernels of a call added up, from {}. Gaps between kernels are not counted.",
            captures(data)
        )),
        own_scale(data, Quantity::KernelTime),
    ];
    if ranges {
        let text = "Range of the captures, not a confidence interval.";
        notes.push(Note::marked(Mark::Whisker, text));
    }
    notes.extend(unavailable(data));
    let caption = format!("Kernel time of one call on {}", data.summary.gpu);
    let table = if ranges {
        let intervals = has_intervals(data);
        let mut columns = vec![
            Column::time("Mean"),
            Column::time("Smallest capture"),
            Column::time("Largest capture"),
        ];
        if intervals {
            columns.push(Column::time("95% interval from"));
            columns.push(Column::time("95% interval to"));
        }
        columns.push(Column::number("Captures"));
        long_table(data, caption, columns, &|case| {
            let k = case.kernel_time;
            let mut cells = vec![
                time_cell(k.map(|k| k.mean_us)),
                time_cell(k.map(|k| k.min_us)),
                time_cell(k.map(|k| k.max_us)),
            ];
            if intervals {
                let interval = k.and_then(|k| k.interval_us);
                cells.push(time_cell(interval.map(|(low, _)| low)));
                cells.push(time_cell(interval.map(|(_, high)| high)));
            }
            cells.push(super::Cell::number(k.map(|k| k.captures as f64), |n| {
                n.to_string()
            }));
            cells
        })
    } else {
        wide_table(data, caption, Column::time, &|case| {
            time_cell(case.kernel_time.map(|k| k.mean_us))
        })
    };
    Ok(Figure {
        label: "Kernel time",
        evidence: super::evidence(data, &[profiles::FILE]),
        plotted: None,
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: format!("Kernel time of one call in microseconds, {}", data.gpu()),
            notes,
            source: source(data, &[profiles::FILE]),
            alternative: alternative(data, Quantity::KernelTime),
        },
        chart: Box::new(Panels {
            panels,
            blocks: false,
        }),
        table,
    })
}
