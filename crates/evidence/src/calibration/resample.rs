//! Comparisons of code with itself, drawn from what was measured and judged by the code that judges everything.
//!
//! Nothing is drawn at random: every comparison that the data give is made once, so the same data give the same
//! counts.

use super::{Bounds, By, Quantity, Rate, Row, rms};
use crate::ab::{ARMS, CYCLE, Cache, Judged, Times};
use crate::error::Invalid;
use crate::operation::Operation;
use crate::stats::{Floor, LOOKS, Ratio, Unit, geometric_mean, mean, percent, single, unpaired};
use crate::verdict::{Question, Verdict, judge};
use std::collections::BTreeMap;

/// Differences that are tried, in percent.
pub const STEPS_PERCENT: [f64; 16] = [
    0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0,
];

/// Part of the comparisons in which a difference has to be found to count as resolved.
pub const POWER: f64 = 0.8;

/// Cycles of one comparison in one process: the first look, the shortest session that is judged.
pub const WINDOW: usize = LOOKS[0];

/// Cycles from one window's start to the next one's.
const STRIDE: usize = WINDOW / 2;

/// Rounds a side of a comparison between two processes. A cycle stands for a round: its turns together have about as
/// many calls as a round of the harness.
const ROUNDS: usize = 3;

/// What was measured of one operation, by process.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    variant: String,
    /// Spans with a warm cache.
    pub hot: Vec<Times>,
    /// Spans with a cold cache.
    pub cold: Vec<Times>,
    /// Kernel time of each handle.
    pub kernel_us: Vec<[f64; 2]>,
}

/// What was measured of all operations.
#[derive(Debug, Clone, Default)]
pub struct Material(BTreeMap<Operation, Measured>);

impl Measured {
    fn spans(&self, cache: Cache) -> &[Times] {
        match cache {
            Cache::Hot => &self.hot,
            Cache::Cold => &self.cold,
        }
    }
}

/// Rates of one kind of comparison, for a difference of this many percent.
type Compare<'a> = &'a dyn Fn(f64) -> Result<Vec<Verdict>, Invalid>;

impl Material {
    /// The material of one operation, which is always of one variant.
    pub fn operation(
        &mut self,
        operation: Operation,
        variant: &str,
    ) -> Result<&mut Measured, Invalid> {
        let of = self.0.entry(operation).or_insert_with(|| Measured {
            variant: variant.to_string(),
            ..Measured::default()
        });
        if of.variant != variant {
            let expected = format!("{:?}, as elsewhere in the study", of.variant);
            return Err(Invalid::new("variant", format!("{variant:?}"), expected));
        }
        Ok(of)
    }

    /// Operations, in order.
    pub fn operations(&self) -> Vec<Operation> {
        self.0.keys().copied().collect()
    }

    /// Refuses operations of which something is missing.
    pub fn check(&self, processes: usize) -> Result<(), Invalid> {
        for (operation, of) in &self.0 {
            for (field, found) in [("spans", of.hot.len()), ("captures", of.kernel_us.len())] {
                if found != processes {
                    return Err(Invalid::new(
                        format!("{field}.{operation}"),
                        found,
                        format!("{processes}, one a process"),
                    ));
                }
            }
        }
        match self.0.len() {
            0 | 1 => Err(Invalid::new(
                "sessions",
                format!("{} operations", self.0.len()),
                "at least two: each is judged by what the others moved",
            )),
            _ => Ok(()),
        }
    }

    /// The largest difference between two arms of one process, of spans over its whole session; on the logarithm.
    pub fn largest_span_difference(&self) -> Result<f64, Invalid> {
        let mut all = Vec::new();
        for of in self.0.values() {
            for cache in Cache::ALL {
                all.extend(handles(of.spans(cache))?);
            }
        }
        Ok(largest(&all))
    }

