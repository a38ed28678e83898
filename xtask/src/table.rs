//! The table that a reproduction ends with, and the README's: one namespace, and beside it what it is to be
//! read against. Every figure comes from evidence or from the published values.

use mage_evidence::Invalid;
use mage_evidence::experiment::Experiment;
use mage_evidence::implementation;
use mage_evidence::operation::Operation;
use mage_evidence::published::Published;
use mage_evidence::summary::{CaseSummary, Summary};
use mage_evidence::table::{Align, Table};
use mage_workspace::{Evidence, baseline, namespaces};
use std::path::Path;

/// A namespace's summary with the summaries beside it.
pub struct Rows {
    run: Summary,
    committed: Option<Summary>,
    published: Option<Summary>,
    baseline: Option<Summary>,
    /// What a reader should know of what is not beside it.
    remarks: Vec<String>,
}

impl Rows {
    /// Reads the evidence of `namespace`, of the experiment where that is another namespace, of the baseline
    /// experiment where it has evidence, and the published values.
    pub fn read(root: &Path, experiment: &Experiment, namespace: &str) -> anyhow::Result<Self> {
        let run = Evidence::read(root, namespace)?;
        if run.results.experiment() != experiment.name {
            return Err(Invalid::new(
                "namespace",
                format!("{namespace:?}, measured as {}", run.results.experiment()),
                format!("a namespace of {}", experiment.name),
            )
            .into());
        }
        let own = &experiment.name;
        let there = own != namespace && namespaces(root)?.contains(own);
        let committed = there.then(|| Evidence::read(root, own)).transpose()?;
        let mut remarks = Vec::new();
        let baseline = match baseline(root, namespace, experiment, &run.summary.gpu)? {
            Ok(baseline) => Some(baseline),
            Err(reason) => {
                if experiment.baseline.is_some() {
                    remarks.push(format!("No change from the baseline: {reason}."));
                }
                None
            }
        };
        let published = experiment.published.as_ref().map(|path| {
            Published::read(&root.join("experiments").join(path)).map(|p| Summary::of_published(&p))
        });
        Ok(Self {
            run: run.summary,
            committed: committed.map(|evidence| evidence.summary),
            published: published.transpose()?,
            baseline,
            remarks,
        })
    }

    /// As aligned text for a terminal.
    pub fn text(&self) -> String {
        let remarks: String = self.remarks.iter().map(|r| format!("{r}\n")).collect();
        format!(
            "{} on {}: microseconds an operation; kernel time by Nsight Systems, span by CUDA events\n{}{remarks}",
            self.run.namespace,
            self.run.gpu,
            self.table().text()
        )
    }

    /// As a Markdown table.
    pub fn markdown(&self) -> String {
        format!(
            "{}\n{}, microseconds an operation. Kernel time: sum of all kernels of an operation in an Nsight Systems capture. Span: mean of all CUDA-event spans around a call. The note's values are of another GPU and stand beside these only for their ratios.\n",
            self.table().markdown(),
            self.run.gpu
        )
    }

    /// The two names lead, the numbers are set right.
    fn table(&self) -> Table {
        let mut rows = self.cells().into_iter();
        let head = rows.next().unwrap_or_default();
        let columns: Vec<(&str, Align)> = head
            .iter()
            .enumerate()
            .map(|(i, name)| {
                let align = if i < 2 { Align::Left } else { Align::Right };
                (name.as_str(), align)
            })
            .collect();
        let mut table = Table::new(&columns);
        rows.for_each(|row| table.push(row));
        table
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let mut head = vec!["operation".into(), "implementation".into()];
        head.extend(["kernel time", "span", "launches"].map(String::from));
        for (other, what) in [(&self.committed, ""), (&self.published, "note ")] {
            if let Some(other) = other {
                let gpu = other
                    .gpu
                    .trim_start_matches("NVIDIA ")
                    .trim_start_matches("GeForce ");
                let name = if what.is_empty() {
                    format!("{} ", other.namespace)
                } else {
                    what.into()
                };
                head.push(format!("{name}kernel ({gpu})"));
                head.push(format!("{name}span ({gpu})"));
            }
        }
        if let Some(baseline) = &self.baseline {
            head.push(format!("kernel time from {}", baseline.namespace));
        }
        let mut rows = vec![head];
        for operation in &self.run.operations {
            for (i, (name, case)) in operation.implementations.iter().enumerate() {
                let label = if i == 0 {
                    operation.operation.label()
                } else {
                    ""
                };
                rows.push(self.row(label, operation.operation, name, case));
            }
        }
        rows
    }

    fn row(&self, label: &str, op: Operation, name: &str, case: &CaseSummary) -> Vec<String> {
        let mut row = vec![label.to_string(), implementation::label(name).to_string()];
        row.push(time(kernel_us(Some(case))));
        row.push(time(span_us(Some(case))));
        row.push(
            case.kernel_time
                .map_or("-".into(), |k| k.launches.to_string()),
        );
        for other in [&self.committed, &self.published].into_iter().flatten() {
            row.push(time(kernel_us(other.case(op, name))));
            row.push(time(span_us(other.case(op, name))));
        }
        if let Some(baseline) = &self.baseline {
            let before = kernel_us(baseline.case(op, name));
            row.push(match (before, kernel_us(Some(case))) {
                (Some(before), Some(after)) => percent(after / before - 1.0),
                _ => "-".into(),
            });
        }
        row
    }
}

fn kernel_us(case: Option<&CaseSummary>) -> Option<f64> {
    Some(case?.kernel_time?.mean_us)
}

fn span_us(case: Option<&CaseSummary>) -> Option<f64> {
    Some(case?.event?.mean_us)
}

/// A signed change in percent; one that rounds to nothing has no sign.
fn percent(change: f64) -> String {
    let tenths = (change * 1000.0).round();
    if tenths == 0.0 {
        return "0.0%".into();
    }
    format!("{:+.1}%", tenths / 10.0)
}

/// Three significant figures at least, a dash where nothing was measured.
fn time(us: Option<f64>) -> String {
    match us {
        None => "-".into(),
        Some(us) if us < 10.0 => format!("{us:.2}"),
        Some(us) => format!("{us:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_rounds_to_nothing_has_no_sign() {
        assert_eq!(percent(-0.0004), "0.0%");
        assert_eq!(percent(0.0004), "0.0%");
        assert_eq!(percent(-0.5881), "-58.8%");
        assert_eq!(percent(0.0009), "+0.1%");
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        assert_eq!(time(None), "-");
        assert_eq!(time(Some(4.944)), "4.94");
        assert_eq!(time(Some(344.0)), "344.0");
    }
}
