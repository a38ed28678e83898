//! The judgement of claims by the evidence of one machine.

use super::statistic::{
    change_words, largest, launches_change, launches_words, mean_us, resources_words, sources,
    variant,
};
use super::{Bound, By, Claims, Field, Of, Part, Statistic, own};
use crate::counts::Counts;
use crate::diff::{Diff, Quantity, Side, Status, diff, signed};
use crate::error::Invalid;
use crate::implementation;
use crate::operation::Operation;
use crate::stats::percent;
use crate::verdict::Verdict;

/// What the evidence says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Its bound holds here.
    Reproduced,
    /// Its bound does not hold here.
    NotReproduced,
    /// This evidence cannot say.
    NotTestable,
}

/// All claims about an experiment, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdicts {
    /// The evidence that was judged by, in words.
    pub experiment: String,
    /// The evidence that it was compared with, in words; none where there is none.
    pub baseline: Option<String>,
    /// Who claims.
    pub by: By,
    /// The GPU that the published figures are of; none for goals.
    pub published_gpu: Option<String>,
    /// Each claim.
    pub claims: Vec<Judged>,
}

/// One claim, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its number.
    pub number: u32,
    /// What is claimed.
    pub statement: String,
    /// Its parts.
    pub parts: Vec<JudgedPart>,
}

/// One part of a claim, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedPart {
    /// What it is about.
    pub about: String,
    /// The figure that was published.
    pub published: String,
    /// The figure here, where there is one.
    pub figure: Option<String>,
    /// Whether it is reproduced.
    pub outcome: Outcome,
    /// Why, where the figures do not say it.
    pub why: String,
}

impl Judged {
    /// Not reproduced where a part is not; reproduced where all parts are; else not testable.
    pub fn outcome(&self) -> Outcome {
        let of = |outcome| self.parts.iter().filter(move |p| p.outcome == outcome);
        if of(Outcome::NotReproduced).next().is_some() {
            Outcome::NotReproduced
        } else if of(Outcome::NotTestable).next().is_some() {
            Outcome::NotTestable
        } else {
            Outcome::Reproduced
        }
    }
}

/// A figure, what follows from it, and why.
pub(super) type Finding = (Option<String>, Outcome, String);

/// Judges claims by the evidence of an experiment and, where they are there, of its baseline and what its kernels
/// are counted to do.
///
/// # Errors
/// [`Invalid`] where the evidence contradicts itself.
pub fn judge(
    claims: &Claims,
    baseline: Option<&Side>,
    experiment: &Side,
    counts: Option<&Counts>,
    margin: f64,
) -> Result<Verdicts, Invalid> {
    let comparison = baseline
        .map(|baseline| diff(baseline, experiment, margin).map(|diff| (baseline, diff)))
        .transpose()?;
    let evidence = Evidence {
        claims,
        experiment,
        counts,
        comparison: comparison.as_ref().map(|(side, diff)| (*side, diff)),
    };
    let mut judged = Vec::new();
    for claim in &claims.claims {
        let mut parts = Vec::new();
        for part in &claim.parts {
            let (figure, outcome, why) = evidence
                .part(claim.number, part)
                .map_err(|e| e.under(&format!("claim {}", claim.number)))?;
            parts.push(JudgedPart {
                about: part.statistic.about(),
                published: part.published.clone(),
                figure,
                outcome,
                why,
            });
        }
        judged.push(Judged {
            number: claim.number,
            statement: claim.statement.clone(),
            parts,
        });
    }
    Ok(Verdicts {
        experiment: experiment.words(),
        baseline: baseline.map(Side::words),
        by: claims.by(),
        published_gpu: claims.gpu.clone(),
        claims: judged,
    })
}

struct Evidence<'a> {
    claims: &'a Claims,
    experiment: &'a Side,
    counts: Option<&'a Counts>,
    comparison: Option<(&'a Side, &'a Diff)>,
}

pub(super) fn untestable(why: impl Into<String>) -> Finding {
    (None, Outcome::NotTestable, why.into())
}

pub(super) fn bound(holds: bool) -> Outcome {
    match holds {
        true => Outcome::Reproduced,
        false => Outcome::NotReproduced,
    }
}

