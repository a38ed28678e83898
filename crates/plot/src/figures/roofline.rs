//! Each case on the roofline of the GPU that its counters were read on.

use super::{Figure, evidence, source};
use crate::chart::frame::Frame;
use crate::chart::roofline::{Panel, Point, Roof, Roofline};
use crate::chart::{Mark, Note};
use crate::data::Data;
use crate::palette::{Ink, Texture};
use crate::table::{Cell, Column, Table};
use crate::{escape, number, words};
use mage_evidence::counters::{self, Case, Counters, Rates, Reading};
use mage_evidence::operation::Operation;

pub(super) const NAME: &str = "roofline";
pub(super) const TITLE: &str = "On the roofline";

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let counters = data
        .counters
        .as_ref()
        .ok_or("the namespace has no hardware counters")?;
    let measured = roof(&counters.limits.measured);
    let promised = roof(&counters.limits.theoretical);
    let shown = measured
        .or(promised)
        .ok_or("neither DRAM nor arithmetic has a limit that is known")?;
    let mut operations: Vec<Operation> = Vec::new();
    for case in &counters.cases {
        if !operations.contains(&case.operation) {
            operations.push(case.operation);
        }
    }
    let panels: Vec<Panel> = operations
        .iter()
        .map(|&operation| panel(data, counters, operation))
        .collect();
    if panels.iter().all(|panel| panel.points.is_empty()) {
        return Err("no case has both FP32 operations and DRAM bytes".to_string());
    }
    let mut notes = vec![
        Note::marked(
            Mark::Line,
            match measured {
                Some(_) => {
                    "The roof: what this GPU was measured to reach, in DRAM bandwidth (slope) and in FP32 arithmetic (level)."
                }
                None => {
                    "The roof: what the GPU’s attributes promise, in DRAM bandwidth (slope) and in FP32 arithmetic (level)."
                }
            },
        ),
        Note::new(
            "Higher is more arithmetic a second, which is a shorter call only where the arithmetic is the same: operations are those that were executed. Nearer to the roof is nearer to the limit at that intensity. The share of the roof stands at the name.",
        ),
        Note::new(
            "Calls find a part of their data in the cache: the bytes are those that DRAM still had to move. Both axes are logarithmic and the same in all panels.",
        ),
    ];
    notes.extend(on_tensor_cores(data, counters).map(Note::new));
    if measured.is_some() && promised.is_some() {
        notes.insert(
            1,
            Note::new("The thin line: what the GPU’s attributes promise."),
        );
    }
    Ok(Figure {
        label: "Roofline",
        evidence: evidence(data, &[counters::FILE]),
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: format!(
                "Trillion FP32 operations a second against operations a DRAM byte, one call each under {}, {}",
                counters.backend,
                counters.device.name.replace(' ', "\u{a0}")
            ),
            notes,
            source: source(data, &[counters::FILE]),
            alternative: alternative(data, counters),
        },
        table: table(data, counters),
        plotted: None,
        chart: Box::new(Roofline {
            roof: shown,
            promised: measured.and(promised),
            panels,
        }),
    })
}

/// Whose arithmetic is on the tensor cores more than on the FP32 units: their place shows little of it.
fn on_tensor_cores(data: &Data, counters: &Counters) -> Option<String> {
    // Operations by who: those of the same implementations stand together.
    let mut operations: Vec<(Operation, Vec<String>)> = Vec::new();
    for case in &counters.cases {
        let busy = &case.totals.busy_percent;
        match (busy.tensor.value(), busy.fp32.value()) {
            (Some(tensor), Some(fp32)) if tensor > fp32 => {}
            _ => continue,
        }
        let name = name(data, case);
        match operations.iter_mut().find(|o| o.0 == case.operation) {
            Some((_, names)) => names.push(name),
            None => operations.push((case.operation, vec![name])),
        }
    }
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (operation, names) in operations {
        let (who, label) = (words::list(&names), words::label(operation));
        match groups.iter_mut().find(|(known, _)| *known == who) {
            Some((_, labels)) => labels.push(label),
            None => groups.push((who, vec![label])),
        }
    }
    let parts: Vec<String> = groups
        .iter()
        .map(|(who, labels)| format!("{who} in {}", words::list(labels)))
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Operations of the tensor cores are not counted: they do most of the arithmetic of {}, which is more than its place shows.",
            parts.join(", and of ")
        )
    })
}