    /// The largest differences between two processes, of the kernel time of one handle and of the event span over as
    /// few rounds as an experiment has; on the logarithm.
    pub fn largest_between_processes(&self) -> Result<[f64; 2], Invalid> {
        let (mut kernel_time, mut span) = (Vec::new(), Vec::new());
        for of in self.0.values() {
            for handle in [0, 1] {
                let times: Vec<f64> = of.kernel_us.iter().map(|times| times[handle]).collect();
                kernel_time.extend(between(&times)?);
            }
            for cache in Cache::ALL {
                let spans = of.spans(cache);
                for start in 0..windows(spans) {
                    let means = spans
                        .iter()
                        .map(|times| geometric_mean(&window(times, start)?));
                    span.extend(between(&means.collect::<Result<Vec<_>, _>>()?)?);
                }
            }
        }
        Ok([largest(&kernel_time), largest(&span)])
    }

    /// The difference of kernel time between two processes that 95% of pairs stay below; on the logarithm.
    pub fn kernel_time_between_processes(&self) -> Result<f64, Invalid> {
        let mut all = Vec::new();
        for of in self.0.values() {
            all.extend(between(&kernel_times(of))?.into_iter().map(f64::abs));
        }
        all.sort_by(f64::total_cmp);
        let index = (all.len() as f64 * 0.95).ceil() as usize;
        Ok(all.get(index.saturating_sub(1)).copied().unwrap_or(0.0))
    }

    /// Everything about one operation and quantity.
    pub fn row(
        &self,
        operation: Operation,
        quantity: Quantity,
        bounds: &Bounds,
    ) -> Result<Row, Invalid> {
        let of = &self.0[&operation];
        let (handles, processes, time_us, rates);
        match quantity {
            Quantity::KernelTime => {
                let times = kernel_times(of);
                let pairs = of.kernel_us.iter().map(|[a, b]| (b / a).ln());
                handles = pairs.collect::<Vec<_>>();
                processes = between(&times)?;
                time_us = geometric_mean(&times)?;
                rates = vec![
                    rate(By::OneCapture, &|by| {
                        self.one_capture(operation, bounds, by)
                    })?,
                    rate(By::ThreeCaptures, &|by| {
                        self.three_captures(operation, bounds, by)
                    })?,
                ];
            }
            Quantity::SpanHot | Quantity::SpanCold => {
                let cache = match quantity {
                    Quantity::SpanHot => Cache::Hot,
                    _ => Cache::Cold,
                };
                let spans = of.spans(cache);
                handles = self::handles(spans)?;
                let times = session_means(spans)?;
                processes = between(&times)?;
                time_us = geometric_mean(&times)?;
                rates = vec![
                    rate(By::OneProcessUnbounded, &|by| {
                        one_process(spans, cache, bounds.margin, 0.0, by)
                    })?,
                    rate(By::OneProcess, &|by| {
                        one_process(spans, cache, bounds.margin, bounds.process_effect, by)
                    })?,
                    rate(By::ThreeRounds, &|by| {
                        self.three_rounds(operation, cache, bounds, by)
                    })?,
                ];
            }
        }
        Ok(Row {
            operation,
            variant: of.variant.clone(),
            quantity,
            time_us,
            handles_percent: percent(rms(&handles)?),
            handles_largest_percent: percent(largest(&handles)),
            processes_percent: percent(rms(&processes)?),
            processes_largest_percent: percent(largest(&processes)),
            rates,
        })
    }

    /// One capture in one process against one in another; the same pair of processes gives the controls.
    fn one_capture(
        &self,
        operation: Operation,
        bounds: &Bounds,
        by: f64,
    ) -> Result<Vec<Verdict>, Invalid> {
        let mut verdicts = Vec::new();
        for (p, q) in pairs(self.0[&operation].kernel_us.len()) {
            for handle in [0, 1] {
                let ratio = |of: &Measured| -> Result<Ratio, Invalid> {
                    single(
                        of.kernel_us[p][handle],
                        of.kernel_us[q][handle],
                        Unit::Capture,
                    )
                };
                verdicts.push(self.judged(
                    operation,
                    &ratio,
                    0.0,
                    (bounds.margin, bounds.kernel_time_effect),
                    by,
                )?);
            }
        }
        Ok(verdicts)
    }

