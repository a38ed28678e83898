//! `comparison-ladder.json` from a ladder's captures.

use crate::{Events, Reader};
use anyhow::{anyhow, bail};
use mage_evidence::Invalid;
use mage_evidence::artifact::{Agreement, Check};
use mage_evidence::foreign::State;
use mage_evidence::ladder::raw::{AGAIN, Called, Capture, Launch, Run};
use mage_evidence::ladder::{
    Again, KernelTime, Ladder, OperationLadder, Provenance, Resources, SCHEMA_VERSION, Step, Times,
    judge,
};
use mage_evidence::operation::Operation;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a ladder run left, checked.
pub(crate) struct Climbed {
    pub(crate) run: Run,
    /// By operation in the order of the run, each with its captures in order.
    captures: Vec<(Operation, Vec<Capture>)>,
    sha256: BTreeMap<String, String>,
}

impl Climbed {
    /// Reads the directory; none where there is none, for a ladder is not measured everywhere.
    pub(crate) fn read(directory: &Path) -> anyhow::Result<Option<Self>> {
        if !directory.exists() {
            return Ok(None);
        }
        let mut reader = Reader::new(directory)?;
        let run: Run = reader.json("ladder.json", Run::check)?;
        let mut captures = Vec::new();
        for operation in &run.operations {
            let mut of_operation = Vec::new();
            for index in 1..=run.captures {
                let name = format!("captures/{operation}-{index}.json");
                let capture: Capture = reader.json(&name, |c: &Capture| c.check_in(&run))?;
                if (capture.answer.operation, capture.index) != (*operation, index) {
                    bail!(
                        "{}: found capture {} of {}, expected the one that its name says",
                        directory.join(&name).display(),
                        capture.index,
                        capture.answer.operation
                    );
                }
                of_operation.push(capture);
            }
            captures.push((*operation, of_operation));
        }
        reader.nothing_else("captures", &[])?;
        reader.nothing_else("", &["captures"])?;
        Ok(Some(Self {
            run,
            captures,
            sha256: reader.sha256,
        }))
    }

    /// Refuses a ladder that is not of the run's experiment, inputs and objects, or of another device than one like that of the run.
    /// A ladder is a session of its own, of which nothing is compared with the run: its program may be another, its card too,
    /// and it may have variants that the run's program had not yet.
    pub(crate) fn agree(&self, namespace: &str, events: &Events) -> anyhow::Result<()> {
        let (ladder, run) = (&self.run, &events.run);
        let same = |place: &str, what: &str, found: String, expected: String| {
            if found == expected {
                return Ok(());
            }
            bail!(
                "{namespace}: {place}: {what}: found {found}, expected {expected} as in run.json; measure both of one experiment, with the same inputs and objects"
            )
        };
        let quoted = |text: &String| format!("{text:?}");
        for (what, found, expected) in [
            ("namespace", &ladder.namespace, &run.namespace),
            ("experiment", &ladder.experiment, &run.experiment),
            (
                "experiment_sha256",
                &ladder.experiment_sha256,
                &run.experiment_sha256,
            ),
        ] {
            same("ladder.json", what, quoted(found), quoted(expected))?;
        }
        let mut card = None;
        for (operation, captures) in &self.captures {
            let Some(samples) = events.samples.iter().find(|s| s.operation == *operation) else {
                bail!(
                    "{namespace}: ladder.json: operations: found {operation}, expected operations of run.json"
                );
            };
            for capture in captures {
                let place = format!("captures/{operation}-{}.json", capture.index);
                let answer = &capture.answer;
                let device = &answer.device;
                let like = device.is_as_that_of_run(&run.device);
                like.map_err(|invalid| anyhow!("{namespace}: {place}: {invalid}"))?;
                if let Some(found) = device.uuid.as_deref() {
                    let expected = *card.get_or_insert(found);
                    if found != expected {
                        bail!(
                            "{namespace}: {place}: device.uuid: found {found}, expected {expected} as in the captures before; measure a ladder on one card"
                        );
                    }
                }
                let debug = |value: &dyn std::fmt::Debug| format!("{value:?}");
                for (what, found, expected) in [
                    ("dims", debug(&answer.dims), debug(&samples.dims)),
                    ("tolerance", debug(&answer.tolerance), debug(&run.tolerance)),
                    (
                        "input_sha256",
                        debug(&answer.input_sha256),
                        debug(&samples.input_sha256),
                    ),
                ] {
                    same(&place, what, found, expected)?;
                }
                for Called { variant, .. } in &answer.steps {
                    let (object, found) = (&variant.object, &variant.object_sha256);
                    if let Some(expected) = run.build.objects_sha256.get(object) {
                        same(&place, object, found.clone(), expected.clone())?;
                    }
                    let source = format!("crates/kernels/ptx/{object}");
                    let built = ladder.build.source_sha256.get(&source);
                    let built = built.or_else(|| ladder.build.objects_sha256.get(object));
                    if built != Some(found) {
                        bail!(
                            "{namespace}: {place}: {object}: found {found}, expected {} as ladder.json records its build; measure the ladder again",
                            built.map_or("no such object", String::as_str)
                        );
                    }
                }
            }
        }
        Ok(())
    }
}