fn roof(rates: &Rates) -> Option<Roof> {
    Some(Roof {
        bytes_per_s: above_zero(&rates.dram_bytes_per_s)?,
        operations_per_s: above_zero(&rates.fp32_operations_per_s)?,
    })
}

fn above_zero(reading: &Reading) -> Option<f64> {
    reading.value().filter(|value| *value > 0.0)
}

/// Share of the roof at the case's intensity.
fn share(case: &Case) -> Option<f64> {
    let p = &case.position;
    Some(p.fp32_operations_per_s.value()? / above_zero(&p.roof_operations_per_s)?)
}

fn name(data: &Data, case: &Case) -> String {
    match data.series(&case.implementation) {
        Some(series) => series.label.clone(),
        None => case.implementation.clone(),
    }
}

fn panel(data: &Data, counters: &Counters, operation: Operation) -> Panel {
    let (mut points, mut absent) = (Vec::new(), Vec::new());
    for case in counters.cases.iter().filter(|c| c.operation == operation) {
        let series = data.series(&case.implementation);
        let short = series.map_or(case.implementation.as_str(), |s| s.short.as_str());
        let p = &case.position;
        match (
            above_zero(&p.dram_intensity),
            above_zero(&p.fp32_operations_per_s),
        ) {
            (Some(intensity), Some(rate)) => points.push(Point {
                label: match share(case) {
                    Some(share) => format!("{short} {}", percent(share)),
                    None => short.to_string(),
                },
                ink: Ink::Hue(series.map_or(7, |s| s.swatch.hue)),
                hollow: series.is_some_and(|s| s.swatch.texture != Texture::Solid),
                intensity,
                rate,
            }),
            _ => absent.push(format!("Not on it: {short}, {}.", reason(case))),
        }
    }
    let op = data.summary.operation(operation);
    Panel {
        title: operation.label().to_string(),
        note: op.map_or(String::new(), super::dims),
        points,
        absent,
    }
}

/// Why a case has no place.
fn reason(case: &Case) -> String {
    let p = &case.position;
    for (reading, what) in [
        (&p.fp32_operations, "no FP32 operations"),
        (&p.dram_bytes, "no DRAM bytes"),
    ] {
        match reading {
            Reading::Absent { absent } => return absent.clone(),
            Reading::Value(0.0) => return what.to_string(),
            Reading::Value(_) => {}
        }
    }
    "no intensity".to_string()
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

fn alternative(data: &Data, counters: &Counters) -> String {
    let sentences = counters.cases.iter().map(|case| {
        let p = &case.position;
        let who = escape::isolate(&name(data, case));
        let place = match (above_zero(&p.dram_intensity), share(case)) {
            (Some(intensity), Some(share)) => format!(
                "{} of the roof at {} operations a DRAM byte",
                percent(share),
                number::rate(intensity)
            ),
            _ => format!("not on it, {}", reason(case)),
        };
        format!(
            "{}, {who}: {place}; bound by {}.",
            case.operation.label(),
            case.bound.by.label()
        )
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn table(data: &Data, counters: &Counters) -> Table {
    let number = |reading: &Reading, scale: f64| {
        Cell::number(reading.value().map(|v| v / scale), number::rate)
    };
    let rows = counters.cases.iter().map(|case| {
        let p = &case.position;
        vec![
            Cell::text(case.operation.label()),
            Cell::text(name(data, case)),
            number(&p.fp32_operations, 1e6),
            number(&p.dram_bytes, 1e6),
            number(&p.dram_intensity, 1.0),
            number(&p.fp32_operations_per_s, 1e12),
            Cell::number(share(case).map(|s| s * 100.0), |v| format!("{v:.0}")),
            Cell::text(case.bound.by.label()),
            Cell::text(&case.bound.because),
        ]
    });
    let unit = |head: &str, unit: &'static str| Column {
        unit: Some(unit),
        ..Column::number(head)
    };
    Table {
        caption: format!(
            "Roofline positions on {}, by {}",
            counters.device.name, counters.backend
        ),
        columns: vec![
            Column::text("Operation"),
            Column::text("Implementation"),
            unit("FP32 operations", "millions"),
            unit("DRAM", "MB"),
            unit("Intensity", "operations a byte"),
            unit("Rate", "trillion operations a second"),
            unit("Share of the roof", "%"),
            Column::text("Bound by"),
            Column::text("Because"),
        ],
        keys: 2,
        rows: rows.collect(),
    }
}
