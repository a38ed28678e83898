//! What is judged within one namespace, its implementations against each other.

use super::Outcome;
use super::judge::{Finding, bound, untestable};
use super::statistic::mean_us;
use crate::diff::{Quantity, Side, signed};
use crate::error::Invalid;
use crate::implementation::label;
use crate::operation::Operation;
use crate::stats::{Ratio, Unit, paired, unpaired};

/// `4.353 us`: to the nanosecond where a bound may be that near.
pub(super) fn us(time: f64) -> String {
    match time < 10.0 {
        true => format!("{time:.3} us"),
        false => format!("{time:.2} us"),
    }
}

/// Whether an implementation takes less time than every other: each by an interval that excludes 1, and by more than what is
/// [level](Quantity::level). Rounds are pairs of one session; captures are processes of their own.
pub(super) fn leads(
    side: &Side,
    quantity: Quantity,
    operation: Operation,
    implementation: &str,
) -> Result<Finding, Invalid> {
    let Some(own) = mean_us(side, quantity, operation, implementation)? else {
        return Ok(untestable("not measured"));
    };
    let mut others = Vec::new();
    for name in side.implementations() {
        if name != implementation
            && let Some(mean) = mean_us(side, quantity, operation, &name)?
        {
            others.push((mean, name));
        }
    }
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((next, name)) = others.first() else {
        return Ok(untestable("no other implementation was measured"));
    };
    let figure = Some(format!(
        "{}; best of the others: {}, {} ({})",
        us(own),
        label(name),
        us(*next),
        signed((next / own - 1.0) * 100.0)
    ));
    // Where there is an interval, there are several captures.
    let bound = quantity.level(true);
    let (mut ahead, mut level, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for (_, name) in &others {
        let Some(ratio) = ratio(side, quantity, operation, name, implementation)? else {
            open.push(format!("{}: not measured alike", label(name)));
            continue;
        };
        match ratio.half {
            Err(few) => open.push(format!("{}: {few}", label(name))),
            Ok(half) => match rank(ratio.log, half, bound) {
                Rank::First => {}
                Rank::Level => level.push(label(name)),
                Rank::Behind => ahead.push(label(name)),
                Rank::Open => open.push(format!("{}: the interval holds 1", label(name))),
            },
        }
    }
    Ok(if !ahead.is_empty() {
        let why = format!("behind {}", ahead.join(", "));
        (figure, Outcome::NotReproduced, why)
    } else if !level.is_empty() {
        let percent = bound * 100.0;
        let why = format!("level with {}: within {percent:.1}%", level.join(", "));
        (figure, Outcome::NotReproduced, why)
    } else if !open.is_empty() {
        (figure, Outcome::NotTestable, open.join("; "))
    } else {
        (figure, Outcome::Reproduced, String::new())
    })
}

/// The place of a time beside another.
#[derive(Debug, PartialEq, Eq)]
enum Rank {
    First,
    Level,
    Behind,
    Open,
}

/// By the logarithm of their ratio, the half width of its interval, and what is level, a part of 1.
fn rank(log: f64, half: f64, bound: f64) -> Rank {
    match log.abs() <= bound.ln_1p() {
        true => Rank::Level,
        false if log + half < 0.0 => Rank::First,
        false if log - half > 0.0 => Rank::Behind,
        false => Rank::Open,
    }
}

/// The ratio of the times of `own` to those of `other`.
fn ratio(
    side: &Side,
    quantity: Quantity,
    operation: Operation,
    other: &str,
    own: &str,
) -> Result<Option<Ratio>, Invalid> {
    match quantity {
        Quantity::EventSpan => {
            let of = |name| side.spans(operation, name);
            match (of(other)?, of(own)?) {
                (Some(a), Some(b)) => paired(&a.rounds_us, &b.rounds_us, Unit::Round).map(Some),
                _ => Ok(None),
            }
        }
        Quantity::KernelTime => {
            let of = |name| side.kernels(operation, name);
            match (of(other)?, of(own)?) {
                (Some(a), Some(b)) => {
                    unpaired(&a.captures_us, &b.captures_us, Unit::Capture).map(Some)
                }
                _ => Ok(None),
            }
        }
    }
}

/// Whether the largest error against FP64 of an implementation, over all rounds, is no larger than another's.
pub(super) fn no_larger_error(
    side: &Side,
    operation: Operation,
    implementation: &str,
    than: &str,
) -> Finding {
    let results = side
        .results()
        .into_iter()
        .flat_map(|results| &results.results);
    let rounds: Vec<_> = results
        .filter(|of| of.op == operation)
        .flat_map(|of| &of.rounds)
        .collect();
    let error = |name: &str| -> Option<f64> {
        let errors = rounds.iter().map(|round| {
            let case = round.implementations.get(name)?;
            case.correctness.max_abs_error_fp64
        });
        let errors: Vec<f64> = errors.collect::<Option<_>>()?;
        errors.into_iter().reduce(f64::max)
    };
    match (error(implementation), error(than)) {
        (Some(own), Some(other)) => (
            Some(format!("{own:.2e} against {other:.2e}")),
            bound(own <= other),
            String::new(),
        ),
        _ => untestable("no error against FP64 of both"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_level_is_neither_first_nor_behind() {
        let span = Quantity::EventSpan.level(true);
        let kernel = Quantity::KernelTime.level(true);
        for (change, half, bound, expected) in [
            (-0.10, 0.01, span, Rank::Level),
            (-0.15, 0.01, span, Rank::First),
            (0.15, 0.01, span, Rank::Behind),
            (-0.02, 0.001, kernel, Rank::Level),
            (0.02, 0.001, kernel, Rank::Level),
            (-0.05, 0.01, kernel, Rank::First),
            (-0.05, 0.10, kernel, Rank::Open),
            (0.05, 0.10, kernel, Rank::Open),
        ] {
            let log = f64::ln_1p(change);
            assert_eq!(rank(log, half, bound), expected, "{change} {half}");
        }
    }
}
