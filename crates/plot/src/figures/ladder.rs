//! Every variant of a kernel beside the one that it was made from: what changed, and what that did to its time.

use super::{Figure, evidence, source, time_cell};
use crate::chart::frame::Frame;
use crate::chart::ladder::{Bar, Ladder, Section, Step};
use crate::chart::{Mark, Note};
use crate::data::Data;
use crate::number;
use crate::palette::{self, Swatch, Texture};
use crate::table::{Cell, Column, Table};
use crate::words;
use mage_evidence::ladder::{self, Change, OperationLadder, Status};
use mage_evidence::operation::Operation;

pub(super) const NAME: &str = "kernel-ladder";
pub(super) const TITLE: &str = "The ladder of kernels";

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let measured = data.ladder.as_ref().ok_or_else(|| {
        let name = &data.experiment.name;
        match data.experiment.ladder {
            None => format!("{name} asks for no ladder"),
            Some(_) => "the namespace has no ladder of kernel variants".to_string(),
        }
    })?;
    let all: usize = measured.operations.iter().map(|op| op.steps.len()).sum();
    let whole = all <= MOST;
    let shown: Vec<Shown<'_>> = measured
        .operations
        .iter()
        .map(|op| {
            (
                op,
                if whole {
                    op.steps.iter().collect()
                } else {
                    way(op)
                },
            )
        })
        .collect();
    let mut notes = notes(measured, &shown);
    if !whole {
        let steps: usize = shown.iter().map(|(_, steps)| steps.len()).sum();
        let text = format!(
            "{steps} of {all} variants: the way from the first to the one that the experiment measures, and the twins \
             that are its limits. All of them are in the table and on the ladder’s own page.",
        );
        notes.insert(0, Note::new(text));
    }
    Ok(figure(
        data,
        measured,
        NAME,
        TITLE.to_string(),
        &shown,
        notes,
    ))
}

/// More variants than this are not shown in one figure.
const MOST: usize = 24;

/// An operation and its variants that are shown.
type Shown<'a> = (&'a OperationLadder, Vec<&'a ladder::Step>);

/// Every variant of one operation.
pub(super) fn of_one(data: &Data, measured: &ladder::Ladder, op: &OperationLadder) -> Figure {
    let name = match op.operation {
        Operation::Matmul => "ladder-matmul",
        Operation::Gelu => "ladder-gelu",
        Operation::LayerNorm => "ladder-layernorm",
        Operation::Triangle => "ladder-triangle",
        Operation::Neighbor => "ladder-neighbor",
    };
    let (steps, beyond): (Vec<_>, Vec<_>) = op.steps.iter().partition(|step| !is_beyond(op, step));
    let shown = [(op, steps)];
    let mut notes = notes(measured, &shown);
    for step in beyond {
        let us = mean_us(step).map(number::time).unwrap_or_default();
        notes.push(Note::new(format!(
            "{}, a twin of {us} µs, takes longer than every kernel here: it measures a rate, and stands in the table alone.",
            step.variant.id
        )));
    }
    let title = format!("{}: every variant", op.operation.label());
    figure(data, measured, name, title, &shown, notes)
}

fn mean_us(step: &ladder::Step) -> Option<f64> {
    Some(step.kernel_time.as_ref()?.mean_us)
}

/// Whether `step` is a twin that takes longer than every kernel of the operation, which beside it would have no length.
fn is_beyond(op: &OperationLadder, step: &ladder::Step) -> bool {
    let kernels = op
        .steps
        .iter()
        .filter(|step| step.variant.status != Status::Twin);
    step.variant.status == Status::Twin
        && mean_us(step).is_some_and(|twin| kernels.filter_map(mean_us).all(|us| us < twin))
}

/// From the first variant to the measured one, each from the one before; and the twins that are its limits.
fn way(op: &OperationLadder) -> Vec<&ladder::Step> {
    let mut way: Vec<&ladder::Step> = Vec::new();
    let mut next = op.step(&op.variant);
    for limit in next.iter().flat_map(|step| &step.limits) {
        way.extend(op.step(&limit.twin));
    }
    while let Some(step) = next {
        way.push(step);
        next = step.variant.parent.as_ref().and_then(|id| op.step(id));
    }
    let place = |step: &ladder::Step| {
        op.steps
            .iter()
            .position(|s| s.variant.id == step.variant.id)
    };
    way.sort_by_key(|step| place(step));
    way.dedup_by_key(|step| &step.variant.id);
    way
}

