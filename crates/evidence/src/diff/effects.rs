//! What moved: one row a case, one effect a time.

use super::causes::inputs;
use super::settle::settle;
use super::side::{Kernels, Spans};
use super::status::{Standing, Status, elsewhere};
use super::{Quantity, Side};
use crate::error::Invalid;
use crate::operation::Operation;
use crate::stats::{self, Floor, MIN_CONTROLS, Ratio, Unit, geometric_mean};
use crate::verdict::{
    Interval, Judgement, KERNEL_TIME_EFFECT, Question, Reason, SPAN_EFFECT, Verdict, judge,
};
use std::collections::BTreeMap;

/// One operation in one implementation, on both sides.
#[derive(Debug, Clone)]
pub struct Row {
    /// Which operation.
    pub operation: Operation,
    /// Which implementation.
    pub implementation: String,
    /// Whether its code changed.
    pub standing: Standing,
    /// Kernel time; none where it was measured on neither side.
    pub kernel_time: Option<Effect>,
    /// Event spans; none where they were measured on neither side.
    pub event_span: Option<Effect>,
    /// Kernels on side A, where they are known.
    pub kernels_a: Option<Kernels>,
    /// Kernels on side B, where they are known.
    pub kernels_b: Option<Kernels>,
}

impl Row {
    /// The effect on one of the times.
    pub const fn effect(&self, quantity: Quantity) -> Option<&Effect> {
        match quantity {
            Quantity::KernelTime => self.kernel_time.as_ref(),
            Quantity::EventSpan => self.event_span.as_ref(),
        }
    }
}

/// One time on both sides.
#[derive(Debug, Clone)]
pub struct Effect {
    /// On side A: microseconds, or on two GPUs the ratio to the common implementation.
    pub a: Option<f64>,
    /// On side B.
    pub b: Option<f64>,
    /// B to A, where both are there.
    pub ratio: Option<Ratio>,
    /// Units on side A and B.
    pub units: [usize; 2],
    /// The interval that decides.
    pub interval: Option<Interval>,
    /// The floor that it was judged against.
    pub floor: Option<Floor>,
    /// What may be said.
    pub verdict: Verdict,
    /// The command that would settle it, where there is one.
    pub settle: Option<String>,
}

/// What is compared, and how.
pub(super) struct Comparison<'a> {
    pub a: &'a Side,
    pub b: &'a Side,
    pub margin: f64,
    pub relative_to: Option<&'a str>,
}

/// What one side measured of one time.
#[derive(Debug, Clone)]
struct Measured {
    /// One number a unit.
    units: Vec<f64>,
    /// The number that stands where the other side has no units.
    mean: f64,
    /// Step of the clock, where it matters.
    tick_us: Option<f64>,
    throttled: Vec<String>,
    /// Published, so that only `mean` is there.
    published: bool,
}

/// A case before it is judged.
struct Case {
    operation: Operation,
    implementation: String,
    standing: Standing,
    kernels: [Option<Kernels>; 2],
    measured: BTreeMap<Quantity, [Option<Measured>; 2]>,
    ratios: BTreeMap<Quantity, Ratio>,
    /// Why the sides are not comparable.
    apart: Option<String>,
}

impl Case {
    /// Which operation in which implementation.
    fn of(&self) -> (Operation, &str) {
        (self.operation, &self.implementation)
    }
}