    /// Captures of three processes against those of three others.
    fn three_captures(
        &self,
        operation: Operation,
        bounds: &Bounds,
        by: f64,
    ) -> Result<Vec<Verdict>, Invalid> {
        let mut verdicts = Vec::new();
        for (a, b) in splits(self.0[&operation].kernel_us.len()) {
            for handle in [0, 1] {
                let side = |of: &Measured, processes: &[usize]| -> Vec<f64> {
                    processes.iter().map(|p| of.kernel_us[*p][handle]).collect()
                };
                let ratio = |of: &Measured| unpaired(&side(of, &a), &side(of, &b), Unit::Capture);
                // Processes are the unit: their own scatter is what decides.
                verdicts.push(self.judged(operation, &ratio, 0.0, (bounds.margin, 0.0), by)?);
            }
        }
        Ok(verdicts)
    }

    /// Three rounds in one process against three in another.
    fn three_rounds(
        &self,
        operation: Operation,
        cache: Cache,
        bounds: &Bounds,
        by: f64,
    ) -> Result<Vec<Verdict>, Invalid> {
        let spans = self.0[&operation].spans(cache);
        let mut verdicts = Vec::new();
        for (p, q) in pairs(spans.len()) {
            for start in 0..windows(spans) {
                let side = |of: &Measured, process: usize| window(&of.spans(cache)[process], start);
                let ratio = |of: &Measured| unpaired(&side(of, p)?, &side(of, q)?, Unit::Round);
                let tick = spans[p].tick_us.max(spans[q].tick_us) / mean(&spans[p].a_us)?;
                verdicts.push(self.judged(
                    operation,
                    &ratio,
                    tick.ln_1p(),
                    (bounds.margin, bounds.span_effect),
                    by,
                )?);
            }
        }
        Ok(verdicts)
    }

    /// As `diff` judges: the other operations are the controls.
    fn judged(
        &self,
        operation: Operation,
        ratio: &dyn Fn(&Measured) -> Result<Ratio, Invalid>,
        tick: f64,
        (margin, process_effect): (f64, f64),
        by: f64,
    ) -> Result<Verdict, Invalid> {
        let mut controls = Vec::new();
        for (other, of) in &self.0 {
            if *other != operation {
                controls.push(ratio(of)?.log);
            }
        }
        let mut judged = ratio(&self.0[&operation])?;
        judged.log += (by / 100.0).ln_1p();
        let question = Question {
            ratio: &judged,
            floor: Floor::of_controls(&controls),
            tick,
            throttled: &[],
            unchanged: false,
            margin,
            process_effect,
        };
        Ok(judge(&question).verdict)
    }
}

/// How many times [`ROUNDS`] rounds every process has.
fn windows(spans: &[Times]) -> usize {
    spans.first().map_or(0, |times| times.a_us.len() / CYCLE) / ROUNDS
}

/// The means of [`ROUNDS`] rounds of a process, from the `start`-th such window on.
fn window(times: &Times, start: usize) -> Result<Vec<f64>, Invalid> {
    let cycles = times.a_us.chunks_exact(CYCLE);
    let chosen = cycles.skip(start * ROUNDS).take(ROUNDS);
    chosen.map(geometric_mean).collect()
}

/// The mean span of every process.
fn session_means(spans: &[Times]) -> Result<Vec<f64>, Invalid> {
    let means = spans.iter().map(|times| geometric_mean(&times.a_us));
    means.collect()
}

/// The largest magnitude.
fn largest(logs: &[f64]) -> f64 {
    logs.iter().fold(0.0, |most, log| most.max(log.abs()))
}

/// As `ab` judges: windows of one process, its arms in every role.
fn one_process(
    spans: &[Times],
    cache: Cache,
    margin: f64,
    process_effect: f64,
    by: f64,
) -> Result<Vec<Verdict>, Invalid> {
    const ROLES: [[usize; ARMS]; 6] = crate::ab::ORDERS;
    let factor = 1.0 + by / 100.0;
    let mut verdicts = Vec::new();
    for times in spans {
        let cycles = times.a_us.len() / CYCLE;
        for start in (0..cycles.saturating_sub(WINDOW - 1)).step_by(STRIDE) {
            for [a, again, b] in ROLES {
                let arm =
                    |arm: usize| times.arms()[arm][start * CYCLE..][..WINDOW * CYCLE].to_vec();
                let window = Times {
                    a_us: arm(a),
                    again_us: arm(again),
                    b_us: arm(b).into_iter().map(|t| t * factor).collect(),
                    tick_us: times.tick_us,
                };
                let judged = Judged::of(cache, &window, &[], false, margin, process_effect)?;
                verdicts.push(judged.judgement.verdict);
            }
        }
    }
    Ok(verdicts)
}

