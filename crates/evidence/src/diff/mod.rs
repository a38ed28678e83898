//! Two sets of results side by side: what may be said, what changed, what moved.
//!
//! Between two namespaces rounds are not pairs; what is judged, and against which floor, is written in
//! [`crate::stats`] and [`crate::verdict`]. The floor of a row comes from its controls: the cases whose code
//! is by its hashes the same on both sides, of the same implementation where there are enough of them
//! (the host's part in a span differs between implementations), else of all; never from the row itself. Where no code
//! is the same, kernel times have the floor of the calibrations.
//!
//! On two GPUs absolute times are not compared: each side's times are taken relative to one implementation
//! of its own, and what moved between the sides is those ratios.

mod causes;
mod effects;
mod policy;
mod settle;
mod show;
mod side;
mod status;

pub use causes::{Causes, Fact, Files};
pub use effects::{Effect, Row};
pub use policy::{FailOn, Outcome, Percent};
pub use show::Lines;
pub(crate) use show::signed;
pub use side::{Kernels, Side, Spans};
pub use status::{Basis, Standing, Status};

use crate::error::Invalid;
use crate::stats::Floor;
use crate::verdict::{KERNEL_TIME_EFFECT, MARGIN, SPAN_EFFECT, Verdict};
use std::collections::BTreeMap;

/// Which time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Sum of the kernels of an operation.
    KernelTime,
    /// Time between two events around a call.
    EventSpan,
}

impl Quantity {
    /// Both.
    pub const ALL: [Self; 2] = [Self::KernelTime, Self::EventSpan];

    /// The words that readers see.
    pub const fn label(self) -> &'static str {
        match self {
            Self::KernelTime => "kernel time",
            Self::EventSpan => "event span",
        }
    }

    /// How far apart, as a part of 1, the times of two implementations are level, by the committed calibrations: the
    /// most that unchanged code moved from one process to another; for kernel time of several captures, whose own
    /// scatter is seen, the margin, below which 95% of such pairs stayed.
    pub const fn level(self, several_captures: bool) -> f64 {
        match self {
            Self::KernelTime if several_captures => MARGIN,
            Self::KernelTime => KERNEL_TIME_EFFECT,
            Self::EventSpan => SPAN_EFFECT,
        }
    }
}

/// Whether the time `us` is the shortest, `least`, or level with it: within `bound`, a [`Quantity::level`], of it.
pub fn is_level(us: f64, least: f64, bound: f64) -> bool {
    us <= least * (1.0 + bound)
}

/// Everything that a comparison says.
#[derive(Debug, Clone)]
pub struct Diff {
    /// The side that is compared with, in words.
    pub a: String,
    /// The side that is judged, in words.
    pub b: String,
    /// Whether both are one and the same evidence, so that there is nothing to compare.
    pub same: bool,
    /// On two GPUs, the implementation that each side's times are relative to.
    pub relative_to: Option<String>,
    /// The margin, as a part of 1.
    pub margin: f64,
    /// What changed and what did not.
    pub causes: Causes,
    /// What moved: one row an operation and implementation.
    pub rows: Vec<Row>,
    /// Floors from all controls together.
    pub floors: BTreeMap<Quantity, Floor>,
}

/// Compares B with A.
///
/// # Errors
/// [`Invalid`] where the two GPUs differ and no implementation is on both sides.
pub fn diff(a: &Side, b: &Side, margin: f64) -> Result<Diff, Invalid> {
    let two_gpus = a.gpu() != b.gpu();
    let relative_to = two_gpus.then(|| common_implementation(a, b)).transpose()?;
    let comparison = effects::Comparison {
        a,
        b,
        margin,
        relative_to: relative_to.as_deref(),
    };
    let (rows, floors) = comparison.rows()?;
    Ok(Diff {
        a: a.words(),
        b: b.words(),
        same: a.is_same(b),
        relative_to,
        margin,
        causes: Causes::between(a, b),
        rows,
        floors,
    })
}

fn common_implementation(a: &Side, b: &Side) -> Result<String, Invalid> {
    let there = b.implementations();
    a.implementations()
        .into_iter()
        .find(|name| there.contains(name))
        .ok_or_else(|| {
            Invalid::new(
                "implementations",
                format!("{:?} and {:?}", a.implementations(), there),
                "one that is on both sides, to compare ratios of two GPUs",
            )
        })
}

impl Diff {
    /// Whether the sides are two GPUs.
    pub const fn two_gpus(&self) -> bool {
        self.relative_to.is_some()
    }

    /// Whether rows of this quantity are judged by the floor of the calibrations, for want of controls.
    pub fn by_calibration(&self, quantity: Quantity) -> bool {
        self.rows.iter().any(|row| {
            let floor = row.effect(quantity).and_then(|effect| effect.floor);
            floor.is_some_and(|floor| floor.controls == 0)
        })
    }

    /// All verdicts, each with its row and quantity.
    pub fn verdicts(&self) -> impl Iterator<Item = (&Row, Quantity, &Verdict)> {
        self.rows.iter().flat_map(|row| {
            Quantity::ALL
                .into_iter()
                .filter_map(move |q| row.effect(q).map(|effect| (row, q, &effect.verdict)))
        })
    }

    /// How often each verdict was given, by its word.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for (_, _, verdict) in self.verdicts() {
            *counts.entry(verdict.word()).or_insert(0) += 1;
        }
        counts
    }
}
