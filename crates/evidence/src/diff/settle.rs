//! The command that would settle what a comparison leaves open.

use super::{Quantity, Side};
use crate::operation::Operation;
use crate::stats::MIN_UNITS;
use crate::verdict::{PROCESS_EFFECT, Reason, Verdict};

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
    let session = (quantity == Quantity::EventSpan)
        .then(|| one_session(case, a, b))
        .flatten();
    if let (
        Some(command),
        Reason::NoControl | Reason::TooFew(_) | Reason::TooWide { .. } | Reason::BelowFloor { .. },
    ) = (session, reason)
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
        // Another run has another start, which can do the same again: what settles it is both in one process, as far as
        // that does less by itself, or processes for a unit.
        Reason::ProcessEffect(by) => match one_session(case, a, b) {
            Some(command) if quantity == Quantity::EventSpan && *by > PROCESS_EFFECT * 100.0 => {
                command
            }
            _ if quantity == Quantity::EventSpan && many_captures(case, a, b) => {
                return None;
            }
            _ => captures(a, b),
        },
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
        measured(side, "rounds", &format!(" --rounds {rounds}"), "")
    })
}

/// More captures than an interval takes at least, each a process of its own.
fn captures(a: &Side, b: &Side) -> String {
    both(a, b, |side| measured(side, "captures", "", " --captures 5"))
}

/// Whether kernel time has its interval from processes on both sides.
fn many_captures((operation, implementation): (Operation, &str), a: &Side, b: &Side) -> bool {
    [a, b].into_iter().all(|side| {
        let kernels = side.kernels(operation, implementation);
        let captures = kernels.ok().flatten().map_or(0, |k| k.captures_us.len());
        captures >= MIN_UNITS
    })
}

/// A whole set of results with other numbers than the experiment's: samples and captures of one namespace go together.
fn measured(side: &Side, suffix: &str, samples: &str, captures: &str) -> String {
    let experiment = side.experiment();
    let namespace = format!("{experiment}-{suffix}");
    let of = format!("--experiment {experiment} --namespace {namespace}");
    format!(
        "cargo run --release -p mage-harness -- run {of}{samples} && cargo run --release -p mage-profile -- run {of}{captures} --inputs artifacts/{namespace}-kernels/inputs && cargo run --release -p mage-export -- --namespace {namespace}"
    )
}

/// The command for A, and a word that B takes the same.
fn both(a: &Side, b: &Side, command: impl Fn(&Side) -> String) -> String {
    let of_a = command(a);
    match a.experiment() == b.experiment() {
        true => of_a,
        false => format!("{of_a}, and the same for {}", b.experiment()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn side(namespace: &str) -> Side {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Side::read(namespace, &root.join("docs/assets/results").join(namespace)).unwrap()
    }

    /// What one more run of the same cannot tell, it is not asked to.
    #[test]
    fn what_a_start_does_by_itself_is_not_settled_by_another_start() {
        let (a, b) = (side("mage-001"), side("mage-002"));
        let command = |by, quantity, operation| {
            let verdict = Verdict::Inconclusive(Reason::ProcessEffect(by));
            settle(&verdict, quantity, (operation, "rust"), &a, &b).unwrap()
        };
        let (span, kernel) = (Quantity::EventSpan, Quantity::KernelTime);
        // Two variants, and more than one process does by itself.
        let session = command(5.0, span, Operation::Matmul);
        assert!(session.contains("mage-harness -- ab "), "{session}");
        for other in [
            command(2.0, span, Operation::Matmul),
            command(5.0, kernel, Operation::Matmul),
            command(5.0, span, Operation::Gelu),
        ] {
            assert!(other.contains("--captures 5"), "{other}");
            assert!(!other.contains("xtask reproduce"), "{other}");
            let export = "mage-export -- --namespace mage-001-captures, and the same for mage-002";
            assert!(other.ends_with(export), "{other}");
        }
    }
}
