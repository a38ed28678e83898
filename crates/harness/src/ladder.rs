//! The target that a profiler wraps for a ladder: every variant of every operation in one process. Each is checked
//! first; then, operation by operation, they take turns inside the profiler's range, in an order that rotates and runs
//! backwards every other turn, so that a drift of the device favours none. Each is loaded twice, at two places in
//! memory, and its turns alternate between them. The experiment's own variant takes part twice, which shows how far the
//! same code differs from itself.

mod order;

use crate::bench;
use crate::monitor::{Monitor, NvmlMonitor};
use crate::verify::{self, Expected};
use anyhow::{Context, bail};
use mage_evidence::artifact::{Agreement, Check, GpuState};
use mage_evidence::experiment::{Case, Tolerance};
use mage_evidence::ladder::raw::{AGAIN, Answer, Answers, Called};
use mage_evidence::ladder::{Described, LeftOut, Status};
use mage_kernels::inputs::Inputs;
use mage_kernels::launch::{Call, Gpu, LaunchError};
use mage_kernels::variants::{self, Variant};
use mage_kernels::{header, objects, reference};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Turns of an arm in a capture, where it has as many calls.
const TURNS: u32 = 10;

/// What to call.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Operation, dims, hashes of the inputs, and the variant that takes part twice.
    pub case: &'a Case,
    /// Bound of the checks.
    pub tolerance: Tolerance,
    /// Which capture this is, counted from 1.
    pub capture: u32,
    /// Measured calls of an arm.
    pub iterations: u32,
    /// Calls of an arm before each of its turns.
    pub warmup: u32,
}

/// A kernel that is ready to be called.
pub trait Kernel {
    /// Makes one call into a poisoned output and gives all of it.
    ///
    /// # Errors
    /// Whatever the driver reports.
    fn checked_call(&mut self) -> anyhow::Result<Vec<f32>>;

    /// Launches it once; returns before it has run.
    ///
    /// # Errors
    /// Whatever the driver reports.
    fn launch(&mut self) -> anyhow::Result<()>;

    /// SHA-256 of each input as it is on the device, by file name.
    ///
    /// # Errors
    /// Whatever the driver reports.
    fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>>;
}

/// What runs kernels, and collects what they do between two marks.
pub trait Device {
    /// Makes a variant ready, with inputs and an output of its own.
    ///
    /// # Errors
    /// [`LaunchError`], also where the device cannot run the variant.
    fn prepare(
        &self,
        variant: &'static Variant,
        inputs: &Inputs,
    ) -> Result<Box<dyn Kernel>, LaunchError>;

    /// Waits until everything that was launched is done.
    ///
    /// # Errors
    /// Whatever the driver reports.
    fn synchronize(&self) -> anyhow::Result<()>;

    /// Opens or closes the profiler's range.
    ///
    /// # Errors
    /// Whatever the driver reports.
    fn collect(&self, on: bool) -> anyhow::Result<()>;
}

impl Kernel for Call {
    fn checked_call(&mut self) -> anyhow::Result<Vec<f32>> {
        self.poison()?;
        Call::launch(self)?;
        Ok(self.output()?)
    }

    fn launch(&mut self) -> anyhow::Result<()> {
        Ok(Call::launch(self)?)
    }

    fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
        Ok(Call::input_sha256(self)?)
    }
}

impl Device for Gpu {
    fn prepare(
        &self,
        variant: &'static Variant,
        inputs: &Inputs,
    ) -> Result<Box<dyn Kernel>, LaunchError> {
        let (major, minor) = self.compute_capability()?;
        if !variant.target.runs_on((major, minor)) {
            return Err(LaunchError::WrongDevice {
                variant: variant.id,
                target: variant.target.name(),
                major,
                minor,
            });
        }
        Ok(Box::new(Call::prepare(self, variant, inputs)?))
    }

    fn synchronize(&self) -> anyhow::Result<()> {
        Ok(Gpu::synchronize(self)?)
    }

    fn collect(&self, on: bool) -> anyhow::Result<()> {
        match on {
            true => self.profiler_start()?,
            false => self.profiler_stop()?,
        }
        Ok(())
    }
}

