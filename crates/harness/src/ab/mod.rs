//! Two variants or implementations in one session, strictly interleaved, with an A/A arm beside them.
//!
//! Here is what happens in which order; what follows from the times is `mage_evidence::ab`'s. Like [`crate::run`] it
//! knows neither CUDA nor Python, nor the clock on the wall, and is tested without them.

pub mod identical;
pub mod verb;

use crate::implementation::{Implementation, Load, Loaded};
use crate::interrupt;
use crate::monitor::Monitor;
use crate::verify::{self, Expected};
use anyhow::{Context, bail};
use mage_evidence::ab::{ARMS, Arm, Cache, Ended, ORDERS, Session, Times, Turn};
use mage_evidence::artifact::Check;
use mage_evidence::choice::Choice;
use mage_evidence::experiment::Tolerance;
use mage_evidence::stats;
use mage_kernels::inputs::Inputs;
use mage_kernels::reference::reference;
use std::path::Path;
use std::time::Duration;

/// Calls that are not timed, calls with a warm cache and calls with a cold one, in each turn: about a millisecond
/// of a kernel that takes a few microseconds.
const CALLS: (u32, u32, u32) = (5, 15, 10);

/// How long the arms take turns before anything counts: clocks rise and caches of the host fill.
const SETTLING: Duration = Duration::from_millis(500);

/// What to compare.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// The inputs.
    pub inputs: &'a Inputs,
    /// A directory with their files, for an implementation that reads them.
    pub directory: &'a Path,
    /// Bound of the checks.
    pub tolerance: Tolerance,
    /// A and B.
    pub sides: [Side; 2],
    /// When to end.
    pub end: End,
}

/// What runs on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The variant or implementation, as asked for.
    pub name: String,
    /// The kernel variant that it has to run; empty for an implementation that has none.
    pub variant: &'static str,
}

/// When a session ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// At a planned look at which the intervals are narrow against the margin, or when this time is up.
    Narrow {
        /// Largest difference of no interest, as a part of 1.
        margin: f64,
        /// The time, settling included.
        budget: Duration,
    },
    /// After this many cycles.
    Cycles(usize),
}

/// What measures: A, A again, B.
pub type Arms = [Box<dyn Implementation>; ARMS];

/// What was measured, and why it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The times and checks.
    pub session: Session,
    /// Why it ended.
    pub ended: Ended,
    /// How long it took, settling included.
    pub took: Duration,
}

/// Checks the whole output of every arm, lets them take turns, checks again and proves the inputs unchanged. `clock`
/// gives the time since some moment; `tell` is told of each look how many cycles there are and whether it goes on.
///
/// # Errors
/// A failed check, an arm that runs another kernel than asked for, a changed input, whatever the device or the worker
/// reports, or [`interrupt::Interrupted`].
pub fn measure(
    plan: &Plan<'_>,
    arms: &mut Arms,
    monitor: &dyn Monitor,
    clock: &mut dyn FnMut() -> Duration,
    tell: &mut dyn FnMut(&Session),
) -> anyhow::Result<Measured> {
    let inputs = plan.inputs;
    let (warmup, hot, cold) = CALLS;
    let turn = Turn {
        warmup,
        hot,
        cold,
        flush_bytes: 2 * monitor.device().l2_bytes,
    };
    let mut choices: [Option<Choice>; 2] = [None, None];
    for (i, arm) in arms.iter_mut().enumerate() {
        let side = &plan.sides[side_of(i)];
        let load = Load {
            inputs,
            directory: plan.directory,
            variant: side.variant,
            tolerance: plan.tolerance,
            config: None,
        };
        let choice = match arm.load(&load).with_context(|| side.name.clone())? {
            Loaded::Unavailable(reason) => bail!("{}: {reason}", side.name),
            Loaded::Ready(choice) => choice,
        };
        // One name is one code: whatever chooses has to run what it chose for the first arm.
        if i > 0 && side.name == plan.sides[0].name {
            let config = |choice: &Option<Choice>| choice.as_ref().map(|c| c.config.clone());
            let (found, expected) = (config(&choice), config(&choices[0]));
            if found != expected {
                bail!(
                    "{}: found another handle that runs {found:?}, expected {expected:?}, as the first one chose",
                    side.name
                );
            }
        }
        if i != AGAIN {
            choices[side_of(i)] = choice;
        }
        let runs = arm.kernel().unwrap_or_default();
        if runs != side.variant {
            bail!(
                "{}: found that {runs} runs in its place, expected a variant that takes {:?} on this device",
                side.name,
                inputs.dims
            );
        }
    }
    let reference = reference(inputs)?;
    let expected = Expected {
        shape: inputs.operation.output_shape(&inputs.dims),
        record: None,
        reference: &reference,
        tolerance: plan.tolerance,
    };
    let mut checks = Checks::default();
    checks.all(plan, arms, &expected)?;
    let [a, b] = choices;
    let mut session = Session {
        operation: inputs.operation,
        dims: inputs.dims.clone(),
        input_sha256: inputs.sha256(),
        a: checks.arm(plan, arms, 0, a)?,
        b: checks.arm(plan, arms, 1, b)?,
        turn,
        hot: Times::default(),
        cold: Times::default(),
        gpu_states: vec![monitor.state()?],
    };
    let mut spans = Spans::default();
    let began = clock();
    while clock().saturating_sub(began) < SETTLING {
        cycle(arms, &turn, &mut Spans::default())?;
    }
    let ended = loop {
        let cycles = spans.cycles();
        if let End::Narrow { margin, budget } = plan.end {
            if stats::LOOKS.contains(&cycles) {
                spans.give(&mut session);
                session.gpu_states.push(monitor.state()?);
                tell(&session);
                if session.is_narrow(margin)? {
                    break Ended::Narrow;
                }
                if stats::next_look(cycles).is_none() {
                    break Ended::Planned;
                }
            }
            if cycles > 0 && clock().saturating_sub(began) >= budget {
                break Ended::Time;
            }
        } else if plan.end == End::Cycles(cycles) {
            break Ended::Planned;
        }
        cycle(arms, &turn, &mut spans)?;
    };
    let took = clock().saturating_sub(began);
    spans.give(&mut session);
    session.gpu_states.push(monitor.state()?);
    checks.all(plan, arms, &expected)?;
    session.a.check = checks.worst(0)?;
    session.b.check = checks.worst(1)?;
    for (i, arm) in arms.iter_mut().enumerate() {
        let name = &plan.sides[side_of(i)].name;
        let found = arm.input_sha256().with_context(|| name.clone())?;
        if found != session.input_sha256 {
            bail!(
                "{name}: inputs on the device after the calls: found {found:?}, expected {:?}; a kernel wrote to its inputs",
                session.input_sha256
            );
        }
    }
    session.check()?;
    Ok(Measured {
        session,
        ended,
        took,
    })
}