impl Comparison<'_> {
    /// All rows, and the floors of all controls together.
    pub fn rows(&self) -> Result<(Vec<Row>, BTreeMap<Quantity, Floor>), Invalid> {
        let cases = self.cases()?;
        let mut floors = BTreeMap::new();
        for quantity in Quantity::ALL {
            let all: Vec<f64> = controls(&cases, quantity).map(|(_, log)| log).collect();
            if let Some(floor) = Floor::of_controls(&all) {
                floors.insert(quantity, floor);
            }
        }
        let mut rows = Vec::new();
        for (i, case) in cases.iter().enumerate() {
            let mut effects = Quantity::ALL
                .map(|quantity| self.effect(&cases, i, quantity))
                .into_iter();
            let mut next = || effects.next().transpose().map(Option::flatten);
            let (kernel_time, event_span) = (next()?, next()?);
            let [kernels_a, kernels_b] = case.kernels.clone();
            rows.push(Row {
                operation: case.operation,
                implementation: case.implementation.clone(),
                standing: case.standing.clone(),
                kernel_time,
                event_span,
                kernels_a,
                kernels_b,
            });
        }
        Ok((rows, floors))
    }

    fn cases(&self) -> Result<Vec<Case>, Invalid> {
        let mut operations: Vec<Operation> =
            self.a.operations().into_iter().map(|(op, _)| op).collect();
        for (op, _) in self.b.operations() {
            if !operations.contains(&op) {
                operations.push(op);
            }
        }
        let mut names = self.a.implementations();
        for name in self.b.implementations() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        crate::implementation::sort(&mut names);
        let mut cases = Vec::new();
        for op in operations {
            for name in &names {
                if self.a.has(op, name) || self.b.has(op, name) {
                    cases.push(
                        self.case(op, name)
                            .map_err(|e| e.under(&format!("{op} {name}")))?,
                    );
                }
            }
        }
        Ok(cases)
    }

    fn case(&self, op: Operation, name: &str) -> Result<Case, Invalid> {
        let sides = [self.a, self.b];
        let mut kernels = [None, None];
        let mut measured: BTreeMap<Quantity, [Option<Measured>; 2]> = BTreeMap::new();
        for (i, side) in sides.into_iter().enumerate() {
            kernels[i] = side.kernels(op, name)?;
            for quantity in Quantity::ALL {
                measured.entry(quantity).or_default()[i] = measure(side, op, name, quantity)?;
            }
        }
        let apart = self.apart(op);
        let mut ratios = BTreeMap::new();
        if apart.is_none() && self.relative_to.is_none() {
            for (quantity, both) in &measured {
                if let [Some(a), Some(b)] = both {
                    ratios.insert(*quantity, ratio(*quantity, a, b)?);
                }
            }
        }
        Ok(Case {
            operation: op,
            implementation: name.to_string(),
            standing: Standing::of(self.a, self.b, op, name),
            kernels,
            measured,
            ratios,
            apart,
        })
    }

    /// Why an operation is another on either side.
    fn apart(&self, op: Operation) -> Option<String> {
        let (of_a, of_b) = (self.a.dims(op)?, self.b.dims(op)?);
        if of_a != of_b {
            return Some(format!("other dims: {of_a:?} and {of_b:?}"));
        }
        let (of_a, of_b) = (inputs(self.a, op)?, inputs(self.b, op)?);
        (of_a != of_b).then(|| "other inputs, by their SHA-256".to_string())
    }

    fn effect(
        &self,
        cases: &[Case],
        index: usize,
        quantity: Quantity,
    ) -> Result<Option<Effect>, Invalid> {
        let case = &cases[index];
        let [a, b] = &case.measured[&quantity];
        if a.is_none() && b.is_none() {
            return Ok(None);
        }
        let mut effect = Effect {
            a: a.as_ref().map(Measured::shown).transpose()?,
            b: b.as_ref().map(Measured::shown).transpose()?,
            ratio: case.ratios.get(&quantity).copied(),
            units: [a, b].map(|side| side.as_ref().map_or(0, |m| m.units.len())),
            interval: None,
            floor: None,
            verdict: Verdict::Inconclusive(Reason::NoControl),
            settle: None,
        };
        let (Some(a), Some(b)) = (a, b) else {
            let side = if a.is_none() { "A" } else { "B" };
            effect.verdict = Verdict::Unmatched(format!("not measured in {side}"));
            return Ok(Some(effect));
        };
        if let Some(apart) = &case.apart {
            effect.verdict = Verdict::Unmatched(apart.clone());
            return Ok(Some(effect));
        }
        if let Some(common) = self.relative_to {
            return self.relative(cases, case, quantity, common, effect);
        }
        if a.published || b.published {
            (effect.a, effect.b) = (Some(a.mean), Some(b.mean));
            effect.verdict = Verdict::Inconclusive(Reason::PublishedOnly);
        } else if let Some(ratio) = &effect.ratio {
            effect.floor = floor(cases, index, quantity);
            // Without controls there is what the calibrations saw unchanged code do, in one environment. Spans hang on the
            // host, which no calibration covers.
            if effect.floor.is_none()
                && quantity == Quantity::KernelTime
                && elsewhere(self.a, self.b).is_none()
            {
                effect.floor = Some(Floor::calibrated(KERNEL_TIME_EFFECT));
            }
            let mut throttled = [a.throttled.as_slice(), &b.throttled].concat();
            throttled.sort();
            throttled.dedup();
            let judged = judge(&Question {
                ratio,
                floor: effect.floor,
                tick: tick(a, b),
                throttled: &throttled,
                unchanged: case.standing.status == Status::Control,
                margin: self.margin,
                // A few controls do not show all that a session can do; where captures are the unit, their own
                // scatter does.
                process_effect: match (quantity, &ratio.half) {
                    (Quantity::KernelTime, Ok(_)) => 0.0,
                    (Quantity::KernelTime, Err(_)) => KERNEL_TIME_EFFECT,
                    (Quantity::EventSpan, _) => SPAN_EFFECT,
                },
            });
            Judgement {
                interval: effect.interval,
                verdict: effect.verdict,
            } = judged;
        }
        // Code that is the same on both sides leaves nothing to settle.
        if case.standing.status != Status::Control {
            effect.settle = settle(&effect.verdict, quantity, case.of(), self.a, self.b);
        }
        Ok(Some(effect))
    }

    /// Two GPUs: the ratio to the common implementation on each side, and how that moved.
    fn relative(
        &self,
        cases: &[Case],
        case: &Case,
        quantity: Quantity,
        common: &str,
        mut effect: Effect,
    ) -> Result<Option<Effect>, Invalid> {
        if case.implementation == common {
            return Ok(None);
        }
        let reference = cases
            .iter()
            .find(|c| c.operation == case.operation && c.implementation == common)
            .map(|c| &c.measured[&quantity]);
        let Some([Some(under_a), Some(under_b)]) = reference else {
            effect.verdict = Verdict::Unmatched(format!("no {common} on both sides"));
            (effect.a, effect.b) = (None, None);
            return Ok(Some(effect));
        };
        let [Some(a), Some(b)] = &case.measured[&quantity] else {
            return Ok(Some(effect));
        };
        // Published spans are means of all samples: the other side is then reduced in the same way.
        let means = [a, b, under_a, under_b].iter().any(|m| m.published);
        let value = |m: &Measured| if means { Ok(m.mean) } else { m.shown() };
        let (of_a, of_b) = (value(a)? / value(under_a)?, value(b)? / value(under_b)?);
        (effect.a, effect.b) = (Some(of_a), Some(of_b));
        effect.ratio = Some(stats::single(of_a, of_b, quantity.unit())?);
        effect.verdict = Verdict::Inconclusive(Reason::TwoGpus);
        effect.settle = settle(&effect.verdict, quantity, case.of(), self.a, self.b);
        Ok(Some(effect))
    }
}

