//! The numbers that claims are about, each in the words that its figure has.

use super::Bound;
use crate::diff::{Causes, Diff, Quantity, Row, Side, Status, signed};
use crate::error::Invalid;
use crate::implementation;
use crate::operation::Operation;
use crate::stats;
use crate::summary::Resources;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Which number of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Statistic {
    /// Full-output checks that passed, of all.
    Checks,
    /// Mean time before and after, and the change.
    Change {
        /// Which time.
        quantity: Quantity,
        /// Of which operation.
        operation: Operation,
        /// In which implementation.
        implementation: String,
    },
    /// Launches of each operation in order.
    Launches {
        /// In which implementation.
        implementation: String,
    },
    /// Which launches changed between baseline and experiment.
    LaunchesChange,
    /// What an operation's only kernel asks for.
    Resources {
        /// On which side.
        of: Of,
        /// Of which operation.
        operation: Operation,
        /// In which implementation.
        implementation: String,
        /// What of it.
        show: Vec<Field>,
    },
    /// Mean time over that of another implementation in the same namespace.
    Ratio {
        /// Which time.
        quantity: Quantity,
        /// Of which operation.
        operation: Operation,
        /// In which implementation.
        implementation: String,
        /// Over which other.
        to: String,
    },
    /// Mean time.
    Time {
        /// Which time.
        quantity: Quantity,
        /// Of which operation.
        operation: Operation,
        /// In which implementation.
        implementation: String,
    },
    /// Whether it takes less time than every other implementation of the namespace, each by an interval.
    Leads {
        /// Which time.
        quantity: Quantity,
        /// Of which operation.
        operation: Operation,
        /// In which implementation.
        implementation: String,
    },
    /// Whether the largest error against FP64 on the measured inputs is no larger than that of another implementation.
    NoLargerError {
        /// Of which operation.
        operation: Operation,
        /// In which implementation.
        implementation: String,
        /// Than in which other.
        than: String,
    },
    /// The largest movement of a span of any unchanged case, and of the kernel time of one of Rust's.
    Noisier,
    /// What the two experiments were made from.
    Sources,
    /// What a kernel does, counted by running its source on the CPU; the published figure is the note's sentence.
    Counted {
        /// On which side the kernel was measured.
        of: Of,
        /// Of which operation.
        operation: Operation,
        /// The kernel variant.
        variant: String,
    },
    /// Nothing that this evidence holds.
    NotInEvidence {
        /// What the part is about.
        about: String,
        /// Why not.
        why: String,
    },
}

/// One of the two experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// The one that is compared with.
    Baseline,
    /// The one that the claims are about.
    Experiment,
}

impl Of {
    const fn word(self) -> &'static str {
        match self {
            Self::Baseline => "before",
            Self::Experiment => "after",
        }
    }
}

/// One resource of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Blocks of the launch.
    Blocks,
    /// Registers a thread.
    Registers,
    /// Shared memory a block.
    SharedBytes,
}

impl Statistic {
    /// Whether the bound makes sense for this number.
    pub const fn takes(&self, bound: &Bound) -> bool {
        match self {
            Self::Checks
            | Self::Launches { .. }
            | Self::LaunchesChange
            | Self::Resources { .. } => matches!(bound, Bound::AsPublished),
            Self::Change { .. } => matches!(bound, Bound::Falls | Bound::Within { .. }),
            Self::Ratio { .. } => matches!(bound, Bound::AboveOne | Bound::Level { .. }),
            Self::Time { .. } => matches!(bound, Bound::AtMost { .. }),
            Self::Leads { .. }
            | Self::NoLargerError { .. }
            | Self::Noisier
            | Self::Sources
            | Self::Counted { .. }
            | Self::NotInEvidence { .. } => matches!(bound, Bound::Holds),
        }
    }

    /// What it is about, in words.
    pub fn about(&self) -> String {
        match self {
            Self::Checks => "checks that passed".into(),
            Self::Change {
                quantity,
                operation,
                implementation,
            }
            | Self::Time {
                quantity,
                operation,
                implementation,
            }
            | Self::Leads {
                quantity,
                operation,
                implementation,
            } => format!(
                "{}, {}, {}",
                operation.label(),
                implementation::label(implementation),
                quantity.label()
            ),
            Self::Launches { implementation } => {
                format!("launches, {}", implementation::label(implementation))
            }
            Self::LaunchesChange => "launches, between the experiments".into(),
            Self::Resources {
                of,
                operation,
                implementation,
                ..
            } => format!(
                "{}, {}, {}",
                operation.label(),
                implementation::label(implementation),
                of.word()
            ),
            Self::Ratio {
                quantity,
                operation,
                implementation,
                to,
            } => format!(
                "{}, {} over {}, {}",
                operation.label(),
                implementation::label(implementation),
                implementation::label(to),
                quantity.label()
            ),
            Self::NoLargerError {
                operation,
                implementation,
                than,
            } => format!(
                "{}, {} against {}, largest error",
                operation.label(),
                implementation::label(implementation),
                implementation::label(than)
            ),
            Self::Noisier => "largest movement of unchanged code".into(),
            Self::Sources => "what was measured with what".into(),
            Self::Counted {
                of,
                operation,
                variant,
            } => format!("{}, {variant}, {}", operation.label(), of.word()),
            Self::NotInEvidence { about, .. } => about.clone(),
        }
    }
}