/// Assembles the file.
pub(crate) fn assemble(climbed: &Climbed) -> Result<Ladder, Invalid> {
    let run = &climbed.run;
    let operations = climbed.captures.iter().map(|(name, captures)| {
        operation(captures).map_err(|e| e.under(&format!("ladder of {name}")))
    });
    let turns = climbed.captures.iter().flat_map(|(_, captures)| captures);
    let turns: BTreeSet<u32> = turns.map(|capture| capture.answer.turns).collect();
    let &[turns] = turns.into_iter().collect::<Vec<_>>().as_slice() else {
        return Err(Invalid::new(
            "turns",
            "several numbers",
            "one in all captures",
        ));
    };
    let mut captures = climbed.captures.iter().flat_map(|(_, captures)| captures);
    let first = captures.next().map(|capture| capture.answer.device.clone());
    let device = first.ok_or_else(|| Invalid::new("captures", "none", "at least one"))?;
    Ok(Ladder {
        experiment_id: format!("{}-ladder", run.experiment),
        schema_version: SCHEMA_VERSION.into(),
        gpu: device.name.clone(),
        backend: "Nsight Systems".into(),
        timing: "sum of the durations of a variant's kernels over its calls, microseconds; all variants of an operation in one process, in turns, each turn behind a warm-up".into(),
        captures: run.captures,
        iterations: run.iterations,
        warmup: run.warmup,
        turns,
        provenance: Provenance {
            namespace: run.namespace.clone(),
            experiment: run.experiment.clone(),
            experiment_sha256: run.experiment_sha256.clone(),
            started: run.started.clone(),
            finished: run.finished.clone(),
            profiler: run.profiler.clone(),
            command: run.command.clone(),
            device,
            tree: run.build.tree.clone(),
            target_sha256: run.target_sha256.clone(),
            binary_sha256: run.build.binary_sha256.clone(),
            artifacts_sha256: climbed.sha256.clone(),
        },
        operations: operations.collect::<Result<_, _>>()?,
    })
}

fn operation(captures: &[Capture]) -> Result<OperationLadder, Invalid> {
    let Some(first) = captures.first() else {
        return Err(Invalid::new("captures", "none", "at least one"));
    };
    let answer = &first.answer;
    let described = |capture: &Capture| {
        let steps = capture.answer.steps.iter().map(|step| step.variant.clone());
        steps.collect::<Vec<_>>()
    };
    for other in captures {
        let same = described(other) == described(first)
            && other.answer.left_out == answer.left_out
            && other.answer.variant == answer.variant;
        if !same {
            let found = format!("capture {} of other variants than the first", other.index);
            return Err(Invalid::new("steps", found, "the same in each capture"));
        }
    }
    let mut steps = answer
        .steps
        .iter()
        .map(|called| step(captures, called).map_err(|e| e.under(&called.variant.id)))
        .collect::<Result<Vec<_>, _>>()?;
    let throttled: BTreeSet<String> = captures
        .iter()
        .flat_map(|c| [&c.answer.gpu_state_before, &c.answer.gpu_state_after])
        .flat_map(|state| State::Own(state.clone()).throttling())
        .collect();
    let throttled: Vec<String> = throttled.into_iter().collect();
    let timed = steps
        .iter()
        .any(|s| s.variant.id == answer.variant && s.kernel_time.is_some());
    let again = times(captures, &format!("{}{AGAIN}", answer.variant)).filter(|_| timed);
    let of_steps: Vec<Times<'_>> = steps.iter().map(Step::times).collect();
    let second = again
        .as_deref()
        .map(|times| (answer.variant.as_str(), times));
    let judged = judge(&of_steps, second, &throttled)?;
    for (step, judged) in steps.iter_mut().zip(judged.steps) {
        step.to_parent = judged.to_parent;
        step.cause = judged.cause;
        step.limits = judged.limits;
    }
    let again: Option<Again> = judged.again;
    Ok(OperationLadder {
        operation: answer.operation,
        dims: answer.dims.clone(),
        variant: answer.variant.clone(),
        throttled,
        again,
        steps,
        left_out: answer.left_out.clone(),
    })
}