fn rate(by: By, compare: Compare<'_>) -> Result<Rate, Invalid> {
    let unchanged = compare(0.0)?;
    let winner = |v: &&Verdict| matches!(v, Verdict::Faster | Verdict::Slower);
    let winners = unchanged.iter().filter(winner).count();
    let mut resolved_percent = None;
    // From the largest down, so that what counts is found at every larger step too.
    for step in STEPS_PERCENT.into_iter().rev() {
        let verdicts = compare(step)?;
        let found = verdicts.iter().filter(|v| **v == Verdict::Slower).count();
        if verdicts.is_empty() || (found as f64) < POWER * verdicts.len() as f64 {
            break;
        }
        resolved_percent = Some(step);
    }
    Ok(Rate {
        by,
        comparisons: unchanged.len() as u32,
        winners: winners as u32,
        resolved_percent,
    })
}

/// Log ratios of the arms of each process, each pair once, over all its rounds.
fn handles(spans: &[Times]) -> Result<Vec<f64>, Invalid> {
    let mut differences = Vec::new();
    for times in spans {
        let [a, again, b] = times.arms().map(|arm| geometric_mean(arm));
        let (a, again, b) = (a?, again?, b?);
        differences.extend([(again / a).ln(), (b / a).ln(), (b / again).ln()]);
    }
    Ok(differences)
}

/// Log ratios of two processes, each pair once.
fn between(times: &[f64]) -> Result<Vec<f64>, Invalid> {
    geometric_mean(times)?;
    Ok(pairs(times.len())
        .into_iter()
        .filter(|(p, q)| p < q)
        .map(|(p, q)| (times[q] / times[p]).ln())
        .collect())
}

/// Kernel time of each process: of its first handle.
fn kernel_times(of: &Measured) -> Vec<f64> {
    of.kernel_us.iter().map(|[a, _]| *a).collect()
}

/// Ordered pairs of different numbers below `n`.
fn pairs(n: usize) -> Vec<(usize, usize)> {
    (0..n)
        .flat_map(|p| (0..n).map(move |q| (p, q)))
        .filter(|(p, q)| p != q)
        .collect()
}

/// Ordered pairs of disjoint sets of three of the numbers below `n`.
fn splits(n: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let n = n.min(16);
    let sets: Vec<u32> = (0..1u32 << n).filter(|set| set.count_ones() == 3).collect();
    let members = |set: u32| (0..n).filter(|i| set & (1 << i) != 0).collect();
    sets.iter()
        .flat_map(|a| sets.iter().map(move |b| (*a, *b)))
        .filter(|(a, b)| a & b == 0)
        .map(|(a, b)| (members(a), members(b)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_splits_are_all_there_are() {
        assert_eq!(pairs(3).len(), 6);
        assert_eq!(splits(6).len(), 20);
        assert!(splits(5).is_empty());
        assert_eq!(splits(6)[0], (vec![0, 1, 2], vec![3, 4, 5]));
    }

    #[test]
    fn what_is_resolved_is_found_at_every_larger_step() {
        let compare = |by: f64| -> Result<Vec<Verdict>, Invalid> {
            let found = by >= 2.0 || by == 0.3;
            Ok(vec![
                if found {
                    Verdict::Slower
                } else {
                    Verdict::Equivalent
                };
                10
            ])
        };
        let found = rate(By::OneProcess, &compare).unwrap();
        assert_eq!((found.comparisons, found.winners), (10, 0));
        assert_eq!(found.resolved_percent, Some(2.0));
        let never = rate(By::OneProcess, &|_| Ok(vec![Verdict::Equivalent])).unwrap();
        assert_eq!(never.resolved_percent, None);
    }
}