/// Checks and calls every variant of the targets' operations on this machine's GPU; gives the line that the profiler's
/// driver reads, [`Answers`].
///
/// # Errors
/// Bad inputs, objects that are not those of the tree, inputs that a kernel wrote to, and whatever the device
/// reports. An output that is wrong, and a variant that the device cannot run, are in the answer.
pub fn run(root: &Path, targets: &[Target<'_>], inputs: &Path) -> anyhow::Result<String> {
    let mut read = Vec::new();
    for Target { case, .. } in targets {
        let inputs = Inputs::read(inputs, case.name, &case.dims)?;
        inputs.verify(&case.sha256)?;
        read.push(inputs);
    }
    bench::built_from(root)?;
    let gpu = Gpu::open()?;
    let monitor = NvmlMonitor::open(&gpu)?;
    let answers = measure(root, targets, &read, &gpu, &monitor)?;
    Ok(serde_json::to_string(&answers)?)
}

/// Checks and calls every variant on `device`, with the inputs of each target.
///
/// # Errors
/// As [`run`].
pub fn measure(
    root: &Path,
    targets: &[Target<'_>],
    inputs: &[Inputs],
    device: &dyn Device,
    monitor: &dyn Monitor,
) -> anyhow::Result<Answers> {
    let checked = targets.iter().zip(inputs);
    let mut checked = checked
        .map(|(target, inputs)| check(root, target, inputs, device))
        .collect::<anyhow::Result<Vec<_>>>()?;
    device.collect(true)?;
    let mut states = Vec::new();
    for (target, checked) in targets.iter().zip(&mut checked) {
        let before = monitor.state()?;
        take_turns(target, &mut checked.arms, device)?;
        states.push((before, monitor.state()?));
    }
    device.collect(false)?;
    let answers = targets
        .iter()
        .zip(checked)
        .zip(states)
        .map(|((target, checked), states)| answer(target, checked, states, monitor))
        .collect::<anyhow::Result<_>>()?;
    Ok(Answers { answers })
}

/// What is timed.
struct Arm {
    name: String,
    kernels: Kernels,
}

/// One kernel made ready twice, the second time in the reverse order of all: two places of its buffers.
type Kernels = [Box<dyn Kernel>; 2];

/// All turns of the arms of one operation.
fn take_turns(target: &Target<'_>, arms: &mut [Arm], device: &dyn Device) -> anyhow::Result<()> {
    let turns = turns(target);
    for turn in 0..turns {
        let place = order::kernel(target.capture, turn);
        let calls = calls(target.iterations, turns, turn);
        for arm in order::turn(arms.iter_mut().collect(), target.capture, turns, turn) {
            take_turn(
                target,
                &arm.name,
                arm.kernels[place].as_mut(),
                calls.clone(),
            )?;
            device.synchronize()?;
        }
    }
    Ok(())
}

/// What is to be said of one operation, once its inputs have been proved unchanged.
fn answer(
    target: &Target<'_>,
    mut checked: Checked,
    (gpu_state_before, gpu_state_after): (GpuState, GpuState),
    monitor: &dyn Monitor,
) -> anyhow::Result<Answer> {
    let case = target.case;
    for Arm { name, kernels } in &mut checked.arms {
        for kernel in kernels {
            let found = kernel.input_sha256()?;
            if found != case.sha256 {
                bail!(
                    "{name}: inputs on the device after the calls: found {found:?}, expected {:?}; a kernel wrote to its inputs",
                    case.sha256
                );
            }
        }
    }
    let names = checked.arms.iter().map(|arm| arm.name.clone()).collect();
    let order = order::turn(names, target.capture, turns(target), 0);
    Ok(Answer {
        operation: case.name,
        dims: case.dims.clone(),
        variant: case.variant.clone(),
        tolerance: target.tolerance,
        input_sha256: case.sha256.clone(),
        order,
        turns: turns(target),
        device: monitor.device().clone(),
        gpu_state_before,
        gpu_state_after,
        steps: checked.steps,
        left_out: checked.left_out,
    })
}

fn turns(target: &Target<'_>) -> u32 {
    TURNS.min(target.iterations)
}

/// The calls of one turn out of `turns`, which together are all `iterations`.
fn calls(iterations: u32, turns: u32, turn: u32) -> Range<u32> {
    let bound = |turn: u32| (u64::from(iterations) * u64::from(turn) / u64::from(turns)) as u32;
    bound(turn)..bound(turn + 1)
}

/// Warms an arm up and makes its calls, each in a range of its own.
fn take_turn(
    target: &Target<'_>,
    arm: &str,
    kernel: &mut dyn Kernel,
    calls: Range<u32>,
) -> anyhow::Result<()> {
    let op = target.case.name;
    let mut call = |what: &str| {
        nvtx::range_push!("mage-ladder:{op}:{arm}:{what}");
        let launched = kernel.launch();
        nvtx::range_pop!();
        launched
    };
    for _ in 0..target.warmup {
        call("warmup")?;
    }
    for iteration in calls {
        call(&iteration.to_string())?;
    }
    Ok(())
}

/// The variants of an operation, each with its check.
struct Checked {
    steps: Vec<Called>,
    left_out: Vec<LeftOut>,
    arms: Vec<Arm>,
}

fn check(
    root: &Path,
    target: &Target<'_>,
    inputs: &Inputs,
    device: &dyn Device,
) -> anyhow::Result<Checked> {
    let case = target.case;
    let reference = reference::reference(inputs)?;
    let expected = Expected {
        shape: case.name.output_shape(&case.dims),
        record: None,
        reference: &reference,
        tolerance: target.tolerance,
    };
    let variants: Vec<&'static Variant> = variants::of(case.name).collect();
    let mut ready = prepare(target, &variants, inputs, device)?;
    let again = ready.pop();
    let (mut steps, mut left_out, mut arms) = (Vec::new(), Vec::new(), Vec::new());
    for (variant, ready) in variants.into_iter().zip(ready) {
        let mut kernels = match ready {
            Ok(kernels) => kernels,
            Err(reason) => {
                let id = variant.id.to_string();
                left_out.push(LeftOut { id, reason });
                continue;
            }
        };
        let (mut check, mut failed) = (None, None);
        if variant.status != variants::Status::Twin {
            for kernel in &mut kernels {
                let output = kernel.checked_call()?;
                match verify::agrees(variant.id, &output, &expected) {
                    Ok(passed) => check = Some(worse(check, passed)),
                    Err(error) => failed = Some(error.root_cause().to_string()),
                }
            }
        }
        if failed.is_none() {
            let name = variant.id.to_string();
            arms.push(Arm { name, kernels });
        }
        steps.push(Called {
            variant: described(root, variant)?,
            check: check.filter(|_| failed.is_none()),
            failed,
        });
    }
    // Last, so that the two turns of one variant do not follow each other.
    if let Some(Ok(kernels)) = again
        && arms.iter().any(|arm| arm.name == case.variant)
    {
        let name = format!("{}{AGAIN}", case.variant);
        arms.push(Arm { name, kernels });
    }
    Ok(Checked {
        steps,
        left_out,
        arms,
    })
}

/// The largest errors of two checks of one kernel.
fn worse(check: Option<Check>, other: Check) -> Check {
    let Some(check) = check else {
        return other;
    };
    let (a, b) = (check.fp64, other.fp64);
    Check {
        fp64: Agreement {
            max_abs_error: a.max_abs_error.max(b.max_abs_error),
            max_error_share: a.max_error_share.max(b.max_error_share),
        },
        ..other
    }
}

/// Each variant ready to be called, twice, or why it cannot be; last the experiment's own a second time. Where buffers
/// lie has an effect of its own on a kernel's time: all are made ready in one order, then in its reverse, so that a
/// capture's mean is of two places, and the order rotates from capture to capture.
fn prepare(
    target: &Target<'_>,
    variants: &[&'static Variant],
    inputs: &Inputs,
    device: &dyn Device,
) -> anyhow::Result<Vec<Result<Kernels, String>>> {
    let name = &target.case.variant;
    let own = variants.iter().find(|variant| variant.id == name);
    let own =
        own.with_context(|| format!("the experiment's variant {name} is none of the operation"))?;
    let arms: Vec<(usize, &'static Variant)> =
        variants.iter().chain([own]).copied().enumerate().collect();
    let arms = order::places(arms, target.capture);
    let mut first = BTreeMap::new();
    for (arm, variant) in &arms {
        let kernel = match variant.takes(&target.case.dims) {
            Err(reason) => Err(reason),
            Ok(()) => match device.prepare(variant, inputs) {
                Err(refused) if refused.is_refusal() => Err(refused.to_string()),
                kernel => Ok(kernel?),
            },
        };
        first.insert(*arm, kernel);
    }
    let mut ready = BTreeMap::new();
    for (arm, variant) in arms.iter().rev() {
        let kernels = match first.remove(arm) {
            Some(Ok(kernel)) => Ok([kernel, device.prepare(variant, inputs)?]),
            Some(Err(reason)) => Err(reason),
            None => continue,
        };
        ready.insert(*arm, kernels);
    }
    Ok(ready.into_values().collect())
}

/// A variant as the table and its source have it.
fn described(root: &Path, variant: &'static Variant) -> anyhow::Result<Described> {
    let header = header::read(root, variant)?;
    let object = objects::ptx(variant.id).ok_or(LaunchError::NoObject(variant.id))?;
    Ok(Described {
        id: variant.id.to_string(),
        parent: variant.parent.map(str::to_string),
        introduced: variant.introduced.to_string(),
        status: match variant.status {
            variants::Status::Retained => Status::Retained,
            variants::Status::Rejected => Status::Rejected,
            variants::Status::Open => Status::Open,
            variants::Status::Twin => Status::Twin,
        },
        summary: variant.summary.to_string(),
        changed: header.changed,
        expected: header.expected,
        object: object.file_name(),
        object_sha256: object.sha256(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_evidence::artifact::{self, GpuState};
    use mage_evidence::operation::Operation;
    use mage_kernels::inputs::{self, SEED};
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What was done, in order.
    type Log = Rc<RefCell<Vec<String>>>;

    /// Kernels that give the reference, but for `bias_gelu_two`, whose last element is wrong; nothing runs
    /// `bias_gelu_bulk`.
    struct Played {
        log: Log,
        spoils: bool,
    }

    struct PlayedKernel {
        name: String,
        log: Log,
        output: Vec<f32>,
        inputs: BTreeMap<String, String>,
    }

    impl Device for Played {
        fn prepare(
            &self,
            variant: &'static Variant,
            inputs: &Inputs,
        ) -> Result<Box<dyn Kernel>, LaunchError> {
            self.log
                .borrow_mut()
                .push(format!("prepare {}", variant.id));
            if variant.id == "bias_gelu_bulk" {
                return Err(LaunchError::WrongDevice {
                    variant: variant.id,
                    target: "sm_90a",
                    major: 8,
                    minor: 0,
                });
            }
            let mut output: Vec<f32> = reference::reference(inputs)
                .unwrap()
                .into_iter()
                .map(|value| value as f32)
                .collect();
            if variant.id == "bias_gelu_two" {
                *output.last_mut().unwrap() = f32::NAN;
            }
            let mut sha256 = inputs.sha256();
            if self.spoils && variant.id == "copy_two" {
                sha256.clear();
            }
            Ok(Box::new(PlayedKernel {
                name: variant.id.to_string(),
                log: Rc::clone(&self.log),
                output,
                inputs: sha256,
            }))
        }

        fn synchronize(&self) -> anyhow::Result<()> {
            self.log.borrow_mut().push("synchronize".into());
            Ok(())
        }

        fn collect(&self, on: bool) -> anyhow::Result<()> {
            self.log.borrow_mut().push(format!("collect {on}"));
            Ok(())
        }
    }

    impl Kernel for PlayedKernel {
        fn checked_call(&mut self) -> anyhow::Result<Vec<f32>> {
            self.log.borrow_mut().push(format!("check {}", self.name));
            Ok(self.output.clone())
        }

        fn launch(&mut self) -> anyhow::Result<()> {
            self.log.borrow_mut().push(self.name.clone());
            Ok(())
        }

        fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
            Ok(self.inputs.clone())
        }
    }

    struct Still(artifact::Device);

    impl Monitor for Still {
        fn device(&self) -> &artifact::Device {
            &self.0
        }

        fn state(&self) -> anyhow::Result<GpuState> {
            Ok(GpuState {
                sm_clock_mhz: 1980,
                memory_clock_mhz: 3201,
                temperature_c: 40,
                power_w: 120.0,
                throttle_reasons: Vec::new(),
            })
        }
    }

    fn measured(capture: u32, spoils: bool) -> (anyhow::Result<Answer>, Vec<String>) {
        let dims = [16, 768];
        let inputs = inputs::generate(Operation::Gelu, &dims, SEED).unwrap();
        let case = Case {
            name: Operation::Gelu,
            dims: dims.to_vec(),
            variant: "bias_gelu_full".into(),
            sha256: inputs.sha256(),
        };
        let target = Target {
            case: &case,
            tolerance: mage_kernels::compare::TOLERANCE,
            capture,
            iterations: 25,
            warmup: 2,
        };
        let log = Log::default();
        let device = Played {
            log: Rc::clone(&log),
            spoils,
        };
        let monitor = Still(artifact::Device {
            name: "GPU".into(),
            compute_capability: "9.0".into(),
            multiprocessors: 132,
            memory_bytes: 1,
            l2_bytes: 1,
            max_sm_clock_mhz: 1,
            max_memory_clock_mhz: 1,
            memory_bus_bits: 1,
            driver: "1".into(),
            cuda_driver: "13.0".into(),
            uuid: None,
        });
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let answers = measure(&root, &[target], &[inputs], &device, &monitor);
        let log = log.borrow().clone();
        (answers.map(|mut all| all.answers.remove(0)), log)
    }

    #[test]
    fn everything_is_checked_first_and_then_takes_turns() {
        let (answer, log) = measured(1, false);
        let answer = answer.unwrap();
        answer.check().unwrap();
        let start = log.iter().position(|line| line == "collect true").unwrap();
        let before = |line: &String| line.starts_with("prepare ") || line.starts_with("check ");
        assert!(log[..start].iter().all(before));
        assert!(
            !log[..start]
                .iter()
                .any(|line| line.starts_with("check copy_"))
        );
        assert_eq!(log.last().unwrap(), "collect false");
        let inside = &log[start + 1..log.len() - 1];
        assert!(!inside.iter().any(|line| line.starts_with("check ")));
        // 25 calls in ten turns, each after two more; the experiment's own variant twice as many.
        let count = |id: &str| inside.iter().filter(|line| *line == id).count();
        assert_eq!(count("bias_gelu"), 25 + 2 * 10);
        assert_eq!(count("copy_two"), 25 + 2 * 10);
        assert_eq!(count("bias_gelu_full"), 2 * (25 + 2 * 10));
        assert_eq!(count("bias_gelu_two"), 0, "its output is wrong");
        assert_eq!(count("synchronize"), 10 * answer.order.len());
        assert_eq!(answer.order.last().unwrap(), "bias_gelu_full.again");
        let checks = |id: &str| {
            log.iter()
                .filter(|line| **line == format!("check {id}"))
                .count()
        };
        assert_eq!(checks("bias_gelu"), 2, "at both places");
    }

    #[test]
    fn what_failed_and_what_did_not_run_say_why() {
        let answer = measured(1, false).0.unwrap();
        let two = answer
            .steps
            .iter()
            .find(|s| s.variant.id == "bias_gelu_two")
            .unwrap();
        assert!(
            two.failed
                .as_ref()
                .unwrap()
                .starts_with("element 12287 at [15, 767]: found NaN")
        );
        assert!(!answer.order.contains(&"bias_gelu_two".to_string()));
        let left_out: Vec<&str> = answer.left_out.iter().map(|l| l.id.as_str()).collect();
        assert_eq!(left_out, ["bias_gelu_bulk"]);
        let full = answer
            .steps
            .iter()
            .find(|s| s.variant.id == "bias_gelu_full")
            .unwrap();
        assert_eq!(full.variant.parent.as_deref(), Some("bias_gelu_pair"));
        assert!(
            full.check
                .as_ref()
                .is_some_and(|c| c.checked_elements == 16 * 768)
        );
        assert!(
            full.variant
                .changed
                .starts_with("A block has 64 x 8 threads")
        );
    }

    #[test]
    fn order_and_places_go_on_from_capture_to_capture() {
        let first = measured(1, false).0.unwrap().order;
        let second = measured(2, false).0.unwrap().order;
        assert_ne!(first, second);
        let prepared = |capture| {
            let mut log = measured(capture, false).1;
            log.retain(|line| line.starts_with("prepare "));
            log
        };
        let (log, other) = (prepared(1), prepared(2));
        let count = variants::of(Operation::Gelu).count() + 1;
        let (once, mut again) = (log[..count].to_vec(), log[count..].to_vec());
        again.reverse();
        let mut runs = once.clone();
        runs.retain(|line| line != "prepare bias_gelu_bulk");
        assert_eq!(runs, again, "a second time in reverse, what can run");
        assert_ne!(once, other[..count], "the places of buffers rotate");
        assert_eq!(calls(25, 10, 0), 0..2);
        assert_eq!(calls(25, 10, 9), 22..25);
        let all: Vec<u32> = (0..10).flat_map(|turn| calls(25, 10, turn)).collect();
        assert_eq!(all, (0..25).collect::<Vec<_>>());
    }

    #[test]
    fn a_kernel_that_writes_to_its_inputs_ends_the_run() {
        let error = measured(1, true).0.unwrap_err().to_string();
        assert!(
            error.starts_with("copy_two: inputs on the device"),
            "{error}"
        );
    }
}
