//! Comparisons without a device: arms played by the CPU reference, on a clock of their own.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mage_evidence::ab::{Cache, Comparison, Ended, ORDERS};
use mage_evidence::artifact::{Build, Device, GpuState, SourceTree, TreeState};
use mage_evidence::experiment::Tolerance;
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_evidence::verdict::{Reason, Verdict};
use mage_harness::ab::verb::{Machine, comparison};
use mage_harness::ab::{Arms, End, Measured, Plan, Side, measure};
use mage_harness::{Implementation, Load, Loaded, Monitor};
use mage_kernels::inputs::{Inputs, generate};
use mage_kernels::reference::reference;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// What a played arm does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Writes a wrong element in its `n`-th checked call.
    WrongInCall(u32),
    /// Runs the general kernel.
    FallsBack,
    WritesInputs,
    LosesSample,
    ZeroWhenCold,
    /// Fails in its `n`-th turn.
    Dies(u32),
    CannotFlush,
}

/// An arm that takes `us` a call, `cold_us` with a cold cache, each turn and call a little more or less.
struct Played {
    us: f64,
    cold_us: f64,
    fault: Fault,
    arm: usize,
    inputs: Option<Inputs>,
    checks: u32,
    turns: u32,
    random: u64,
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    clock: Cell<f64>,
    turns: RefCell<Vec<usize>>,
    throttled: Cell<bool>,
}

impl Played {
    /// Between -1 and 1.
    fn noise(&mut self) -> f64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    }

    fn samples(&mut self, us: f64, iterations: u32) -> Vec<f64> {
        let of_turn = 1.0 + 0.004 * self.noise();
        let samples: Vec<f64> = (0..iterations)
            .map(|_| us * of_turn * (1.0 + 0.002 * self.noise()))
            .collect();
        let spent: f64 = samples.iter().map(|us| us + 15.0).sum();
        self.shared
            .clock
            .set(self.shared.clock.get() + spent * 1e-6);
        samples
    }
}

impl Implementation for Played {
    fn name(&self) -> &str {
        "rust"
    }

    fn load(&mut self, load: &Load<'_>) -> anyhow::Result<Loaded> {
        self.inputs = Some(load.inputs.clone());
        Ok(Loaded::Ready(None))
    }

    fn kernel(&self) -> Option<&str> {
        let general = self.fault == Fault::FallsBack;
        Some(if general {
            "bias_gelu"
        } else {
            VARIANTS[self.arm / 2]
        })
    }

    fn checked_call(&mut self) -> anyhow::Result<Vec<f32>> {
        self.checks += 1;
        let expected = reference(self.inputs.as_ref().unwrap())?;
        let mut output: Vec<f32> = expected.iter().map(|&v| v as f32).collect();
        if self.fault == Fault::WrongInCall(self.checks) {
            output[5] += 0.01;
        }
        Ok(output)
    }

    fn measure(&mut self, _: u32, iterations: u32) -> anyhow::Result<Vec<f64>> {
        self.turns += 1;
        if self.fault == Fault::Dies(self.turns) {
            anyhow::bail!("an illegal memory access");
        }
        self.shared.turns.borrow_mut().push(self.arm);
        let mut samples = self.samples(self.us, iterations);
        if self.fault == Fault::LosesSample {
            samples.pop();
        }
        Ok(samples)
    }

    fn measure_cold(&mut self, iterations: u32, flush_bytes: u64) -> anyhow::Result<Vec<f64>> {
        assert_eq!(flush_bytes, 2 << 20, "twice the cache");
        if self.fault == Fault::CannotFlush {
            anyhow::bail!("no memory to flush with");
        }
        let mut samples = self.samples(self.cold_us, iterations);
        if self.fault == Fault::ZeroWhenCold {
            samples[0] = 0.0;
        }
        Ok(samples)
    }

    fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut found = self.inputs.as_ref().unwrap().sha256();
        if self.fault == Fault::WritesInputs {
            found.insert("a.bin".into(), "0".repeat(64));
        }
        Ok(found)
    }
}

struct PlayedMonitor(Device, Rc<Shared>);

impl Monitor for PlayedMonitor {
    fn device(&self) -> &Device {
        &self.0
    }

    fn state(&self) -> anyhow::Result<GpuState> {
        Ok(GpuState {
            sm_clock_mhz: 1980,
            memory_clock_mhz: 3201,
            temperature_c: 30,
            power_w: 100.0,
            throttle_reasons: match self.1.throttled.get() {
                true => vec!["sw_thermal_slowdown".into()],
                false => vec!["gpu_idle".into()],
            },
        })
    }
}

const VARIANTS: [&str; 2] = ["bias_gelu_quad", "bias_gelu_row"];

/// Three arms: A, A again, B; times hot and cold, and what B does wrong.
struct Bench {
    arms: Arms,
    monitor: PlayedMonitor,
    shared: Rc<Shared>,
}

