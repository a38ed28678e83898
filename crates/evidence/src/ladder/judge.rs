//! What may be said of each variant: against its parent, against its twins, and why it was rejected.
//!
//! The unit is the capture, never the call: all calls of a capture read the same buffers at the same place, which moves a
//! short kernel by percents, the same way in every call. A capture gives one number a variant, the mean of its calls; a
//! ratio is taken within each capture, and the interval comes from how those differ between captures, each a process of
//! its own in which buffers lie elsewhere. What a place does is then part of the scatter, and no bound for it is added. It
//! is only as true as the captures differ: where buffers lay alike in all of them, it is not seen.

use super::{Again, Change, Described, Limit, Status};
use crate::error::Invalid;
use crate::stats::{Floor, Unit, paired, percent};
use crate::verdict::{self, MARGIN, Question, Verdict};

/// The times of one variant, a capture each; none where it was not timed.
#[derive(Debug, Clone, Copy)]
pub struct Times<'a> {
    /// What it is.
    pub variant: &'a Described,
    /// Why its check failed.
    pub failed: Option<&'a str>,
    /// Kernel time in microseconds, a capture each.
    pub captures_us: Option<&'a [f64]>,
}

/// What is derived from the captures' times of one operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The second arm.
    pub again: Option<Again>,
    /// One entry a variant, in their order.
    pub steps: Vec<JudgedStep>,
}

/// What is derived for one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedStep {
    /// Against its parent.
    pub to_parent: Option<Change>,
    /// Why it was rejected.
    pub cause: Option<String>,
    /// Its twins.
    pub limits: Vec<Limit>,
}

/// Judges every variant of one operation. `again` is the second arm, with the name of the variant that it ran.
///
/// # Errors
/// [`Invalid`] where captures differ in number, or a value is no time.
pub fn judge(
    steps: &[Times<'_>],
    again: Option<(&str, &[f64])>,
    throttled: &[String],
) -> Result<Judged, Invalid> {
    let (again, floor) = match again {
        Some((id, second)) => {
            let first = captures(steps, id).ok_or_else(|| {
                Invalid::new("again", format!("a second time of {id}"), "a first one too")
            })?;
            let ratio = paired(first, second, Unit::Capture).map_err(|e| e.under("again"))?;
            let floor = Floor::of_identical(&ratio);
            let again = Again {
                captures_us: second.to_vec(),
                ratio: times(ratio.log),
                floor_percent: floor.map(|floor| rounded(percent(floor.log))),
            };
            (Some(again), floor)
        }
        None => (None, None),
    };
    let steps = steps
        .iter()
        .map(|step| {
            let id = &step.variant.id;
            let change = change(steps, step, floor, throttled).map_err(|e| e.under(id))?;
            Ok(JudgedStep {
                cause: (step.variant.status == Status::Rejected)
                    .then(|| cause(steps, step, change.as_ref())),
                limits: match step.variant.status {
                    Status::Retained => limits(steps, step).map_err(|e| e.under(id))?,
                    _ => Vec::new(),
                },
                to_parent: change.map(|(change, _)| change),
            })
        })
        .collect::<Result<_, Invalid>>()?;
    Ok(Judged { again, steps })
}

/// The ratio of a logarithm.
fn times(log: f64) -> f64 {
    rounded(log.exp())
}

/// To six decimals: logarithms and exponentials differ between machines in their last bits, and evidence does not.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn find<'a>(steps: &'a [Times<'a>], id: &str) -> Option<&'a Times<'a>> {
    steps.iter().find(|step| step.variant.id == id)
}