impl Evidence<'_> {
    fn part(&self, number: u32, part: &Part) -> Result<Finding, Invalid> {
        Ok(match &part.statistic {
            Statistic::Checks => self.checks(part),
            Statistic::Change {
                quantity,
                operation,
                implementation,
            } => return self.change(part, *quantity, *operation, implementation),
            Statistic::Launches { implementation } => {
                match launches_words(self.experiment, implementation)? {
                    Some(figure) => as_published(part, figure),
                    None => untestable("no captures of every operation"),
                }
            }
            Statistic::LaunchesChange => match self.both() {
                Err(why) => untestable(why),
                Ok((_, diff)) => match launches_change(diff) {
                    None => untestable("no captures of every case on both sides"),
                    Some(changed) if changed.is_empty() => as_published(part, "unchanged".into()),
                    Some(changed) => as_published(part, changed.join("; ")),
                },
            },
            Statistic::Resources {
                of,
                operation,
                implementation,
                show,
            } => {
                let side = match self.side(*of) {
                    Ok(side) => side,
                    Err(why) => return Ok(untestable(why)),
                };
                let kernels = side.kernels(*operation, implementation)?;
                match kernels.and_then(|k| k.resources) {
                    Some(resources) => {
                        self.resources(part, resources_words(&resources, show), show)
                    }
                    None => untestable("no capture of one kernel"),
                }
            }
            Statistic::Ratio {
                quantity,
                operation,
                implementation,
                to,
            } => return self.ratio(part, *quantity, *operation, implementation, to),
            Statistic::Time {
                quantity,
                operation,
                implementation,
            } => {
                let mean = mean_us(self.experiment, *quantity, *operation, implementation)?;
                match (mean, part.bound) {
                    (Some(mean), Bound::AtMost { us }) => {
                        (Some(own::us(mean)), bound(mean <= us), String::new())
                    }
                    _ => untestable("not measured"),
                }
            }
            Statistic::Leads {
                quantity,
                operation,
                implementation,
            } => return own::leads(self.experiment, *quantity, *operation, implementation),
            Statistic::NoLargerError {
                operation,
                implementation,
                than,
            } => own::no_larger_error(self.experiment, *operation, implementation, than),
            Statistic::Noisier => return self.noisier(),
            Statistic::Sources => match self.both() {
                Err(why) => untestable(why),
                Ok((_, diff)) => match sources(diff) {
                    Some((holds, figure)) => (Some(figure), bound(holds), String::new()),
                    None => untestable("the evidence does not record its sources"),
                },
            },
            Statistic::Counted {
                of,
                operation,
                variant,
            } => self.counted(number, part, *of, *operation, variant),
            Statistic::NotInEvidence { why, .. } => untestable(why.clone()),
        })
    }

    /// Registers are given out by the driver's compiler, for the GPU at hand; blocks and shared bytes are the
    /// program's own.
    fn resources(&self, part: &Part, figure: String, show: &[Field]) -> Finding {
        let (figure, outcome, mut why) = as_published(part, figure);
        let elsewhere = self.claims.gpu.as_deref() != Some(self.experiment.gpu());
        if outcome == Outcome::NotReproduced && elsewhere && show.contains(&Field::Registers) {
            why = format!("compiled for {}", self.experiment.gpu());
        }
        (figure, outcome, why)
    }

    fn side(&self, of: Of) -> Result<&Side, String> {
        match (of, self.comparison) {
            (Of::Experiment, _) => Ok(self.experiment),
            (Of::Baseline, Some((side, _))) => Ok(side),
            (Of::Baseline, None) => Err(self.no_baseline()),
        }
    }

    /// A sentence about what a kernel does, by its counts; they stand for what was measured only where that kernel
    /// ran.
    fn counted(&self, claim: u32, part: &Part, of: Of, op: Operation, id: &str) -> Finding {
        let side = match self.side(of) {
            Ok(side) => side,
            Err(why) => return untestable(why),
        };
        match variant(side, op) {
            Some(ran) if ran == id => {}
            Some(ran) => return untestable(format!("{} ran {ran}", side.name())),
            None => return untestable(format!("{} does not say what ran", side.name())),
        }
        let experiment = &self.claims.experiment;
        let finding = self
            .counts
            .and_then(|counts| counts.finding(claim, id, &part.published));
        let Some(finding) = finding else {
            return untestable(format!(
                "docs/structure/{experiment}.json has no count of it; cargo xtask structure --experiment {experiment} --write"
            ));
        };
        let outcome = match finding.verdict.as_str() {
            "reproduced" => Outcome::Reproduced,
            "not_reproduced" => Outcome::NotReproduced,
            _ => return untestable(finding.counted.clone()),
        };
        let why = "counted by running the kernel's source on the CPU";
        (Some(finding.counted.clone()), outcome, why.into())
    }

    fn no_baseline(&self) -> String {
        let baseline = &self.claims.baseline;
        format!("no evidence of {baseline} here; cargo xtask reproduce --experiment {baseline}")
    }

    /// Both sides on one GPU, or why not.
    fn both(&self) -> Result<(&Side, &Diff), String> {
        match self.comparison {
            None => Err(self.no_baseline()),
            Some((side, diff)) if diff.two_gpus() => Err(format!(
                "{} was measured on another GPU, {}",
                side.name(),
                side.gpu()
            )),
            Some(both) => Ok(both),
        }
    }

    fn checks(&self, part: &Part) -> Finding {
        match self.experiment.results() {
            Some(results) => {
                let (passed, all) = (results.passed_checks(), results.checks());
                let (figure, outcome, _) = as_published(part, format!("{passed} of {all}"));
                // More rounds make more checks: what is claimed is that all pass.
                let outcome = match passed == all && all > 0 {
                    true => Outcome::Reproduced,
                    false => outcome,
                };
                (figure, outcome, String::new())
            }
            None => untestable("published values have no checks"),
        }
    }

    fn change(
        &self,
        part: &Part,
        quantity: Quantity,
        operation: Operation,
        implementation: &str,
    ) -> Result<Finding, Invalid> {
        let (baseline, diff) = match self.both() {
            Ok(both) => both,
            Err(why) => return Ok(untestable(why)),
        };
        let mean = |side| mean_us(side, quantity, operation, implementation);
        let (Some(before), Some(after)) = (mean(baseline)?, mean(self.experiment)?) else {
            return Ok(untestable("not measured on both sides"));
        };
        let effect = diff
            .rows
            .iter()
            .find(|row| row.operation == operation && row.implementation == implementation)
            .and_then(|row| row.effect(quantity));
        let Some(effect) = effect else {
            return Ok(untestable("not measured on both sides"));
        };
        let figure = Some(change_words(before, after));
        if let Verdict::Unmatched(why) = &effect.verdict {
            return Ok((figure, Outcome::NotTestable, why.clone()));
        }
        Ok(match part.bound {
            Bound::Within { percent } => {
                let change = ((after / before - 1.0) * 100.0).abs();
                (figure, bound(change <= percent), String::new())
            }
            _ => {
                let interval = effect.interval.map_or_else(String::new, |i| {
                    let (low, high) = (signed(percent(i.low)), signed(percent(i.high)));
                    format!(", {low} to {high}")
                });
                match &effect.verdict {
                    Verdict::Faster => (figure, Outcome::Reproduced, format!("faster{interval}")),
                    Verdict::Slower | Verdict::Equivalent => (
                        figure,
                        Outcome::NotReproduced,
                        format!("{}{interval}", effect.verdict.word()),
                    ),
                    open => {
                        let settle = effect
                            .settle
                            .as_ref()
                            .map_or_else(String::new, |command| format!("; {command}"));
                        (figure, Outcome::NotTestable, format!("{open}{settle}"))
                    }
                }
            }
        })
    }

    fn ratio(
        &self,
        part: &Part,
        quantity: Quantity,
        operation: Operation,
        implementation: &str,
        to: &str,
    ) -> Result<Finding, Invalid> {
        let mean = |name| mean_us(self.experiment, quantity, operation, name);
        let (Some(time), Some(other)) = (mean(implementation)?, mean(to)?) else {
            return Ok(untestable("not measured in both implementations"));
        };
        let ratio = time / other;
        let figure = Some(format!("{ratio:.2}x"));
        if let Bound::Level { percent } = part.bound {
            let level = (ratio - 1.0).abs() * 100.0 <= percent;
            let why = match level {
                true => String::new(),
                false => format!("more than {percent}% from level"),
            };
            return Ok((figure, bound(level), why));
        }
        let floor = self
            .comparison
            .and_then(|(_, diff)| diff.floors.get(&quantity));
        Ok(match floor {
            Some(floor) if ratio.ln().abs() <= floor.log => (
                figure,
                Outcome::NotTestable,
                format!("within the noise floor of {:.1}%", percent(floor.log)),
            ),
            _ if ratio > 1.0 => (figure, Outcome::Reproduced, String::new()),
            _ => (
                figure,
                Outcome::NotReproduced,
                format!("{} is ahead", implementation::label(implementation)),
            ),
        })
    }

    fn noisier(&self) -> Result<Finding, Invalid> {
        let (baseline, diff) = match self.both() {
            Ok(both) => both,
            Err(why) => return Ok(untestable(why)),
        };
        let controls = || {
            diff.rows
                .iter()
                .filter(|row| row.standing.status == Status::Control)
        };
        let span = largest(baseline, self.experiment, Quantity::EventSpan, controls())?;
        let rust = controls().filter(|row| row.implementation == "rust");
        let kernel = largest(baseline, self.experiment, Quantity::KernelTime, rust)?;
        let (Some(span), Some(kernel)) = (span, kernel) else {
            return Ok(untestable("no case whose code is the same on both sides"));
        };
        Ok((
            Some(noisier_words(
                (span.0, span.1.operation, &span.1.implementation),
                (kernel.0, kernel.1.operation),
            )),
            bound(span.0 > kernel.0),
            String::new(),
        ))
    }
}

