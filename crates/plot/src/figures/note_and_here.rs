//! The published GPU beside this one, as ratios to PyTorch within each.

use super::{Figure, source};
use crate::chart::dumbbells::{Dumbbells, Pair, Section};
use crate::chart::frame::Frame;
use crate::chart::{Mark, Note};
use crate::data::{Data, Series, short_gpu};
use crate::palette::Ink;
use crate::table::{Cell, Column, Table};
use crate::{escape, number};
use mage_evidence::operation::Operation;
use mage_evidence::profiles;
use mage_evidence::summary::Summary;

pub(super) const NAME: &str = "note-and-here";
pub(super) const TITLE: &str = "The published run and this one";

/// What 1 is.
const REFERENCE: &str = "python";

struct Ratio<'a> {
    series: &'a Series,
    note: f64,
    here: f64,
}

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let published = data.published.as_ref().map_err(Clone::clone)?;
    let reference = data
        .series(REFERENCE)
        .ok_or("the namespace has no PyTorch to compare with")?;
    let rows: Vec<(Operation, Vec<Ratio<'_>>)> = data
        .summary
        .operations
        .iter()
        .map(|op| (op.operation, ratios(data, published, op.operation)))
        .filter(|(_, ratios)| !ratios.is_empty())
        .collect();
    if rows.is_empty() {
        return Err("no kernel time is both here and among the published values".to_string());
    }
    let (there, here) = (short_gpu(&published.gpu), short_gpu(&data.summary.gpu));
    let sections = rows.iter().map(|(operation, ratios)| Section {
        title: operation.label().to_string(),
        rows: ratios.iter().map(pair).collect(),
    });
    Ok(Figure {
        label: "The note and here",
        evidence: super::evidence(data, &[profiles::FILE]),
        plotted: None,
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: format!(
                "Kernel time as a multiple of {}’s on the same GPU, {there} and {here}",
                reference.label
            ),
            notes: vec![
                Note::marked(
                    Mark::Dot(true),
                    format!("{there}, published values of {}.", published.namespace),
                ),
                Note::marked(Mark::Dot(false), format!("{here}, measured here.")),
                Note::new(
                    "Logarithmic scale; a dot within the ring is the same ratio. No time of one GPU is compared with a time of the other.",
                ),
            ],
            source: source(data, &[profiles::FILE]),
            alternative: alternative(there, here, &rows),
        },
        chart: Box::new(Dumbbells {
            sections: sections.collect(),
            heads: [there, here].map(str::to_string),
        }),
        table: table(there, here, &rows),
    })
}

fn ratios<'a>(data: &'a Data, published: &Summary, operation: Operation) -> Vec<Ratio<'a>> {
    let same_dims = published.operation(operation).map(|op| &op.dims)
        == data.summary.operation(operation).map(|op| &op.dims);
    let ratio = |summary: &Summary, name: &str| {
        let time = |name: &str| Some(summary.case(operation, name)?.kernel_time?.mean_us);
        Some(time(name)? / time(REFERENCE)?)
    };
    let others = data
        .series
        .iter()
        .filter(|s| same_dims && s.name != REFERENCE);
    others
        .filter_map(|series| {
            Some(Ratio {
                series,
                note: ratio(published, &series.name)?,
                here: ratio(&data.summary, &series.name)?,
            })
        })
        .collect()
}

fn pair(ratio: &Ratio<'_>) -> Pair {
    Pair {
        label: ratio.series.short.clone(),
        ink: Ink::Hue(ratio.series.swatch.hue),
        values: [ratio.note, ratio.here].map(|r| (r, number::ratio(r))),
    }
}

fn alternative(there: &str, here: &str, rows: &[(Operation, Vec<Ratio<'_>>)]) -> String {
    let sentences = rows.iter().map(|(operation, ratios)| {
        let parts = ratios.iter().map(|r| {
            format!(
                "{} {} on {there} and {} on {here}",
                escape::isolate(&r.series.label),
                number::ratio(r.note),
                number::ratio(r.here)
            )
        });
        format!(
            "{}: {}.",
            operation.label(),
            parts.collect::<Vec<_>>().join("; ")
        )
    });
    let sentences: Vec<String> = sentences.collect();
    format!("Kernel time relative to PyTorch. {}", sentences.join(" "))
}

/// The sign of multiples stands in the head.
fn ratio_cell(value: f64) -> Cell {
    let shown = |v| number::ratio(v).trim_end_matches('×').to_string();
    Cell::number(Some(value), shown)
}

fn table(there: &str, here: &str, rows: &[(Operation, Vec<Ratio<'_>>)]) -> Table {
    let times = |head: String| Column {
        unit: Some("×"),
        ..Column::number(head)
    };
    let cells = rows.iter().flat_map(|(operation, ratios)| {
        ratios.iter().map(|r| {
            vec![
                Cell::text(operation.label()),
                Cell::text(r.series.label.clone()),
                ratio_cell(r.note),
                ratio_cell(r.here),
            ]
        })
    });
    Table {
        caption: format!("Kernel time as a multiple of PyTorch’s, {there} and {here}"),
        columns: vec![
            Column::text("Operation"),
            Column::text("Implementation"),
            times(format!("{there}, published")),
            times(format!("{here}, here")),
        ],
        keys: 2,
        rows: cells.collect(),
    }
}
