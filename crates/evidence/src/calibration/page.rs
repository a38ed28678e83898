//! A calibration for a reader.

use super::{By, Calibration, POWER, Quantity, Rate, Row, WINDOW};
use crate::ab::CYCLE;
use crate::table::{Align, Table};
use std::fmt::Write as _;

impl Calibration {
    /// The page, Markdown.
    pub fn markdown(&self) -> String {
        let study = &self.study;
        let mut text = format!(
            "# What a verdict is worth on an {}\n\n",
            study.device.name.trim_start_matches("NVIDIA ")
        );
        let _ = writeln!(
            text,
            "Every kernel of {} measured against itself on an {} (driver {}): whatever differs here is noise. \
             {} processes measured event spans, {} cycles of {CYCLE} rounds an operation, three handles of the kernel in \
             turn; {} more an operation were captured with Nsight Systems, {} calls each, two handles in turn. \
             Made from `artifacts/{}` by `cargo xtask calibrate`; the numbers are in `{}.json`.\n",
            study.experiment,
            study.device.name,
            study.device.driver,
            study.processes,
            study.cycles,
            study.processes,
            study.capture_iterations,
            self.name,
            self.device_name(),
        );
        let _ = writeln!(
            text,
            "From this the defaults follow. A difference of event spans below **{:.1}%** within one process may be the \
             process's own (no two handles of a kernel differed by more over a whole session). The margin is **{:.1}%** \
             (that, or what 95% of pairs of processes stay below in kernel time, whichever is larger). Between two \
             processes, a difference below **{:.1}%** of the kernel time of single captures, or **{:.1}%** of an event \
             span, may be the processes' own: no two of these differed by more, in spans over three rounds each. `diff` \
             names no winner below it; captures from three a side on are judged by their own scatter.\n",
            self.process_effect * 100.0,
            self.margin * 100.0,
            self.kernel_time_effect * 100.0,
            self.span_effect * 100.0
        );
        text += "## How far unchanged code moves\n\n";
        text += &self.moves().markdown();
        text += "\nBoth columns of differences: root mean square, and the largest in parentheses. Two handles of one \
                 kernel in one process differ in where their buffers lie, and take turns: kernels that would find their \
                 input in the cache alone find less of it here; two processes differ in everything that a start \
                 decides. *us* is taken in the same way, kernel time with two handles in turn and spans with three, so \
                 that it can be longer than where one handle runs alone, as in every namespace: compare the \
                 differences, not the times, with those of another page.\n\n";
        text += "## How often a winner is named where there is none, and what is found\n\n";
        text += &self.verdicts().markdown();
        let _ = writeln!(
            text,
            "\nEvery comparison that the data give was judged once, by the code that judges everything; comparisons share \
             data, so their number is no number of independent trials, and the bounds come from these very data: a rate under \
             a bound says that the bound was applied, not how it will do on other data. *Found*: the smallest difference, put into one \
             side's times by multiplication, that is called slower in at least {:.0}% of them. *One process*: {WINDOW} \
             cycles, the first look of `mage-harness ab`, the shortest session that it judges; a longer one finds less. \
             *Two processes* and *six processes*: as `cargo xtask diff` judges two runs, the other operations for \
             controls.",
            POWER * 100.0
        );
        text + crate::ALL_RESULTS
    }

    /// The directory's name without its prefix.
    pub fn device_name(&self) -> &str {
        self.name.strip_prefix(super::PREFIX).unwrap_or(&self.name)
    }

    fn moves(&self) -> Table {
        let mut table = Table::new(&[
            ("operation", Align::Left),
            ("kernel", Align::Left),
            ("quantity", Align::Left),
            ("us", Align::Right),
            ("two handles, one process", Align::Right),
            ("two processes", Align::Right),
        ]);
        let both = |rms: f64, largest: f64| format!("{rms:.2}% ({largest:.2}%)");
        for row in &self.rows {
            let mut cells = head(row);
            cells.insert(1, format!("`{}`", row.variant));
            cells.push(format!("{:.2}", row.time_us));
            cells.push(both(row.handles_percent, row.handles_largest_percent));
            cells.push(both(row.processes_percent, row.processes_largest_percent));
            table.push(cells);
        }
        table
    }

    fn verdicts(&self) -> Table {
        let mut table = Table::new(&[
            ("operation", Align::Left),
            ("quantity", Align::Left),
            ("judged", Align::Left),
            ("winners named", Align::Right),
            ("found", Align::Right),
        ]);
        for row in &self.rows {
            for rate in &row.rates {
                let mut cells = head(row);
                cells.push(rate.by.label().into());
                cells.push(winners(rate));
                cells.push(
                    rate.resolved_percent
                        .map_or("-".into(), |p| format!("{p}%")),
                );
                table.push(cells);
            }
        }
        for quantity in Quantity::ALL {
            for by in BY {
                let of: Vec<&Rate> = self
                    .rows
                    .iter()
                    .filter(|row| row.quantity == quantity)
                    .flat_map(|row| row.rates.iter().filter(|rate| rate.by == by))
                    .collect();
                if of.is_empty() {
                    continue;
                }
                let all = Rate {
                    by,
                    comparisons: of.iter().map(|rate| rate.comparisons).sum(),
                    winners: of.iter().map(|rate| rate.winners).sum(),
                    resolved_percent: None,
                };
                table.push(vec![
                    "all".into(),
                    quantity.label().into(),
                    by.label().into(),
                    winners(&all),
                ]);
            }
        }
        table
    }
}

const BY: [By; 5] = [
    By::OneProcessUnbounded,
    By::OneProcess,
    By::ThreeRounds,
    By::OneCapture,
    By::ThreeCaptures,
];

fn head(row: &Row) -> Vec<String> {
    vec![row.operation.to_string(), row.quantity.label().into()]
}

fn winners(rate: &Rate) -> String {
    match rate.comparisons {
        0 => "-".into(),
        all => format!(
            "{} of {all} ({:.1}%)",
            rate.winners,
            f64::from(rate.winners) * 100.0 / f64::from(all)
        ),
    }
}
