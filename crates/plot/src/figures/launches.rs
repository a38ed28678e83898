//! Kernel launches of one call.

use super::{Figure, has_values, nothing, panel, rows_only, source, unavailable, wide_table};
use crate::chart::frame::Frame;
use crate::chart::panels::Panels;
use crate::chart::{Note, Row};
use crate::data::Data;
use crate::table::{Cell, Column};
use crate::{escape, number};
use mage_evidence::profiles;
use mage_evidence::summary::{CaseSummary, OperationSummary};

pub(super) const NAME: &str = "launches";
pub(super) const TITLE: &str = "Kernel launches per call";

/// Above this many, single blocks are no longer counted at a glance.
const MOST_BLOCKS: f64 = 12.0;

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let operations = data.summary.operations.iter();
    let panels: Vec<_> = operations
        .map(|op| panel(op, rows_only(rows(data, op))))
        .collect();
    if !has_values(&panels) {
        return Err(super::NO_CAPTURES.to_string());
    }
    let most = panels.iter().map(|p| p.extent()).fold(0.0, f64::max);
    let blocks = most <= MOST_BLOCKS;
    let scale = match blocks {
        true => "One block is one launch.",
        false => "Each panel has its own scale, from zero.",
    };
    let mut notes = vec![
        Note::new(scale),
        Note::new("Captured launches divided by captured calls, always a whole number."),
    ];
    notes.extend(unavailable(data));
    let caption = format!("Kernel launches of one call on {}", data.summary.gpu);
    Ok(Figure {
        label: "Launches",
        evidence: super::evidence(data, &[profiles::FILE]),
        plotted: None,
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: format!("How many kernels one call starts, {}", data.gpu()),
            notes,
            source: source(data, &[profiles::FILE]),
            alternative: alternative(data),
        },
        chart: Box::new(Panels { panels, blocks }),
        table: wide_table(data, caption, Column::number, &|case| {
            Cell::number(launches(case), |n| number::whole(n as u64))
        }),
    })
}

fn launches(case: &CaseSummary) -> Option<f64> {
    case.kernel_time.map(|k| f64::from(k.launches))
}

fn rows(data: &Data, op: &OperationSummary) -> Vec<Row> {
    let rows = data.series.iter().map(|series| {
        let value = op.implementations.get(&series.name).and_then(launches);
        Row {
            label: series.short.clone(),
            swatch: series.swatch,
            value,
            range: None,
            shown: match value {
                Some(n) => number::whole(n as u64),
                None => nothing(data, op.operation, &series.name),
            },
            strong: false,
        }
    });
    rows.collect()
}

fn alternative(data: &Data) -> String {
    let sentences = data.summary.operations.iter().filter_map(|op| {
        let parts: Vec<String> = data
            .series
            .iter()
            .filter_map(|s| {
                let n = launches(op.implementations.get(&s.name)?)?;
                Some(format!(
                    "{} {}",
                    escape::isolate(&s.label),
                    number::whole(n as u64)
                ))
            })
            .collect();
        let label = op.operation.label();
        (!parts.is_empty()).then(|| format!("{label}: {}.", parts.join(", ")))
    });
    let sentences: Vec<String> = sentences.collect();
    format!("Launches per call. {}", sentences.join(" "))
}