/// Mean time of a case in microseconds: of all samples, or over all captures.
///
/// # Errors
/// [`Invalid`] on times that have no mean.
pub fn mean_us(
    side: &Side,
    quantity: Quantity,
    operation: Operation,
    implementation: &str,
) -> Result<Option<f64>, Invalid> {
    Ok(match quantity {
        Quantity::EventSpan => side.spans(operation, implementation)?.map(|s| s.mean_us),
        Quantity::KernelTime => side
            .kernels(operation, implementation)?
            .map(|kernels| stats::mean(&kernels.captures_us))
            .transpose()?,
    })
}

/// `344.0 to 141.7 us, -58.8%`.
pub fn change_words(before: f64, after: f64) -> String {
    let change = (after / before - 1.0) * 100.0;
    format!("{before:.1} to {after:.1} us, {}", signed(change))
}

/// `4096 blocks, 27 registers`.
pub fn resources_words(resources: &Resources, show: &[Field]) -> String {
    let words: Vec<String> = show
        .iter()
        .map(|field| match field {
            Field::Blocks => format!("{} blocks", resources.blocks),
            Field::Registers => format!("{} registers", resources.registers),
            Field::SharedBytes => format!("{} bytes shared", resources.shared_bytes),
        })
        .collect();
    words.join(", ")
}

/// The kernel variant that `rust` ran for an operation, where the evidence says it.
pub fn variant(side: &Side, operation: Operation) -> Option<&str> {
    let results = side.results()?.results.iter();
    let mut rounds = results
        .filter(|op| op.op == operation)
        .flat_map(|op| &op.rounds);
    let case = rounds.find_map(|round| round.implementations.get("rust"))?;
    case.kernel.as_deref()
}

/// `1, 2, 1, 3, 4`: launches of each operation in order; none where one is not known.
///
/// # Errors
/// [`Invalid`] on captures that contradict each other.
pub fn launches_words(side: &Side, implementation: &str) -> Result<Option<String>, Invalid> {
    let mut words = Vec::new();
    for (operation, _) in side.operations() {
        match side.kernels(operation, implementation)? {
            Some(kernels) => words.push(kernels.launches.to_string()),
            None => return Ok(None),
        }
    }
    Ok((!words.is_empty()).then(|| words.join(", ")))
}

/// Cases whose launches differ between the sides; none where a case's are not known.
pub fn launches_change(diff: &Diff) -> Option<Vec<String>> {
    let mut changed = Vec::new();
    for row in &diff.rows {
        let (a, b) = (row.kernels_a.as_ref()?, row.kernels_b.as_ref()?);
        if a.launches != b.launches {
            changed.push(format!(
                "{} {}: {} to {}",
                row.operation, row.implementation, a.launches, b.launches
            ));
        }
    }
    Some(changed)
}

/// The largest change of a mean among `rows`, in percent without its sign, and of which row.
///
/// # Errors
/// As [`mean_us`].
pub fn largest<'a>(
    a: &Side,
    b: &Side,
    quantity: Quantity,
    rows: impl Iterator<Item = &'a Row>,
) -> Result<Option<(f64, &'a Row)>, Invalid> {
    let mut most: Option<(f64, &Row)> = None;
    for row in rows {
        let mean = |side| mean_us(side, quantity, row.operation, &row.implementation);
        if let (Some(before), Some(after)) = (mean(a)?, mean(b)?) {
            let change = ((after / before - 1.0) * 100.0).abs();
            if most.is_none_or(|(largest, _)| change > largest) {
                most = Some((change, row));
            }
        }
    }
    Ok(most)
}

/// What the sides were made from: whether only Rust's kernels differ, and in words.
pub fn sources(diff: &Diff) -> Option<(bool, String)> {
    const GROUPS: [&str; 2] = ["harness sources", "PyTorch and Triton worker"];
    let causes: &Causes = &diff.causes;
    let mut same = Vec::new();
    let mut other = Vec::new();
    for group in GROUPS {
        match causes.group(group)?.is_same() {
            true => same.push(group),
            false => other.push(group.to_string()),
        }
    }
    let inputs: Vec<_> = causes.facts.iter().filter(|f| f.what == "inputs").collect();
    let lock = causes.fact("lock file")?;
    for (what, holds) in [
        (
            "inputs",
            !inputs.is_empty() && inputs.iter().all(|f| f.is_same()),
        ),
        ("lock file", lock.is_same()),
    ] {
        match holds {
            true => same.push(what),
            false => other.push(what.to_string()),
        }
    }
    let rewritten: BTreeSet<&str> = diff
        .rows
        .iter()
        .filter(|row| row.standing.status == Status::Rewritten)
        .map(|row| row.implementation.as_str())
        .collect();
    let kernels: Vec<String> = diff
        .rows
        .iter()
        .filter(|row| row.standing.status == Status::Rewritten)
        .map(|row| format!("{} {}", row.operation, row.implementation))
        .collect();
    let holds = other.is_empty() && rewritten == BTreeSet::from(["rust"]);
    let binary = match causes.fact("measuring program")?.is_same() {
        true => "the binary is one, with both experiments' kernels",
        false => "the binary differs",
    };
    other.extend(kernels);
    let words = |list: &[String]| match list.is_empty() {
        true => "nothing".to_string(),
        false => list.join(", "),
    };
    Some((
        holds,
        format!(
            "{} the same; {} differ; {binary}",
            same.join(", "),
            words(&other)
        ),
    ))
}
