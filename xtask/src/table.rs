//! The table that a reproduction ends with, and the README's: one namespace, and beside it what it is to be
//! read against. Every figure comes from evidence or from the published values.

use mage_evidence::Invalid;
use mage_evidence::claims::{By, Claims};
use mage_evidence::diff::{Quantity, is_level};
use mage_evidence::experiment::Experiment;
use mage_evidence::implementation;
use mage_evidence::ladder::Ladder;
use mage_evidence::operation::Operation;
use mage_evidence::published::Published;
use mage_evidence::results::Results;
use mage_evidence::summary::{CaseSummary, OperationSummary, Summary, several_captures};
use mage_evidence::table::{Align, Table};
use mage_kernels::objects;
use mage_workspace::{Evidence, baseline, namespaces};
use std::path::Path;

/// A namespace's summary with the summaries beside it.
pub struct Rows {
    run: Summary,
    committed: Option<Summary>,
    published: Option<Summary>,
    baseline: Option<Summary>,
    /// Times that Rust's kernels are to reach, where the experiment has goals.
    goals: Option<Claims>,
    /// Every variant beside its parent and its twins, where the namespace has a ladder.
    ladder: Option<Ladder>,
    /// Kernels of the experiment whose objects are others now than when they were measured.
    changed: Vec<&'static str>,
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
        let goals = Claims::path(root, own);
        let goals = goals.is_file().then(|| Claims::read(&goals)).transpose()?;
        let changed = changed(&run.results, experiment);
        Ok(Self {
            changed,
            goals: goals.filter(|claims| claims.by() == By::Goal),
            run: run.summary,
            ladder: run.ladder,
            committed: committed.map(|evidence| evidence.summary),
            published: published.transpose()?,
            baseline,
            remarks,
        })
    }

    /// As aligned text for a terminal.
    pub fn text(&self) -> String {
        let mut remarks: String = self.remarks.iter().map(|r| format!("{r}\n")).collect();
        if let Some(since) = self.since() {
            remarks += &format!("{since}\n");
        }
        format!(
            "{} on {}: microseconds an operation; kernel time by Nsight Systems, span by CUDA events\n{}{remarks}",
            self.run.namespace,
            self.run.gpu,
            self.table().text()
        )
    }

    /// As Markdown: a heading, the table, and what its columns are.
    pub fn markdown(&self) -> String {
        let mut notes = format!(
            "{}, microseconds an operation. Kernel time: sum of all kernels of an operation in an Nsight Systems capture. Span: mean of all CUDA-event spans around a call.",
            self.run.gpu
        );
        if self.published.is_some() {
            notes.push_str(" The note's values are of another GPU and stand beside these only for their ratios.");
        }
        if self.goals.is_some() {
            notes.push_str(&format!(
                " Target: the kernel time that was to be reached; all goals are judged in [docs/claims/{0}.md](docs/claims/{0}.md).",
                self.run.namespace
            ));
        }
        if let Some(since) = self.since() {
            notes.push_str(&format!(" {since}"));
        }
        if self.ladder.is_some() {
            notes.push_str(&format!(
                " Place: rank by kernel time, then by span. Limit: the time of a twin, a kernel that only moves the same bytes or only makes the same products, over the time of the Rust kernel in the same capture, in a session of its own; told variant by variant in [docs/ladder/{0}.md](docs/ladder/{0}.md). {1}",
                self.run.namespace,
                self.first_places()
            ));
        }
        format!(
            "## {} on {}\n\n{}\n{notes}\n",
            self.run.namespace,
            self.run.gpu,
            self.table().markdown()
        )
    }

    /// That kernels are others now than those that were measured, where some are.
    fn since(&self) -> Option<String> {
        (!self.changed.is_empty()).then(|| {
            format!(
                "Changed since it was measured, so that times and errors are of the kernel before: {}.",
                self.changed.join(", ")
            )
        })
    }

    /// In how many operations Rust takes the least time, and in how many of these another is level with it.
    fn first_places(&self) -> String {
        let operations = &self.run.operations;
        let least = |time: Time| {
            let least = operations
                .iter()
                .filter(|op| place(op, "rust", time) == Some(1));
            least.collect::<Vec<_>>()
        };
        let level = |quantity: Quantity, time: Time| {
            let least = least(time);
            let bound = quantity.level(several_captures(operations));
            let shared = least
                .iter()
                .filter(|op| is_level_with_another(op, time, bound));
            let of = format!("{} of {}", least.len(), operations.len());
            match shared.count() {
                0 => of,
                shared => format!("{of}, {shared} of them level with another"),
            }
        };
        format!(
            "Operations in which Rust takes the least kernel time: {}; the least span: {}.",
            level(Quantity::KernelTime, kernel_us),
            level(Quantity::EventSpan, span_us)
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
        if self.goals.is_some() {
            head.push("target".into());
        }
        if self.ladder.is_some() {
            head.extend(["place", "limit"].map(String::from));
        }
        let mut rows = vec![head];
        for operation in &self.run.operations {
            for (i, (name, case)) in operation.implementations.iter().enumerate() {
                let label = if i == 0 {
                    operation.operation.label()
                } else {
                    ""
                };
                let mut row = self.row(label, operation.operation, name, case);
                if let Some(goals) = &self.goals {
                    let target = goals.target_us(Quantity::KernelTime, operation.operation, name);
                    let missed = |us| case.kernel_time.is_some_and(|time| time.mean_us > us);
                    row.push(match target {
                        Some(us) if missed(us) => format!("{us} (not met)"),
                        Some(us) => us.to_string(),
                        None => String::new(),
                    });
                }
                if let Some(ladder) = &self.ladder {
                    let place =
                        |time| place(operation, name, time).map_or("-".into(), |p| p.to_string());
                    row.push(format!("{}, {}", place(kernel_us), place(span_us)));
                    row.push(limit(ladder, operation.operation, case));
                }
                rows.push(row);
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

/// One time of a case in microseconds.
type Time = fn(Option<&CaseSummary>) -> Option<f64>;

/// The rank of an implementation by one of its times, from 1; none where it has none.
fn place(operation: &OperationSummary, name: &str, time: Time) -> Option<usize> {
    let own = time(operation.implementations.get(name))?;
    let others = operation.implementations.values();
    Some(
        1 + others
            .filter(|case| time(Some(case)).is_some_and(|t| t < own))
            .count(),
    )
}

/// Whether another implementation takes no more than Rust's time and `bound` of it.
fn is_level_with_another(operation: &OperationSummary, time: Time, bound: f64) -> bool {
    let Some(own) = time(operation.implementations.get("rust")) else {
        return false;
    };
    let mut others = operation
        .implementations
        .iter()
        .filter(|(name, _)| *name != "rust");
    others.any(|(_, case)| time(Some(case)).is_some_and(|us| is_level(us, own, bound)))
}

/// The largest share of a limit that the case's kernel reaches, and the twin; empty for what has no variant.
fn limit(ladder: &Ladder, operation: Operation, case: &CaseSummary) -> String {
    let Some(kernel) = &case.kernel else {
        return String::new();
    };
    let step = ladder
        .operation(operation)
        .and_then(|steps| steps.step(kernel));
    match step.and_then(|step| step.limits.first()) {
        Some(limit) => format!("{:.1}% of {}", limit.share * 100.0, limit.twin),
        None => "-".into(),
    }
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

/// The variants of an experiment whose objects are not those that `results` were measured with.
fn changed(results: &Results, experiment: &Experiment) -> Vec<&'static str> {
    let Some(provenance) = &results.provenance else {
        return Vec::new();
    };
    let variants = experiment.operations.iter().map(|op| op.variant.as_str());
    variants
        .filter_map(objects::ptx)
        .filter(|object| {
            let measured = provenance.objects_sha256.get(&object.file_name());
            measured.is_some_and(|measured| *measured != object.sha256())
        })
        .map(|object| object.variant)
        .collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use mage_evidence::ladder;
    use serde_json::{Value, json};

    const NAMESPACE: &str = "mage-002";

    fn copy_all(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let to = to.join(path.file_name().unwrap());
            match path.is_dir() {
                true => copy_all(&path, &to),
                false => drop(std::fs::copy(&path, to).unwrap()),
            }
        }
    }

    /// A root with the committed evidence of a namespace and a hand-made ladder beside it.
    pub fn with_ladder() -> (tempfile::TempDir, &'static str) {
        let root = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let results = format!("docs/assets/results/{NAMESPACE}");
        for part in ["experiments", &results] {
            copy_all(&here.join(part), &root.path().join(part));
        }
        std::fs::write(root.path().join("Cargo.lock"), "").unwrap();
        let fixture = here.join("crates/evidence/tests/fixtures/comparison-ladder.json");
        let text = std::fs::read_to_string(fixture).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["provenance"]["namespace"] = json!(NAMESPACE);
        std::fs::write(
            root.path().join(results).join(ladder::FILE),
            value.to_string(),
        )
        .unwrap();
        (root, NAMESPACE)
    }

    fn rows(root: &Path) -> Rows {
        let experiment = Experiment::load(root, NAMESPACE).unwrap();
        Rows::read(root, &experiment, NAMESPACE).unwrap()
    }

    #[test]
    fn a_ladder_adds_place_and_limit() {
        let (root, _) = with_ladder();
        let text = rows(root.path()).markdown();
        assert!(
            text.starts_with("## mage-002 on NVIDIA H200\n\n| operation | implementation |"),
            "{text}"
        );
        let line = |start: &str| {
            let mut lines = text.lines().skip_while(|line| !line.starts_with(start));
            let rust = lines.nth(2).unwrap();
            rust.split(" | ")
                .map(|cell| cell.trim_matches([' ', '|']).to_string())
                .collect::<Vec<_>>()
        };
        let gelu = line("| Bias + GELU");
        assert_eq!(gelu[1], "Rust");
        assert_eq!(gelu[gelu.len() - 2..], ["2, 1", "51.6% of copy_one"]);
        let neighbor = line("| Neighbor");
        assert_eq!(neighbor[neighbor.len() - 2..], ["1, 1", "-"]);
        assert!(text.contains("docs/ladder/mage-002.md"), "{text}");
        assert!(
            text.contains(
                "Operations in which Rust takes the least kernel time: 1 of 5; the least span: 4 of 5."
            ),
            "{text}"
        );
    }

    /// Of single captures, which are level within 3.2%, and spans, which are within 13.3%.
    #[test]
    fn what_is_level_with_the_least_is_said() {
        let (root, _) = with_ladder();
        let said = |kernel: f64, span: f64| {
            let mut rows = rows(root.path());
            for op in &mut rows.run.operations {
                let own = op.implementations["rust"].clone();
                let above = |case: &mut CaseSummary, kernel: f64, span: f64| {
                    let (us, of) = (case.kernel_time.as_mut().unwrap(), own.kernel_time.unwrap());
                    us.mean_us = of.mean_us * kernel;
                    let (us, of) = (case.event.as_mut().unwrap(), own.event.unwrap());
                    us.mean_us = of.mean_us * span;
                };
                above(&mut op.implementations["python"], kernel, span);
                above(&mut op.implementations["triton"], 1.2, 1.2);
            }
            let least = rows.first_places();
            assert!(rows.markdown().contains(&least));
            least
        };
        let level = said(1.031, 1.13);
        let all = "5 of 5, 5 of them level with another";
        let expected = format!(" least kernel time: {all}; the least span: {all}.");
        assert!(level.ends_with(&expected), "{level}");
        let apart = said(1.033, 1.14);
        let expected = " least kernel time: 5 of 5; the least span: 5 of 5.";
        assert!(apart.ends_with(expected), "{apart}");
    }

    #[test]
    fn without_a_ladder_there_is_neither() {
        let (root, namespace) = with_ladder();
        let results = mage_workspace::results(root.path(), namespace);
        std::fs::remove_file(results.join(ladder::FILE)).unwrap();
        let text = rows(root.path()).markdown();
        assert!(
            !text.contains("place")
                && !text.contains("limit")
                && !text.contains("Rust takes the least"),
            "{text}"
        );
    }

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
