//! Calibrations of studies made by hand: what was put in comes out.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mage_evidence::ab::{Arm, CYCLE, Session, Times, Turn};
use mage_evidence::artifact::{
    Agreement, Build, Capture, Check, Device, GpuState, Host, Kernel, SourceTree, TreeState,
};
use mage_evidence::calibration::{
    By, Calibration, PROCESS_SCHEMA, Process, Quantity, STUDY_SCHEMA, Study, calibrate, handle,
    handles_us,
};
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_evidence::verdict::{KERNEL_TIME_EFFECT, MARGIN, PROCESS_EFFECT, SPAN_EFFECT};
use std::collections::BTreeMap;

/// What disturbs the hand-made data, as parts of 1.
#[derive(Clone, Copy)]
struct Noise {
    /// What each round does to each arm.
    round: f64,
    /// What a process does to one handle.
    handle: f64,
    /// What a process does to everything.
    process: f64,
}

const QUIET: Noise = Noise {
    round: 0.002,
    handle: 0.0005,
    process: 0.003,
};

/// Uniform between -1 and 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    }
}

fn device() -> Device {
    Device {
        name: "NVIDIA Handmade 1".into(),
        compute_capability: "9.0".into(),
        multiprocessors: 1,
        memory_bytes: 1,
        l2_bytes: 1,
        max_sm_clock_mhz: 1,
        max_memory_clock_mhz: 1,
        memory_bus_bits: 1,
        driver: "1".into(),
        cuda_driver: "13.0".into(),
        uuid: None,
    }
}

fn study() -> Study {
    Study {
        schema: STUDY_SCHEMA.into(),
        experiment: "x".into(),
        experiment_sha256: "0".repeat(64),
        started: "2026-01-01T00:00:00Z".into(),
        finished: "2026-01-01T00:01:00Z".into(),
        command: vec!["xtask".into()],
        processes: 6,
        cycles: 24,
        capture_iterations: 8,
        warmup: 2,
        profiler: "none: made by hand".into(),
        host: Host {
            platform: "x".into(),
            processor: "x".into(),
            logical_processors: 1,
        },
        device: device(),
        build: Build {
            tree: SourceTree {
                state: TreeState::Unknown,
                commit: None,
                difference_sha256: None,
            },
            source_sha256: BTreeMap::new(),
            objects_sha256: BTreeMap::new(),
            binary_sha256: "1".repeat(64),
        },
        harness_sha256: "2".repeat(64),
    }
}

const OPERATIONS: [(Operation, &[u32], &str, f64); 3] = [
    (Operation::Gelu, &[3, 4], "bias_gelu", 12.0),
    (Operation::LayerNorm, &[3, 4], "layer_norm_warp", 9.0),
    (
        Operation::Matmul,
        &[3, 4, 5],
        "tiled_matmul_registers",
        90.0,
    ),
];

fn times(random: &mut Random, noise: Noise, us: f64, cycles: u32) -> Times {
    let process = noise.process * random.next();
    let handles = [0; 3].map(|_| noise.handle * random.next());
    let mut arms = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..cycles as usize * CYCLE {
        for (arm, handle) in arms.iter_mut().zip(handles) {
            let log = process + handle + noise.round * random.next();
            arm.push(us * log.exp());
        }
    }
    let [a_us, again_us, b_us] = arms;
    Times {
        a_us,
        again_us,
        b_us,
        tick_us: 0.001,
    }
}

