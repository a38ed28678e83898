//! Reads from memory for each multiply-add, counted on the CPU.

use super::Figure;
use crate::chart::frame::Frame;
use crate::chart::ladder::{Bar, Ladder, Section, Step};
use crate::chart::{Mark, Note};
use crate::data::Data;
use crate::number;
use crate::palette::{self, Swatch};
use crate::table::{Cell, Column, Table};
use mage_evidence::counts::{Counted, Counts};
use mage_evidence::operation::Operation;

pub(super) const NAME: &str = "memory-reads";
pub(super) const TITLE: &str = "Reads for each multiply-add";

pub(super) fn draw(data: &Data) -> Result<Figure, String> {
    let counts = data.counts.as_ref().map_err(Clone::clone)?;
    // Counts at other dims are of another measurement.
    let here = |c: &&Counted| {
        let op = data.summary.operation(c.operation);
        op.is_some_and(|op| op.dims == c.structure.dims)
            && c.structure.global_reads_per_multiply_add.is_some()
    };
    let counted: Vec<&Counted> = counts.variants.iter().filter(here).collect();
    if counted.is_empty() {
        return Err("no kernel is counted at the measured dims".to_string());
    }
    let mut operations: Vec<Operation> = counted.iter().map(|c| c.operation).collect();
    operations.dedup();
    let sections = operations.iter().map(|&operation| {
        let op = data.summary.operation(operation);
        let steps = counted.iter().filter(|c| c.operation == operation);
        Section {
            title: operation.label().to_string(),
            note: op.map_or(String::new(), super::dims),
            steps: steps.map(|c| step(c)).collect(),
        }
    });
    let [shared, global] = swatches();
    let mut notes = vec![
        Note::marked(Mark::Bar(shared), "From shared memory."),
        Note::marked(
            Mark::Bar(global),
            "From global memory, which a cache may answer.",
        ),
        Note::new(
            "Counted by running each kernel’s own source on the CPU at the measured dims. Each operation has its own scale, from zero. What the experiment measures is in bold.",
        ),
    ];
    notes.extend(operations.iter().filter_map(|&op| unequal(op, &counted)));
    Ok(Figure {
        label: "Reads",
        evidence: vec![Counts::path(&counts.experiment)],
        frame: Frame {
            name: NAME,
            title: TITLE.to_string(),
            subtitle: "Values that a thread reads from memory for each of its fused multiply-adds; fewer is closer to the arithmetic".to_string(),
            notes,
            source: format!(
                "{} · counts: {}",
                data.namespace,
                Counts::path(&counts.experiment).display()
            ),
            alternative: alternative(&operations, &counted),
        },
        table: table(counts, &counted),
        plotted: None,
        chart: Box::new(Ladder {
            sections: sections.collect(),
        }),
    })
}

/// Says where the kernels of an operation do not do the same multiply-adds: reads for each then compare only in part.
fn unequal(operation: Operation, counted: &[&Counted]) -> Option<Note> {
    let of = counted.iter().filter(|c| c.operation == operation);
    let numbers: Vec<u64> = of.map(|c| c.structure.multiply_adds).collect();
    let (least, most) = (numbers.iter().min()?, numbers.iter().max()?);
    (least < most).then(|| {
        Note::new(format!(
            "{}: the kernels do between {} and {} multiply-adds, so that a longer bar is not more reads in all, and reads alone do not explain their times; what bounds each is told by its counters.",
            operation.label(),
            number::whole(*least),
            number::whole(*most)
        ))
    })
}

/// Of shared and of global reads.
fn swatches() -> [Swatch; 2] {
    let solid = palette::swatch("rust", 0);
    [solid, palette::earlier(solid)]
}

fn step(counted: &Counted) -> Step {
    let [shared, global] = swatches();
    let bar = |swatch, value: Option<f64>, of: &str| Bar {
        swatch,
        value,
        range: None,
        shown: value.map_or("not counted".to_string(), |v| {
            format!("{} {of}", number::rate(v))
        }),
    };
    let s = &counted.structure;
    Step {
        label: counted.variant.clone(),
        strong: counted.measured,
        detail: String::new(),
        bars: vec![
            bar(shared, s.shared_reads_per_multiply_add, "shared"),
            bar(global, s.global_reads_per_multiply_add, "global"),
        ],
    }
}

fn alternative(operations: &[Operation], counted: &[&Counted]) -> String {
    let sentences = operations.iter().map(|&operation| {
        let of = counted.iter().filter(|c| c.operation == operation);
        let parts = of.map(|c| {
            let shown = |v: Option<f64>| v.map_or("no count".to_string(), number::rate);
            format!(
                "{} {} from shared and {} from global memory",
                c.variant,
                shown(c.structure.shared_reads_per_multiply_add),
                shown(c.structure.global_reads_per_multiply_add)
            )
        });
        let parts: Vec<String> = parts.collect();
        format!("{}: {}.", operation.label(), parts.join("; "))
    });
    let sentences: Vec<String> = sentences.collect();
    format!("Reads for each multiply-add. {}", sentences.join(" "))
}

fn table(counts: &Counts, counted: &[&Counted]) -> Table {
    let rows = counted.iter().map(|c| {
        let s = &c.structure;
        vec![
            Cell::text(c.operation.label()),
            Cell::text(&c.variant),
            Cell::text(if c.measured { "yes" } else { "no" }),
            Cell::number(s.shared_reads_per_multiply_add, number::rate),
            Cell::number(s.global_reads_per_multiply_add, number::rate),
            Cell::Number(s.multiply_adds as f64, number::whole(s.multiply_adds)),
        ]
    });
    Table {
        caption: format!(
            "Reads for each multiply-add of the kernels of {}, counted on the CPU",
            counts.experiment
        ),
        columns: vec![
            Column::text("Operation"),
            Column::text("Kernel"),
            Column::text("Measured"),
            Column::number("Shared reads a multiply-add"),
            Column::number("Global reads a multiply-add"),
            Column::number("Multiply-adds"),
        ],
        keys: 2,
        rows: rows.collect(),
    }
}