fn notes(measured: &ladder::Ladder, shown: &[Shown<'_>]) -> Vec<Note> {
    let statuses = || {
        let steps = shown.iter().flat_map(|(_, steps)| steps);
        steps.map(|step| step.variant.status)
    };
    let mut notes: Vec<Note> = [
        (Status::Retained, "Kept."),
        (Status::Rejected, "Tried and not kept."),
        (Status::Open, "Not yet decided."),
        (
            Status::Twin,
            "A twin: moves or multiplies as its parent does and no more, and is a limit of what takes longer.",
        ),
    ]
    .into_iter()
    .filter(|(status, _)| statuses().any(|s| s == *status))
    .map(|(status, text)| Note::marked(Mark::Bar(swatch(status)), text))
    .collect();
    let scale = match shown {
        [_] => "The scale is from zero.",
        _ => "Each operation has its own scale, from zero.",
    };
    notes.push(Note::new(format!(
        "Mean of {} of {} each; all variants of an operation run in one process, in an order that rotates. In parentheses the change from the variant that it was made from. {scale} Shorter is better; what the experiment measures is in bold.",
        number::plural(measured.captures.into(), "capture", "captures"),
        number::plural(measured.iterations.into(), "call", "calls"),
    )));
    for left in shown.iter().flat_map(|(op, _)| &op.left_out) {
        let text = format!("{} was not called: {}.", left.id, left.reason);
        notes.push(Note::new(text));
    }
    if measured.captures > 1 {
        let text = "Range of the captures, not a confidence interval.";
        notes.push(Note::marked(Mark::Whisker, text));
    }
    notes
}

fn figure(
    data: &Data,
    measured: &ladder::Ladder,
    name: &'static str,
    title: String,
    shown: &[Shown<'_>],
    notes: Vec<Note>,
) -> Figure {
    let of: Vec<&OperationLadder> = shown.iter().map(|(op, _)| *op).collect();
    Figure {
        label: "Ladder",
        evidence: evidence(data, &[ladder::FILE]),
        frame: Frame {
            name,
            title,
            subtitle: format!(
                "Kernel time of one call in microseconds, variant by variant, {}",
                measured.gpu.replace(' ', "\u{a0}")
            ),
            notes,
            source: source(data, &[ladder::FILE]),
            alternative: alternative(shown),
        },
        table: table(&measured.gpu, &of),
        plotted: None,
        chart: Box::new(Ladder {
            sections: shown.iter().map(section).collect(),
        }),
    }
}

fn swatch(status: Status) -> Swatch {
    let solid = palette::swatch("rust", 0);
    let texture = match status {
        Status::Retained => return solid,
        Status::Rejected => return palette::earlier(solid),
        Status::Open => Texture::Dots,
        Status::Twin => {
            return Swatch {
                hue: palette::GREY,
                texture: Texture::Solid,
            };
        }
    };
    Swatch { texture, ..solid }
}

fn section((op, steps): &Shown<'_>) -> Section {
    let names = op.operation.dim_names().iter();
    let dims: Vec<String> = names
        .zip(&op.dims)
        .map(|(name, dim)| format!("{name} {dim}"))
        .collect();
    Section {
        title: op.operation.label().to_string(),
        note: dims.join(", "),
        steps: steps.iter().map(|s| step(op, s)).collect(),
    }
}

fn step(op: &OperationLadder, step: &ladder::Step) -> Step {
    let v = &step.variant;
    let changed = v.changed.trim();
    let mut detail = match &v.parent {
        Some(parent) => format!("From {parent}: {changed}"),
        None => changed.to_string(),
    };
    if let Some(cause) = step.failed.as_ref().or(step.cause.as_ref()) {
        let cause = words::beginning(cause.trim_end_matches('.'), 160);
        detail = format!("{detail} Not kept: {cause}.");
    }
    let shown = match (&step.kernel_time, &step.to_parent) {
        (Some(time), Some(change)) => format!(
            "{} ({})",
            number::time(time.mean_us),
            number::percent((change.ratio - 1.0) * 100.0)
        ),
        (Some(time), None) => number::time(time.mean_us),
        (None, _) => "failed its check".to_string(),
    };
    let time = step.kernel_time.as_ref();
    let several = |t: &&ladder::KernelTime| t.captures_us.len() > 1;
    Step {
        label: v.id.clone(),
        strong: v.id == op.variant,
        detail,
        bars: vec![Bar {
            swatch: swatch(v.status),
            value: time.map(|t| t.mean_us),
            range: time.filter(several).map(|t| (t.min_us, t.max_us)),
            shown,
        }],
    }
}

fn alternative(shown: &[Shown<'_>]) -> String {
    let sentences = shown.iter().map(|(op, steps)| {
        let steps = steps.iter().map(|step| {
            let v = &step.variant;
            match &step.kernel_time {
                Some(time) => format!(
                    "{} {} µs ({})",
                    v.id,
                    number::time(time.mean_us),
                    v.status.word()
                ),
                None => format!("{} failed its check", v.id),
            }
        });
        let steps: Vec<String> = steps.collect();
        format!("{}: {}.", op.operation.label(), steps.join(", "))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn verdict(change: &Change) -> String {
    match &change.why {
        Some(why) => format!("{}: {why}", change.verdict),
        None => change.verdict.clone(),
    }
}

fn table(gpu: &str, operations: &[&OperationLadder]) -> Table {
    let mut rows = Vec::new();
    for op in operations {
        for step in &op.steps {
            let v = &step.variant;
            let time = step.kernel_time.as_ref();
            let change = step.to_parent.as_ref();
            let word = |text: Option<&String>| text.map_or(Cell::Missing, Cell::text);
            let ratio = |value: Option<f64>| Cell::number(value, |v| format!("{v:.3}"));
            rows.push(vec![
                Cell::text(op.operation.label()),
                Cell::text(&v.id),
                word(v.parent.as_ref()),
                Cell::text(v.status.word()),
                time_cell(time.map(|t| t.mean_us)),
                time_cell(time.map(|t| t.min_us)),
                time_cell(time.map(|t| t.max_us)),
                ratio(change.map(|c| c.ratio)),
                ratio(change.and_then(|c| c.low)),
                ratio(change.and_then(|c| c.high)),
                change.map_or(Cell::Missing, |c| Cell::text(verdict(c))),
                word(step.failed.as_ref().or(step.cause.as_ref())),
                Cell::text(v.changed.trim()),
            ]);
        }
    }
    Table {
        caption: format!("Kernel time of every variant on {gpu}"),
        columns: vec![
            Column::text("Operation"),
            Column::text("Variant"),
            Column::text("Made from"),
            Column::text("Status"),
            Column::time("Mean"),
            Column::time("Smallest capture"),
            Column::time("Largest capture"),
            Column::number("Over its parent"),
            Column::number("From"),
            Column::number("To"),
            Column::text("Verdict"),
            Column::text("Why not kept"),
            Column::text("What changed"),
        ],
        keys: 2,
        rows,
    }
}