/// The arm that is A again.
const AGAIN: usize = 1;

/// A and A again are side 0, B is side 1.
const fn side_of(arm: usize) -> usize {
    arm / 2
}

/// Every arm's turn, in each of the orders once.
fn cycle(arms: &mut Arms, turn: &Turn, spans: &mut Spans) -> anyhow::Result<()> {
    for order in ORDERS {
        for arm in order {
            interrupt::check()?;
            let implementation = &mut arms[arm];
            let hot = implementation.measure(turn.warmup, turn.hot)?;
            let cold = implementation.measure_cold(turn.cold, turn.flush_bytes)?;
            for (samples, expected, cache) in
                [(hot, turn.hot, Cache::Hot), (cold, turn.cold, Cache::Cold)]
            {
                if samples.len() != expected as usize {
                    bail!(
                        "{}: found {} samples, expected {expected}",
                        implementation.name(),
                        samples.len()
                    );
                }
                spans
                    .add(cache, arm, &samples)
                    .with_context(|| format!("{}: {cache}: samples", implementation.name()))?;
            }
        }
    }
    Ok(())
}

/// Times as they come.
#[derive(Default)]
struct Spans([OneCache; 2]);

#[derive(Default)]
struct OneCache {
    medians: [Vec<f64>; ARMS],
    tick_us: Option<f64>,
}

impl Spans {
    fn add(&mut self, cache: Cache, arm: usize, samples: &[f64]) -> anyhow::Result<()> {
        if let Some(bad) = samples.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
            bail!("found {bad} us, expected a finite time above 0");
        }
        let of = &mut self.0[cache as usize];
        of.medians[arm].push(stats::median(samples)?);
        let tick = stats::tick(samples);
        of.tick_us = Some(of.tick_us.map_or(tick, |least| least.min(tick)));
        Ok(())
    }

    fn cycles(&self) -> usize {
        self.0[0].medians[0].len() / ORDERS.len()
    }

    fn give(&self, session: &mut Session) {
        let times = |of: &OneCache| Times {
            a_us: of.medians[0].clone(),
            again_us: of.medians[1].clone(),
            b_us: of.medians[2].clone(),
            tick_us: of.tick_us.unwrap_or(stats::NOMINAL_TICK_US),
        };
        session.hot = times(&self.0[Cache::Hot as usize]);
        session.cold = times(&self.0[Cache::Cold as usize]);
    }
}

/// The check with the largest error on each side.
#[derive(Default)]
struct Checks([Option<Check>; 2]);

impl Checks {
    fn all(
        &mut self,
        plan: &Plan<'_>,
        arms: &mut Arms,
        expected: &Expected<'_>,
    ) -> anyhow::Result<()> {
        for (i, arm) in arms.iter_mut().enumerate() {
            let side = side_of(i);
            let check = verify::check(arm.as_mut(), expected)
                .with_context(|| plan.sides[side].name.clone())?;
            let error = |check: &Check| check.fp64.max_abs_error;
            if self.0[side]
                .as_ref()
                .is_none_or(|worst| error(worst) < error(&check))
            {
                self.0[side] = Some(check);
            }
        }
        Ok(())
    }

    fn worst(&self, side: usize) -> anyhow::Result<Check> {
        self.0[side].clone().context("an arm was not checked")
    }

    fn arm(
        &self,
        plan: &Plan<'_>,
        arms: &Arms,
        side: usize,
        choice: Option<Choice>,
    ) -> anyhow::Result<Arm> {
        Ok(Arm {
            name: plan.sides[side].name.clone(),
            kernel: arms[side * 2].kernel().map(str::to_string),
            choice,
            check: self.worst(side)?,
        })
    }
}