impl Quantity {
    /// What is repeated.
    const fn unit(self) -> Unit {
        match self {
            Self::KernelTime => Unit::Capture,
            Self::EventSpan => Unit::Round,
        }
    }
}

impl Measured {
    /// Geometric mean of the units.
    fn shown(&self) -> Result<f64, Invalid> {
        geometric_mean(&self.units)
    }
}

fn measure(
    side: &Side,
    op: Operation,
    name: &str,
    quantity: Quantity,
) -> Result<Option<Measured>, Invalid> {
    let published = side.results().is_none();
    Ok(match quantity {
        Quantity::KernelTime => match side.kernels(op, name)? {
            Some(kernels) => Some(Measured {
                mean: stats::mean(&kernels.captures_us)?,
                units: kernels.captures_us,
                tick_us: None,
                throttled: Vec::new(),
                published,
            }),
            None => None,
        },
        Quantity::EventSpan => side.spans(op, name)?.map(|spans: Spans| Measured {
            units: spans.rounds_us,
            mean: spans.mean_us,
            tick_us: spans.tick_us,
            throttled: spans.throttled,
            published,
        }),
    })
}

fn ratio(quantity: Quantity, a: &Measured, b: &Measured) -> Result<Ratio, Invalid> {
    if a.published || b.published {
        return stats::single(a.mean, b.mean, quantity.unit());
    }
    stats::unpaired(&a.units, &b.units, quantity.unit())
}

/// One tick of the coarser clock against the shorter time, on the logarithm.
fn tick(a: &Measured, b: &Measured) -> f64 {
    let step = a.tick_us.unwrap_or(0.0).max(b.tick_us.unwrap_or(0.0));
    (step / a.mean.min(b.mean)).ln_1p()
}

fn controls(cases: &[Case], quantity: Quantity) -> impl Iterator<Item = (usize, f64)> {
    cases.iter().enumerate().filter_map(move |(i, case)| {
        let ratio = case.ratios.get(&quantity)?;
        (case.standing.status == Status::Control).then_some((i, ratio.log))
    })
}

/// The floor of one row: from the other controls of its implementation where there are enough, else from all
/// other controls.
fn floor(cases: &[Case], index: usize, quantity: Quantity) -> Option<Floor> {
    let others: Vec<(usize, f64)> = controls(cases, quantity)
        .filter(|(i, _)| *i != index)
        .collect();
    let own: Vec<f64> = others
        .iter()
        .filter(|(i, _)| cases[*i].implementation == cases[index].implementation)
        .map(|(_, log)| *log)
        .collect();
    if own.len() >= MIN_CONTROLS {
        return Floor::of_controls(&own);
    }
    let all: Vec<f64> = others.into_iter().map(|(_, log)| log).collect();
    Floor::of_controls(&all)
}