/// The times of an arm, a capture each; none where a capture lacks it.
fn times(captures: &[Capture], arm: &str) -> Option<Vec<f64>> {
    captures
        .iter()
        .map(|capture| capture.kernel_time_us(arm))
        .collect()
}

fn step(captures: &[Capture], called: &Called) -> Result<Step, Invalid> {
    let id = &called.variant.id;
    let of_captures: Vec<&Called> = captures
        .iter()
        .flat_map(|capture| {
            capture
                .answer
                .steps
                .iter()
                .filter(|step| step.variant.id == *id)
        })
        .collect();
    let failed = of_captures.iter().find_map(|step| step.failed.clone());
    let checks: Option<Vec<&Check>> = of_captures.iter().map(|step| step.check.as_ref()).collect();
    let launched: Vec<&Vec<Launch>> = captures.iter().filter_map(|c| c.arms.get(id)).collect();
    let same = |a: &Launch, b: &Launch| shape(a) == shape(b);
    let first = launched.first().copied();
    if let Some(first) = first
        && let Some(other) = launched.iter().find(|other| {
            other.len() != first.len() || other.iter().zip(first).any(|(a, b)| !same(a, b))
        })
    {
        let found = format!(
            "{:?} and {:?}",
            other.iter().map(shape).collect::<Vec<_>>(),
            first.iter().map(shape).collect::<Vec<_>>()
        );
        return Err(Invalid::new("launches", found, "the same in each capture"));
    }
    let (kernel_time, resources) = match (times(captures, id), first, &failed) {
        (Some(times), Some(first), None) => {
            let time = KernelTime::of(times, first.len() as u32)?;
            (Some(time), resources(first))
        }
        _ => (None, None),
    };
    Ok(Step {
        variant: called.variant.clone(),
        check: checks
            .filter(|_| failed.is_none())
            .and_then(|checks| worst(&checks)),
        failed,
        kernel_time,
        resources,
        to_parent: None,
        cause: None,
        limits: Vec::new(),
    })
}

/// What makes two launches the same work.
fn shape(launch: &Launch) -> (&str, [u32; 3], [u32; 3], u32, u32, u32) {
    (
        &launch.name,
        launch.grid,
        launch.block,
        launch.registers,
        launch.static_shared_bytes,
        launch.dynamic_shared_bytes,
    )
}

fn resources(launches: &[Launch]) -> Option<Resources> {
    let [launch] = launches else {
        return None;
    };
    Some(Resources {
        blocks: launch.grid.iter().map(|&n| u64::from(n)).product(),
        threads: launch.block.iter().product(),
        registers: launch.registers,
        static_shared_bytes: launch.static_shared_bytes,
        dynamic_shared_bytes: launch.dynamic_shared_bytes,
    })
}

/// The largest of each error.
fn worst(checks: &[&Check]) -> Option<Check> {
    let largest = |of: fn(&Agreement) -> f64| {
        let errors = checks.iter().map(|check| of(&check.fp64));
        errors.fold(0.0f64, f64::max)
    };
    Some(Check {
        checked_elements: checks.first()?.checked_elements,
        record: None,
        fp64: Agreement {
            max_abs_error: largest(|fp64| fp64.max_abs_error),
            max_error_share: largest(|fp64| fp64.max_error_share),
        },
    })
}