fn bench(times: [[f64; 2]; 3], fault: Fault) -> Bench {
    let shared = Rc::new(Shared::default());
    let mut arm = 0;
    let arms = times.map(|[us, cold_us]| -> Box<dyn Implementation> {
        arm += 1;
        Box::new(Played {
            us,
            cold_us,
            fault: if arm == 3 { fault } else { Fault::None },
            arm: arm - 1,
            inputs: None,
            checks: 0,
            turns: 0,
            random: arm as u64 * 77,
            shared: Rc::clone(&shared),
        })
    });
    let device = Device {
        name: "Played".into(),
        compute_capability: "9.0".into(),
        multiprocessors: 1,
        memory_bytes: 1,
        l2_bytes: 1 << 20,
        max_sm_clock_mhz: 1,
        max_memory_clock_mhz: 1,
        memory_bus_bits: 1,
        driver: "1".into(),
        cuda_driver: "13.0".into(),
        uuid: None,
    };
    Bench {
        arms,
        monitor: PlayedMonitor(device, Rc::clone(&shared)),
        shared,
    }
}

const MARGIN: f64 = 0.01;

fn go(bench: &mut Bench, end: End) -> anyhow::Result<Measured> {
    let inputs = generate(Operation::Gelu, &[3, 256], 7).unwrap();
    let plan = Plan {
        inputs: &inputs,
        directory: Path::new("."),
        tolerance: Tolerance {
            rtol: 1e-4,
            atol: 1e-4,
        },
        sides: VARIANTS.map(|variant| Side {
            name: variant.into(),
            variant,
        }),
        end,
    };
    let shared = Rc::clone(&bench.shared);
    let mut clock = || Duration::from_secs_f64(shared.clock.get());
    measure(
        &plan,
        &mut bench.arms,
        &bench.monitor,
        &mut clock,
        &mut |_| {},
    )
}

const LONG: End = End::Narrow {
    margin: MARGIN,
    budget: Duration::from_secs(45),
};

fn compared(measured: Measured) -> Comparison {
    let machine = Machine {
        device: bench([[1.0; 2]; 3], Fault::None).monitor.0,
        python: None,
        build: Build {
            tree: SourceTree {
                state: TreeState::Unknown,
                commit: None,
                difference_sha256: None,
            },
            source_sha256: BTreeMap::new(),
            objects_sha256: BTreeMap::new(),
            binary_sha256: String::new(),
        },
        command: vec!["mage-harness".into(), "ab".into()],
    };
    let budget = Duration::from_secs(45);
    comparison(
        measured,
        MARGIN,
        budget,
        "2026-01-01T00:00:00Z".into(),
        machine,
    )
    .unwrap()
}

fn verdicts(comparison: &Comparison) -> [Verdict; 2] {
    comparison
        .judged()
        .unwrap()
        .map(|judged| judged.judgement.verdict)
}