fn captures<'a>(steps: &'a [Times<'a>], id: &str) -> Option<&'a [f64]> {
    find(steps, id)?.captures_us
}

fn change(
    steps: &[Times<'_>],
    step: &Times<'_>,
    floor: Option<Floor>,
    throttled: &[String],
) -> Result<Option<(Change, Verdict)>, Invalid> {
    let parent = step.variant.parent.as_deref();
    let before = parent.and_then(|parent| captures(steps, parent));
    let (Some(before), Some(after)) = (before, step.captures_us) else {
        return Ok(None);
    };
    let ratio = paired(before, after, Unit::Capture)?;
    let judged = verdict::judge(&Question {
        ratio: &ratio,
        floor,
        // Kernels are timed by the device's own clock, in steps far below any of their durations.
        tick: 0.0,
        throttled,
        unchanged: false,
        margin: MARGIN,
        // A capture is a process of its own, and its place among what scatters.
        process_effect: 0.0,
    });
    let change = Change {
        ratio: times(ratio.log),
        low: judged.interval.map(|interval| times(interval.low)),
        high: judged.interval.map(|interval| times(interval.high)),
        verdict: judged.verdict.word().to_string(),
        why: judged.verdict.why(),
    };
    Ok(Some((change, judged.verdict)))
}

/// Why a variant was rejected, as far as its numbers say.
fn cause(steps: &[Times<'_>], step: &Times<'_>, change: Option<&(Change, Verdict)>) -> String {
    if let Some(failed) = step.failed {
        return format!("its output fails the check: {failed}");
    }
    let parent = step.variant.parent.as_deref().unwrap_or_default();
    let against_parent = match change.map(|(_, verdict)| verdict) {
        None => "it has no time beside its parent's".to_string(),
        Some(Verdict::Faster) => format!("faster than {parent}"),
        Some(Verdict::Slower) => format!("slower than {parent}"),
        Some(Verdict::Equivalent) => format!("no faster than {parent}"),
        Some(other) => format!("not shown to be faster than {parent} ({other})"),
    };
    match (best_retained(steps), step.captures_us.and_then(geometric)) {
        (Some((best, time)), Some(own)) if time < own && best != parent => {
            let less = match takes_less(steps, best, step) {
                true => "takes less time",
                false => "takes no more time, as far as the captures tell",
            };
            format!("{against_parent}, and {best}, which is retained, {less}")
        }
        (Some((best, time)), Some(own)) if time >= own => {
            format!("{against_parent}; {best}, which is retained, takes no less time here")
        }
        _ => against_parent,
    }
}

/// Whether `best` took less time than `step` in every capture.
fn takes_less(steps: &[Times<'_>], best: &str, step: &Times<'_>) -> bool {
    let best = find(steps, best).and_then(|best| best.captures_us);
    let (Some(best), Some(own)) = (best, step.captures_us) else {
        return false;
    };
    best.iter().zip(own).all(|(best, own)| best < own)
}

/// The retained variant of the least kernel time, and that time in microseconds.
fn best_retained<'a>(steps: &[Times<'a>]) -> Option<(&'a str, f64)> {
    let retained = steps
        .iter()
        .filter(|s| s.variant.status == Status::Retained);
    retained
        .filter_map(|step| Some((step.variant.id.as_str(), geometric(step.captures_us?)?)))
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

fn geometric(times: &[f64]) -> Option<f64> {
    crate::stats::geometric_mean(times).ok()
}

/// The twins of `step`, or of the nearest variant that it was made from of which there is one, the largest share first. A twin
/// that surely takes longer than `step` is no limit of it, and counts as none.
fn limits(steps: &[Times<'_>], step: &Times<'_>) -> Result<Vec<Limit>, Invalid> {
    let Some(own) = step.captures_us else {
        return Ok(Vec::new());
    };
    let mut of = Some(step);
    while let Some(held) = of {
        let id = held.variant.id.as_str();
        let twins = steps.iter().filter(|twin| {
            twin.variant.status == Status::Twin && twin.variant.parent.as_deref() == Some(id)
        });
        let mut limits = twins
            .filter_map(|twin| Some((&twin.variant.id, twin.captures_us?)))
            .map(|(twin, of_twin)| {
                let ratio = paired(own, of_twin, Unit::Capture)?;
                let half = ratio.half.ok();
                Ok(Limit {
                    twin: twin.clone(),
                    of: id.to_string(),
                    share: times(ratio.log),
                    low: half.map(|half| times(ratio.log - half)),
                    high: half.map(|half| times(ratio.log + half)),
                })
            })
            .collect::<Result<Vec<_>, Invalid>>()?;
        limits.retain(|limit| limit.low.unwrap_or(limit.share) <= 1.0);
        if !limits.is_empty() {
            limits.sort_by(|a, b| b.share.total_cmp(&a.share));
            return Ok(limits);
        }
        of = held
            .variant
            .parent
            .as_deref()
            .and_then(|parent| find(steps, parent));
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(id: &str, parent: Option<&str>) -> Described {
        serde_json::from_value(serde_json::json!({
            "id": id, "parent": parent, "introduced": "x", "status": "retained", "summary": "s", "changed": "c",
            "expected": "e", "object": "o", "object_sha256": "0".repeat(64),
        }))
        .unwrap()
    }

    fn timed<'a>(variant: &'a Described, captures_us: &'a [f64]) -> Times<'a> {
        Times {
            variant,
            failed: None,
            captures_us: Some(captures_us),
        }
    }

    /// What is said of `after` against `before`; A again differs from A by a thousandth either way.
    fn said(before: &[f64], after: &[f64]) -> String {
        let (parent, child) = (variant("a", None), variant("b", Some("a")));
        let again = before.iter().zip([1.001, 0.999].into_iter().cycle());
        let again: Vec<f64> = again.map(|(us, by)| us * by).collect();
        let steps = [timed(&parent, before), timed(&child, after)];
        let judged = judge(&steps, Some(("a", &again)), &[]).unwrap();
        judged.steps[1].to_parent.as_ref().unwrap().verdict.clone()
    }

    /// A place that makes the one or the other 4% slower, in turn by capture, makes no winner; neither does it hide one.
    #[test]
    fn a_place_that_moves_by_capture_is_scatter_and_no_winner() {
        let placed = |us: f64, first: bool| -> Vec<f64> {
            (0..6)
                .map(|capture| {
                    if (capture % 2 == 0) == first {
                        us * 1.04
                    } else {
                        us
                    }
                })
                .collect()
        };
        assert_eq!(
            said(&placed(7.0, true), &placed(7.0, false)),
            "inconclusive"
        );
        assert_eq!(said(&placed(7.0, true), &placed(6.0, false)), "faster");
        assert_eq!(said(&placed(7.0, true), &placed(7.0, true)), "equivalent");
    }

    /// What is rejected beside a retained variant that is as fast has no slower time.
    #[test]
    fn less_time_is_said_where_it_is_shown() {
        let cause = |of_kept: [f64; 3]| {
            let (parent, kept) = (variant("a", None), variant("b", Some("a")));
            let mut rejected = variant("c", Some("a"));
            rejected.status = Status::Rejected;
            let steps = [
                timed(&parent, &[9.0, 9.0, 9.1]),
                timed(&kept, &of_kept),
                timed(&rejected, &[5.0, 5.1, 5.0]),
            ];
            judge(&steps, None, &[]).unwrap().steps[2]
                .cause
                .clone()
                .unwrap()
        };
        let shown = cause([4.0, 4.1, 4.0]);
        assert!(
            shown.ends_with("and b, which is retained, takes less time"),
            "{shown}"
        );
        let level = cause([5.05, 4.9, 5.1]);
        assert!(
            level.ends_with("takes no more time, as far as the captures tell"),
            "{level}"
        );
    }

    /// A twin that does other work than what it is a twin of bounds nothing.
    #[test]
    fn a_twin_that_takes_longer_is_no_limit() {
        let shares = |of_twin: [f64; 3]| -> Vec<f64> {
            let kernel = variant("a", None);
            let mut twin = variant("t", Some("a"));
            twin.status = Status::Twin;
            let steps = [timed(&kernel, &[5.0, 5.0, 5.1]), timed(&twin, &of_twin)];
            let judged = judge(&steps, None, &[]).unwrap();
            judged.steps[0]
                .limits
                .iter()
                .map(|limit| limit.share)
                .collect()
        };
        assert_eq!(shares([400.0, 401.0, 402.0]), Vec::<f64>::new());
        // What differs by less than captures do is as fast as its limit.
        for of_twin in [[4.0, 4.1, 4.0], [5.1, 5.0, 5.0]] {
            assert_eq!(shares(of_twin).len(), 1, "{of_twin:?}");
        }
    }
}