/// `spans up to 66.3% (...), kernel time of Rust's controls up to 1.7% (...)`.
pub(super) fn noisier_words(span: (f64, Operation, &str), kernel: (f64, Operation)) -> String {
    format!(
        "spans up to {:.1}% ({}, {}), kernel time of Rust's controls up to {:.1}% ({})",
        span.0,
        span.1.label(),
        implementation::label(span.2),
        kernel.0,
        kernel.1.label()
    )
}

fn as_published(part: &Part, figure: String) -> Finding {
    let same = figure == part.published;
    (Some(figure), bound(same), String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use std::path::Path;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn published(name: &str) -> Side {
        let path = root().join(format!("experiments/published/{name}.json"));
        Side::read_published(name, &path).unwrap()
    }

    /// Every published figure that the published values can give is what they give: none is mistyped.
    #[test]
    fn published_figures_are_those_of_the_published_values() {
        let claims = Claims::read(&Claims::path(&root(), "mage-002")).unwrap();
        let (a, b) = (published(&claims.baseline), published(&claims.experiment));
        assert_eq!(claims.gpu.as_deref(), Some(b.gpu()));
        let both = diff(&a, &b, 0.01).unwrap();
        let variant = |name: &str, op| {
            let spec = Experiment::load(&root(), name).unwrap();
            spec.case(op).unwrap().variant.clone()
        };
        let mut checked = 0;
        for part in claims.claims.iter().flat_map(|claim| &claim.parts) {
            let figure = match &part.statistic {
                Statistic::Change {
                    quantity,
                    operation,
                    implementation,
                } => {
                    let mean = |side| mean_us(side, *quantity, *operation, implementation).unwrap();
                    change_words(mean(&a).unwrap(), mean(&b).unwrap())
                }
                Statistic::Ratio {
                    quantity,
                    operation,
                    implementation,
                    to,
                } => {
                    let mean = |name| mean_us(&b, *quantity, *operation, name).unwrap().unwrap();
                    format!("{:.2}x", mean(implementation) / mean(to))
                }
                Statistic::Launches { implementation } => {
                    launches_words(&b, implementation).unwrap().unwrap()
                }
                Statistic::LaunchesChange => {
                    assert!(launches_change(&both).unwrap().is_empty());
                    "unchanged".into()
                }
                Statistic::Noisier => {
                    // Published values have no hashes: what is unchanged is read from the experiments.
                    let unchanged = || {
                        both.rows.iter().filter(|row| {
                            let op = row.operation;
                            row.implementation != "rust"
                                || variant("mage-001", op) == variant("mage-002", op)
                        })
                    };
                    let span = largest(&a, &b, Quantity::EventSpan, unchanged());
                    let (span, of) = span.unwrap().unwrap();
                    let rust = unchanged().filter(|row| row.implementation == "rust");
                    let kernel = largest(&a, &b, Quantity::KernelTime, rust);
                    let (kernel, of_kernel) = kernel.unwrap().unwrap();
                    noisier_words(
                        (span, of.operation, &of.implementation),
                        (kernel, of_kernel.operation),
                    )
                }
                _ => continue,
            };
            assert_eq!(figure, part.published, "{}", part.statistic.about());
            checked += 1;
        }
        assert!(checked >= 16, "{checked}");
    }

    #[test]
    fn without_a_baseline_comparisons_are_not_testable() {
        let claims = Claims::read(&Claims::path(&root(), "mage-002")).unwrap();
        let verdicts = judge(&claims, None, &published("mage-002"), None, 0.01).unwrap();
        let matmul = &verdicts.claims[1];
        assert_eq!(matmul.outcome(), Outcome::NotTestable);
        assert!(
            matmul.parts[0]
                .why
                .contains("reproduce --experiment mage-001")
        );
        // Ratios within one namespace need no baseline.
        assert_eq!(verdicts.claims[9].parts[0].outcome, Outcome::Reproduced);
        assert_eq!(verdicts.claims[9].parts[0].figure.as_deref(), Some("2.60x"));
    }
}
