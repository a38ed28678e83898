//! The report as Markdown.

use crate::counters::compare::{Compared, Comparison, EXPLANATIONS};
use crate::counters::metrics;
use crate::report::{Entry, Report};
use mage_evidence::operation::Operation;
use mage_simt::{Finding, Verdict};
use std::fmt::Write as _;

const BYTES_A_MB: f64 = 1e6;

/// A row of the table of one operation: its head with its unit, and what stands in it.
type Quantity = (&'static str, fn(&Entry) -> String);

/// What is shown of each variant, in order.
#[rustfmt::skip]
const ROWS: [Quantity; 22] = [
    ("made from", |e| e.structure.parent.as_deref().map_or("—".into(), |p| format!("`{p}`"))),
    ("blocks", |e| whole(e.structure.blocks)),
    ("threads a block", |e| whole(e.structure.threads)),
    ("registers a thread", |e| whole(e.resources.registers_per_thread.into())),
    ("spilled (bytes a thread)", |e| whole(e.resources.spill_bytes.into())),
    ("shared memory a block (bytes)", |e| whole(e.structure.shared_bytes.into())),
    ("fused multiply-adds (operations)", |e| whole(e.structure.multiply_adds)),
    ("multiply-adds of tensor cores (operations)", |e| whole(e.structure.tensor_multiply_adds)),
    ("shared reads a multiply-add (floats)", |e| some(e.structure.shared_reads_per_multiply_add)),
    ("global reads a multiply-add (values)", |e| some(e.structure.global_reads_per_multiply_add)),
    ("barriers a block", |e| ratio(e.structure.barriers_per_block)),
    ("barriers a row of the output", |e| ratio(e.structure.barriers_per_row)),
    ("shuffles a row of the output (warp instructions)", |e| ratio(e.structure.shuffles_per_row)),
    ("global memory, asked for (MB)", |e| megabytes(e.structure.bytes_requested)),
    ("global memory, moved (MB)", |e| megabytes(e.structure.bytes_moved)),
    ("global memory, least possible (MB)", |e| megabytes(e.structure.bytes_least)),
    ("moved / least possible", |e| ratio(e.structure.moved_to_least)),
    ("sectors a global request", |e| some(e.structure.sectors_per_request)),
    ("wavefronts a shared request", |e| some(e.structure.wavefronts_per_request)),
    ("wavefronts / wavefronts without bank conflicts", |e| some(e.structure.bank_conflict_factor)),
    ("arithmetic intensity (operations a byte moved)", |e| ratio(e.structure.intensity)),
    ("arithmetic intensity at best (operations a byte of the least)", |e| ratio(e.structure.intensity_at_best)),
];

/// The whole page.
pub fn markdown(report: &Report) -> String {
    let mut out = format!(
        "# Structure of the kernels of {0}\n\n\
         Written by `cargo xtask structure --experiment {0} --write`; all counts are in [{0}.json]({0}.json).\n\n\
         The kernels' source runs on the CPU, lane by lane, at the experiment's dims and on its inputs (seed {1}), and \
         every access, barrier, shuffle and call of a maths function is counted. So these are counts of the source: \
         the compiler may merge, hoist or drop. Plain `+`, `-` and `*` are not seen, so operations are fused \
         multiply-adds (two each), special functions and what those are made of. Registers and spills are those of ptxas \
         {2} for {3}. *Moved* is what passes between the warps and the caches, in sectors of 32 bytes; *least possible* is \
         each input once and the output once. Variants stand beside the one that they were made from; what the \
         experiment measures is **bold**. What is zero for all variants of an operation is left out.\n",
        report.experiment, report.seed, report.ptxas, report.arch
    );
    for operation in Operation::ALL {
        let entries: Vec<&Entry> = report
            .variants
            .iter()
            .filter(|e| e.operation == operation)
            .collect();
        if !entries.is_empty() {
            operation_table(&mut out, operation, &entries);
        }
    }
    if !report.left_out.is_empty() {
        out += "\n## Not counted\n\n";
        for left_out in &report.left_out {
            let _ = writeln!(out, "- `{}`: {}", left_out.variant, left_out.reason);
        }
    }
    claims(&mut out, &report.findings);
    counters(&mut out, &report.comparisons);
    out + mage_evidence::ALL_RESULTS
}

fn operation_table(out: &mut String, operation: Operation, entries: &[&Entry]) {
    let names = operation.dim_names().join(", ");
    let dims: Vec<String> = entries[0]
        .structure
        .dims
        .iter()
        .map(u32::to_string)
        .collect();
    let _ = writeln!(
        out,
        "\n## {}: {names} = {}\n",
        operation.label(),
        dims.join(", ")
    );
    let heads = entries.iter().map(|entry| match entry.measured {
        true => format!("**`{}`**", entry.variant),
        false => format!("`{}`", entry.variant),
    });
    row(out, std::iter::once(String::new()).chain(heads));
    row(
        out,
        std::iter::once("---".to_owned()).chain(entries.iter().map(|_| "---:".to_owned())),
    );
    for (head, shown) in ROWS {
        let cells: Vec<String> = entries.iter().map(|entry| shown(entry)).collect();
        if cells.iter().any(|cell| cell != "—" && cell != "0") {
            row(out, std::iter::once(head.to_owned()).chain(cells));
        }
    }
}

fn claims(out: &mut String, findings: &[Finding]) {
    *out += "\n## The note's claims 7 to 9\n\n";
    *out += "| claim | kernel | the note says | counted | |\n| ---: | --- | --- | --- | --- |\n";
    for finding in findings {
        let verdict = match finding.verdict {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "**not reproduced**",
            Verdict::NotTestable => "not testable here",
        };
        let cells = [
            finding.claim.to_string(),
            format!("`{}`", finding.variant),
            finding.says.clone(),
            finding.counted.clone(),
            verdict.to_owned(),
        ];
        row(out, cells.into_iter());
    }
    let disagree = |f: &&Finding| f.verdict == Verdict::NotReproduced;
    if !findings.iter().any(|f| disagree(&f)) {
        return;
    }
    *out += "\nWhere the note's sentence and the count disagree:\n\n";
    for finding in findings.iter().filter(disagree) {
        let _ = writeln!(
            out,
            "- `{}` (claim {}): the note says \"{}\"; found: {}.",
            finding.variant, finding.claim, finding.says, finding.counted
        );
    }
}

fn counters(out: &mut String, comparisons: &[Comparison]) {
    *out += "\n## Against hardware counters\n\n";
    if comparisons.is_empty() {
        *out += "No counters are committed.\n";
        return;
    }
    *out += "What the executor counted beside what Nsight Compute read of the same launch. Registers and shared memory \
             are beside what ptxas reported and the source declares.\n";
    for comparison in comparisons {
        let Comparison {
            run,
            utc,
            device,
            driver,
            ncu,
            ..
        } = comparison;
        let ncu = ncu.trim_start_matches("Version ");
        let _ = writeln!(
            out,
            "\n### {device}\n\nDriver {driver}, Nsight Compute {ncu}, read {utc}: [artifacts/{run}](../../artifacts/{run})."
        );
        summary(out, comparison);
        for compared in &comparison.variants {
            variant(out, compared);
        }
    }
}

fn summary(out: &mut String, comparison: &Comparison) {
    let rows = || {
        comparison
            .variants
            .iter()
            .flat_map(|compared| &compared.rows)
    };
    let equal = rows().filter(|row| row.equal()).count();
    let compared = comparison
        .variants
        .iter()
        .filter(|c| c.left_out.is_none())
        .count();
    let _ = write!(
        out,
        "{} quantities of {compared} kernels: {equal} equal, {} different",
        rows().count(),
        rows().count() - equal
    );
    match comparison.unexplained().len() {
        0 => *out += ".\n",
        open => {
            let _ = writeln!(
                out,
                ", {open} of them not explained yet (`{EXPLANATIONS}`)."
            );
        }
    }
}

fn variant(out: &mut String, compared: &Compared) {
    let _ = writeln!(out, "\n#### `{}`\n", compared.variant);
    if let Some(reason) = &compared.left_out {
        let _ = writeln!(out, "Not compared: {reason}.");
        return;
    }
    *out += "| quantity | counted | counter | counter / counted | why they differ |\n| --- | ---: | ---: | ---: | --- |\n";
    for line in &compared.rows {
        // Nothing of what a kernel does not do.
        if line.counted == 0 && line.counter == 0 {
            continue;
        }
        let label = metrics::find(&line.quantity).map_or(line.quantity.as_str(), |q| q.label);
        let (factor, why) = match (line.equal(), line.counted) {
            (true, _) => ("=".to_owned(), String::new()),
            (false, 0) => ("—".to_owned(), because(line)),
            (false, counted) => (ratio(line.counter as f64 / counted as f64), because(line)),
        };
        let cells = [
            label.to_owned(),
            whole(line.counted),
            whole(line.counter),
            factor,
            why,
        ];
        row(out, cells.into_iter());
    }
}

fn because(row: &crate::counters::compare::Row) -> String {
    let said = row.because.as_deref().unwrap_or("not explained yet");
    said.replace('\n', " ").replace('|', "\\|")
}

fn row(out: &mut String, cells: impl Iterator<Item = String>) {
    for cell in cells {
        let _ = write!(out, "| {cell} ");
    }
    *out += "|\n";
}

/// Digits in groups of three.
fn whole(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Four significant digits at least, without trailing zeros; whole numbers whole.
fn ratio(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let decimals = (4 - before).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => whole(value.round() as u64),
    }
}

fn some(value: Option<f64>) -> String {
    value.map_or("—".to_owned(), ratio)
}

fn megabytes(bytes: u64) -> String {
    ratio(bytes as f64 / BYTES_A_MB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_the_digits_that_they_have() {
        for (value, shown) in [
            (0.0, "0"),
            (2.0, "2"),
            (0.5, "0.5"),
            (0.375, "0.375"),
            (1.0 / 3.0, "0.3333"),
            (0.012_345_6, "0.01235"),
            (16.000_1, "16"),
            (1234.4, "1,234"),
            (56_789.0, "56,789"),
        ] {
            assert_eq!(ratio(value), shown);
        }
        assert_eq!(whole(1_073_741_824), "1,073,741,824");
        assert_eq!(whole(999), "999");
        assert_eq!(megabytes(12_582_912), "12.58");
        assert_eq!(some(None), "—");
    }
}