#[test]
fn a_true_difference_is_found_hot_and_cold_apart_and_ends_early() {
    let mut bench = bench([[10.0, 20.0], [10.0, 20.0], [10.5, 18.0]], Fault::None);
    let comparison = compared(go(&mut bench, LONG).unwrap());
    assert_eq!(verdicts(&comparison), [Verdict::Slower, Verdict::Faster]);
    assert_eq!(comparison.ended, Ended::Narrow);
    assert!(comparison.took_s < 10.0, "{}", comparison.took_s);
    let [hot, cold] = comparison.judged().unwrap();
    assert!((hot.ratio.log - 1.05f64.ln()).abs() < 0.004, "{hot:?}");
    assert!((cold.ratio.log - 0.9f64.ln()).abs() < 0.004, "{cold:?}");
    assert_eq!(comparison.session.cycles(), 12, "narrow at the first look");
    let text = comparison.text().unwrap();
    for part in [
        "gelu 3x256 on Played: B = bias_gelu_row against A = bias_gelu_quad",
        "hot: bias_gelu_row is slower than bias_gelu_quad: ",
        "cold: bias_gelu_row is faster than bias_gelu_quad: ",
        "12 cycles of 6 rounds",
        "ended because the intervals are narrow enough",
        "floor: A against itself",
        "Whole outputs (768 elements) agree",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn the_arms_take_turns_in_the_balanced_orders() {
    let mut bench = bench([[10.0, 20.0]; 3], Fault::None);
    let measured = go(&mut bench, End::Cycles(2)).unwrap();
    assert_eq!(measured.ended, Ended::Planned);
    assert_eq!(measured.session.cycles(), 2);
    let turns = bench.shared.turns.borrow();
    let cycle: Vec<usize> = ORDERS.concat();
    assert!(
        turns.len() > 2 * cycle.len(),
        "some cycles settle before any count"
    );
    assert!(turns.chunks(cycle.len()).all(|turns| turns == cycle));
}

#[test]
fn a_kernel_against_itself_has_no_winner() {
    let mut bench = bench([[10.0, 20.0]; 3], Fault::None);
    let comparison = compared(go(&mut bench, LONG).unwrap());
    for verdict in verdicts(&comparison) {
        assert_eq!(verdict, Verdict::Equivalent);
    }
}

#[test]
fn an_arm_that_differs_from_itself_raises_the_floor() {
    let mut bench = bench([[10.0, 20.0], [10.4, 20.0], [10.3, 20.0]], Fault::None);
    let comparison = compared(go(&mut bench, LONG).unwrap());
    let [hot, cold] = verdicts(&comparison);
    assert!(
        matches!(hot, Verdict::Inconclusive(Reason::BelowFloor { .. })),
        "{hot}"
    );
    assert_eq!(cold, Verdict::Equivalent);
    assert!(comparison.text().unwrap().contains("; to settle it: "));
}

/// What a process does by itself, more rounds of it do not tell.
#[test]
fn a_difference_that_a_process_can_make_is_settled_by_several() {
    let mut bench = bench([[10.0, 20.0], [10.0, 20.0], [10.2, 20.0]], Fault::None);
    let mut comparison = compared(go(&mut bench, LONG).unwrap());
    let hot = verdicts(&comparison)[0].clone();
    assert!(
        matches!(hot, Verdict::Inconclusive(Reason::ProcessEffect(_))),
        "{hot}"
    );
    let text = comparison.text().unwrap();
    for words in [
        "to settle it: the kernel times of several processes: ",
        "mage-profile -- ladder --experiment EXPERIMENT --ops gelu --captures 6 ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("--budget"), "{text}");
    comparison
        .command
        .extend(["--experiment".into(), "mage-002".into()]);
    comparison.session.a.kernel = None;
    comparison.session.a.name = "triton".into();
    let text = comparison.text().unwrap();
    let words = "mage-profile -- run --experiment mage-002 --ops gelu --captures 6 --inputs target/inputs --implementations triton,rust";
    assert!(text.contains(words), "{text}");
}

#[test]
fn time_that_is_up_ends_with_whole_cycles_and_says_what_is_missing() {
    let mut bench = bench([[10.0, 20.0], [10.0, 20.0], [12.0, 20.0]], Fault::None);
    let end = End::Narrow {
        margin: MARGIN,
        budget: Duration::from_millis(1),
    };
    let comparison = compared(go(&mut bench, end).unwrap());
    assert_eq!(comparison.ended, Ended::Time);
    assert_eq!(comparison.session.cycles(), 1);
    assert!(matches!(
        verdicts(&comparison)[0],
        Verdict::Inconclusive(Reason::TooFew(_))
    ));
    let text = comparison.text().unwrap();
    assert!(text.contains("to settle it: --budget 180s"), "{text}");
    // Nothing stands where there is no interval: JSON has no null.
    let json = store::to_json(&comparison).unwrap();
    assert!(!json.contains("interval_percent"), "{json}");
}

#[test]
fn throttled_clocks_leave_nothing_to_say() {
    let mut bench = bench([[10.0, 20.0], [10.0, 20.0], [12.0, 20.0]], Fault::None);
    bench.shared.throttled.set(true);
    let comparison = compared(go(&mut bench, LONG).unwrap());
    assert!(matches!(
        &verdicts(&comparison)[0],
        Verdict::Inconclusive(Reason::Throttled(reasons)) if reasons == &["sw_thermal_slowdown"]
    ));
}

#[test]
fn what_is_stored_reads_back_and_a_changed_result_is_refused() {
    let mut bench = bench([[10.0, 20.0], [10.0, 20.0], [11.0, 20.0]], Fault::None);
    let comparison = compared(go(&mut bench, LONG).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ab.json");
    store::write_json(&path, &comparison).unwrap();
    let mut read: Comparison = store::read_json(&path).unwrap();
    assert_eq!(read, comparison);
    read.check().unwrap();
    read.results[0].change_percent = -10.0;
    let error = read.check().unwrap_err();
    assert_eq!(error.field, "results[0]");
    read.session.hot.b_us[3] = 0.0;
    assert_eq!(read.check().unwrap_err().field, "session.hot.b_us[3]");
}

#[test]
fn whatever_goes_wrong_names_the_arm_and_compares_nothing() {
    for (fault, parts) in [
        (Fault::WrongInCall(1), ["bias_gelu_row", "element 5"]),
        (Fault::WrongInCall(2), ["bias_gelu_row", "FP64"]),
        (
            Fault::FallsBack,
            ["bias_gelu_row: found that bias_gelu runs", "[3, 256]"],
        ),
        (
            Fault::WritesInputs,
            ["bias_gelu_row", "wrote to its inputs"],
        ),
        (Fault::LosesSample, ["found 14 samples", "expected 15"]),
        (
            Fault::ZeroWhenCold,
            ["cold", "found 0 us, expected a finite time above 0"],
        ),
        (Fault::Dies(9), ["illegal memory access", ""]),
        (Fault::CannotFlush, ["no memory to flush with", ""]),
    ] {
        let mut bench = bench([[10.0, 20.0]; 3], fault);
        let error = format!("{:#}", go(&mut bench, LONG).unwrap_err());
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[test]
fn hot_and_cold_are_each_given() {
    let mut bench = bench([[10.0, 20.0]; 3], Fault::None);
    let comparison = compared(go(&mut bench, LONG).unwrap());
    let caches: Vec<Cache> = comparison.results.iter().map(|row| row.cache).collect();
    assert_eq!(caches, Cache::ALL);
    assert!(comparison.results[0].a_us < comparison.results[1].a_us);
}
