//! The command that would settle what a comparison leaves open.

use super::{Quantity, Side};
use crate::operation::Operation;
use crate::stats::MIN_UNITS;
use crate::verdict::{Reason, Verdict};

/// The command, where one would help; `case` is the operation and implementation.
pub(super) fn settle(
    verdict: &Verdict,
    quantity: Quantity,
    case: (Operation, &str),
    a: &Side,
    b: &Side,
) -> Option<String> {
    let Verdict::Inconclusive(reason) = verdict else {
        return None;
    };
    // Two variants in one session are their own controls, and pairs are narrower than runs.
    let one_session = (quantity == Quantity::EventSpan)
        .then(|| one_session(case, a, b))
        .flatten();
    if let (
        Some(command),
        Reason::NoControl | Reason::TooFew(_) | Reason::TooWide { .. } | Reason::BelowFloor { .. },
    ) = (one_session, reason)
    {
        return Some(command);
    }
    Some(match reason {
        // One experiment on two GPUs is all that there is to measure.
        Reason::TwoGpus if a.experiment() == b.experiment() => return None,
        Reason::TwoGpus => format!("on {}: {}", b.gpu(), reproduce(a)),
        Reason::PublishedOnly => {
            let published = if a.results().is_none() { a } else { b };
            format!("on {}: {}", published.gpu(), both(a, b, reproduce))
        }
        Reason::NoControl => format!(
            "both from one build on one machine: {}",
            both(a, b, reproduce)
        ),
        Reason::Throttled(_) => {
            format!(
                "when the GPU is cool and not shared: {}",
                both(a, b, reproduce)
            )
        }
        Reason::BelowTick { .. } => captures(a, b),
        Reason::ProcessEffect(_) => both(a, b, reproduce),
        Reason::TooFew(_)
        | Reason::TooWide { .. }
        | Reason::BelowFloor { .. }
        | Reason::SingleCapture { .. }
        | Reason::UnchangedMoved(_) => match quantity {
            Quantity::KernelTime => captures(a, b),
            Quantity::EventSpan => rounds(a, b),
        },
    })
}

/// The comparison of two kernel variants in one session, where the sides ran two.
fn one_session(
    (operation, implementation): (Operation, &str),
    a: &Side,
    b: &Side,
) -> Option<String> {
    let of_a = a.variant(operation, implementation)?;
    let of_b = b.variant(operation, implementation)?;
    (of_a != of_b).then(|| {
        let experiment = b.experiment();
        format!(
            "cargo run --release -p mage-harness -- ab --experiment {experiment} --op {operation} --a {of_a} --b {of_b}"
        )
    })
}

fn reproduce(side: &Side) -> String {
    let experiment = side.experiment();
    format!("cargo xtask reproduce --experiment {experiment} --namespace {experiment}-again")
}

fn rounds(a: &Side, b: &Side) -> String {
    let rounds = [a, b]
        .iter()
        .filter_map(|side| side.results())
        .map(|results| results.rounds as usize)
        .fold(MIN_UNITS, usize::max)
        * 4;
    both(a, b, |side| {
        let experiment = side.experiment();
        format!(
            "cargo run --release -p mage-harness -- run --experiment {experiment} --rounds {rounds} --namespace {experiment}-rounds"
        )
    })
}

fn captures(a: &Side, b: &Side) -> String {
    both(a, b, |side| {
        let experiment = side.experiment();
        format!(
            "cargo run --release -p mage-profile -- run --experiment {experiment} --captures 5 --inputs artifacts/{experiment}-kernels/inputs --namespace {experiment}-captures"
        )
    })
}

/// The command for A, and a word that B takes the same.
fn both(a: &Side, b: &Side, command: impl Fn(&Side) -> String) -> String {
    let of_a = command(a);
    match a.experiment() == b.experiment() {
        true => of_a,
        false => format!("{of_a}, and the same for {}", b.experiment()),
    }
}