fn material(noise: Noise) -> (Vec<Process>, BTreeMap<Operation, Vec<Capture>>) {
    let mut random = Random(7);
    let study = study();
    let mut processes = Vec::new();
    let mut captures: BTreeMap<Operation, Vec<Capture>> = BTreeMap::new();
    for index in 1..=study.processes {
        let mut sessions = Vec::new();
        for (operation, dims, variant, us) in OPERATIONS {
            let arm = Arm {
                name: variant.into(),
                kernel: Some(variant.into()),
                choice: None,
                check: Check {
                    checked_elements: 12,
                    record: None,
                    fp64: Agreement {
                        max_abs_error: 0.0,
                        max_error_share: 0.0,
                    },
                },
            };
            sessions.push(Session {
                operation,
                dims: dims.to_vec(),
                input_sha256: BTreeMap::new(),
                a: arm.clone(),
                b: arm,
                turn: Turn {
                    warmup: 5,
                    hot: 15,
                    cold: 10,
                    flush_bytes: 2,
                },
                hot: times(&mut random, noise, us, study.cycles),
                cold: times(&mut random, noise, us * 2.0, study.cycles),
                gpu_states: vec![GpuState {
                    sm_clock_mhz: 1,
                    memory_clock_mhz: 1,
                    temperature_c: 1,
                    power_w: 1.0,
                    throttle_reasons: Vec::new(),
                }],
            });
            let process = noise.process * random.next();
            let handles = [0; 2].map(|_| noise.handle * random.next());
            let kernels = (0..study.capture_iterations).map(|i| Kernel {
                name: variant.into(),
                start_ns: u64::from(i) * 1_000_000,
                duration_ns: (us * 500.0 * (process + handles[handle(i)]).exp()) as u64,
                grid: [1; 3],
                block: [1; 3],
                registers: 1,
                static_shared_bytes: 0,
                dynamic_shared_bytes: 0,
                stream: 7,
                iteration: Some(i),
            });
            captures.entry(operation).or_default().push(Capture {
                gpu_uuid: None,
                schema: "mage.capture/1".into(),
                operation,
                dims: dims.to_vec(),
                implementation: "rust".into(),
                variant: Some(variant.into()),
                config: None,
                index,
                requested_iterations: study.capture_iterations,
                commands: Vec::new(),
                notes: Vec::new(),
                kernels: kernels.collect(),
            });
        }
        processes.push(Process {
            schema: PROCESS_SCHEMA.into(),
            experiment: "x".into(),
            command: Vec::new(),
            device: device(),
            binary_sha256: "2".repeat(64),
            objects_sha256: BTreeMap::new(),
            sessions,
        });
    }
    (processes, captures)
}

fn calibrated(noise: Noise) -> Calibration {
    let (processes, captures) = material(noise);
    let hashes = BTreeMap::new();
    calibrate(
        "calibration-handmade-1",
        &study(),
        &processes,
        &captures,
        hashes,
    )
    .unwrap()
}

fn winners(calibration: &Calibration, by: By) -> (u32, u32) {
    let rates = calibration.rows.iter().flat_map(|row| &row.rates);
    rates
        .filter(|rate| rate.by == by)
        .fold((0, 0), |(w, c), rate| {
            (w + rate.winners, c + rate.comparisons)
        })
}

#[test]
fn a_quiet_device_has_small_margins_and_few_winners() {
    let calibration = calibrated(QUIET);
    assert_eq!(calibration.rows.len(), 3 * Quantity::ALL.len());
    // Two handles differ by at most 2 * 0.05%, and what is left of the rounds.
    assert!(
        (0.001..=0.002).contains(&calibration.process_effect),
        "{}",
        calibration.process_effect
    );
    // Two processes differ by at most 0.6% and two handles.
    assert!(
        (0.002..=0.008).contains(&calibration.margin),
        "{}",
        calibration.margin
    );
    let (named, of) = winners(&calibration, By::OneProcess);
    assert_eq!(
        of,
        3 * 2 * 6 * 6 * 3,
        "operations, caches, processes, roles, windows"
    );
    assert_eq!(
        named, 0,
        "the bound is above every difference of two handles"
    );
    for (by, comparisons) in [
        (By::ThreeRounds, 3 * 2 * 30 * 8),
        (By::OneCapture, 3 * 30 * 2),
        (By::ThreeCaptures, 3 * 20 * 2),
    ] {
        let (named, of) = winners(&calibration, by);
        assert_eq!(of, comparisons, "{by:?}");
        assert!(
            f64::from(named) <= 0.2 * f64::from(of),
            "{by:?}: {named} of {of}"
        );
    }
    for row in &calibration.rows {
        for rate in &row.rates {
            let found = rate.resolved_percent.unwrap();
            assert!(found <= 10.0, "{} {:?}: {found}", row.operation, rate.by);
        }
    }
}

/// What a process does to one handle is what the bound is for: without it the verdict would name it.
#[test]
fn what_a_process_does_to_a_handle_becomes_the_bound() {
    let calibration = calibrated(Noise {
        handle: 0.02,
        ..QUIET
    });
    assert!(
        calibration.process_effect > 0.01,
        "{}",
        calibration.process_effect
    );
    assert!(calibration.margin >= calibration.process_effect);
    assert!(winners(&calibration, By::OneProcessUnbounded).0 > 0);
    assert_eq!(winners(&calibration, By::OneProcess).0, 0);
    let span = calibration
        .rows
        .iter()
        .find(|row| row.quantity == Quantity::SpanHot)
        .unwrap();
    assert!(
        span.handles_percent > 0.5 && span.handles_largest_percent <= 4.2,
        "{span:?}"
    );
    let found = |by| {
        let rate = span.rates.iter().find(|rate| rate.by == by).unwrap();
        rate.resolved_percent.unwrap()
    };
    assert!(found(By::OneProcess) >= calibration.process_effect * 100.0);
}

#[test]
fn the_same_study_gives_the_same_evidence_and_page() {
    let (first, second) = (calibrated(QUIET), calibrated(QUIET));
    let json = store::to_json(&first).unwrap();
    assert_eq!(json, store::to_json(&second).unwrap());
    let page = first.markdown();
    assert_eq!(page, second.markdown());
    assert!(
        page.starts_with("# What a verdict is worth on an Handmade 1\n"),
        "{page}"
    );
    assert!(
        page.contains("| gelu | `bias_gelu` | kernel time | "),
        "{page}"
    );
    assert!(page.contains("`handmade-1.json`"), "{page}");
    let read: Calibration = serde_json::from_str(&json).unwrap();
    assert_eq!(read, first);
}

#[test]
fn handles_take_turns_so_that_drift_cancels() {
    let order: Vec<usize> = (0..8).map(handle).collect();
    assert_eq!(order, [0, 1, 1, 0, 0, 1, 1, 0]);
    let (_, captures) = material(QUIET);
    let mut capture = captures[&Operation::Gelu][0].clone();
    for (i, kernel) in capture.kernels.iter_mut().enumerate() {
        kernel.duration_ns = 1000 + 10 * i as u64;
    }
    let [a, b] = handles_us(&capture).unwrap();
    assert_eq!((a, b), (1.035, 1.035));
    capture.kernels[0].iteration = None;
    capture
        .kernels
        .iter_mut()
        .for_each(|kernel| kernel.iteration = None);
    assert_eq!(
        handles_us(&capture).unwrap_err().field,
        "kernels[0].iteration"
    );
}

#[test]
fn what_is_not_as_the_study_says_is_refused() {
    type Edit = fn(&mut Study, &mut Vec<Process>, &mut BTreeMap<Operation, Vec<Capture>>);
    let edits: [(Edit, &str); 11] = [
        (
            |study, _, _| study.schema = "mage.calibration-run/2".into(),
            "schema",
        ),
        (|study, _, _| study.processes = 2, "processes"),
        (|study, _, _| study.cycles = 12, "cycles"),
        (|_, processes, _| drop(processes.pop()), "spans"),
        (
            |_, processes, _| processes[1].binary_sha256 = "3".repeat(64),
            "spans/2.binary_sha256",
        ),
        (
            |_, processes, _| processes[2].device.driver = "2".into(),
            "spans/3.device.driver",
        ),
        (
            |study, processes, _| {
                study.device.uuid = Some("GPU-1".into());
                processes[2].device.uuid = Some("GPU-2".into());
            },
            "spans/3.device.uuid",
        ),
        (
            |study, _, captures| {
                study.device.uuid = Some("GPU-1".into());
                captures.get_mut(&Operation::Gelu).unwrap()[1].gpu_uuid = Some("GPU-2".into());
            },
            "captures/gelu-2.gpu_uuid",
        ),
        (
            |_, processes, _| processes[0].sessions[1].b.name = "other".into(),
            "spans/1.sessions[1].b.name",
        ),
        (
            |_, _, captures| drop(captures.remove(&Operation::Gelu)),
            "captures.gelu",
        ),
        (
            |_, _, captures| {
                captures.get_mut(&Operation::Gelu).unwrap()[1].variant = Some("x".into())
            },
            "captures/gelu-2.variant",
        ),
    ];
    for (edit, field) in edits {
        let (mut study, (mut processes, mut captures)) = (study(), material(QUIET));
        edit(&mut study, &mut processes, &mut captures);
        let result = calibrate(
            "calibration-x",
            &study,
            &processes,
            &captures,
            BTreeMap::new(),
        );
        let error = result.unwrap_err();
        assert_eq!(error.field, field, "{error}");
    }
}

/// Verdicts use what was measured: the largest of all committed calibrations.
#[test]
fn the_margins_are_those_of_the_calibrations() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/calibration");
    let mut found = [0.0f64; 4];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let of: Calibration = store::read_json(&path).unwrap();
            let bounds = [
                of.margin,
                of.process_effect,
                of.kernel_time_effect,
                of.span_effect,
            ];
            found = std::array::from_fn(|i| found[i].max(bounds[i]));
        }
    }
    let used = [MARGIN, PROCESS_EFFECT, KERNEL_TIME_EFFECT, SPAN_EFFECT];
    assert_eq!(used, found, "crates/evidence/src/verdict.rs");
}
