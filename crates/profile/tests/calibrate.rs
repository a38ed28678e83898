//! A study against a fake profiler and a fake harness: what is published, and how it fails.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{ITERATIONS, Workspace};
use mage_evidence::ab::{Arm, CYCLE, Session, Times, Turn};
use mage_evidence::artifact::{
    Agreement, Build, Check, Device, GpuState, Host, SourceTree, TreeState,
};
use mage_evidence::calibration::{Calibration, PROCESS_SCHEMA, Process, Study};
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_export::calibration;
use mage_profile::calibrate::{Options, measure};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const CYCLES: u32 = 24;

fn build() -> Build {
    Build {
        tree: SourceTree {
            state: TreeState::Unknown,
            commit: None,
            difference_sha256: None,
        },
        source_sha256: BTreeMap::new(),
        objects_sha256: BTreeMap::new(),
        binary_sha256: "0".repeat(64),
    }
}

/// What the fake harness says that it measured; the hash stands for the program's own.
fn process() -> Process {
    let arm = |elements| Arm {
        name: "kernel".into(),
        kernel: Some("kernel".into()),
        choice: None,
        check: Check {
            checked_elements: elements,
            record: None,
            fp64: Agreement {
                max_abs_error: 0.0,
                max_error_share: 0.0,
            },
        },
    };
    let times = |us: f64| {
        let arm = |k: f64| {
            let round = |i: usize| us * (1.0 + k * (i % 7) as f64);
            (0..CYCLES as usize * CYCLE).map(round).collect()
        };
        Times {
            a_us: arm(0.0001),
            again_us: arm(0.0002),
            b_us: arm(0.0003),
            tick_us: 0.01,
        }
    };
    let session = |operation, dims: &[u32], elements| Session {
        operation,
        dims: dims.to_vec(),
        input_sha256: BTreeMap::new(),
        a: arm(elements),
        b: arm(elements),
        turn: Turn {
            warmup: 5,
            hot: 15,
            cold: 10,
            flush_bytes: 2,
        },
        hot: times(10.0),
        cold: times(20.0),
        gpu_states: vec![GpuState {
            sm_clock_mhz: 1,
            memory_clock_mhz: 1,
            temperature_c: 1,
            power_w: 1.0,
            throttle_reasons: Vec::new(),
        }],
    };
    Process {
        schema: PROCESS_SCHEMA.into(),
        experiment: "x-1".into(),
        command: vec!["mage-harness".into()],
        device: Device {
            name: "NVIDIA Fake 1".into(),
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
        },
        binary_sha256: "@HASH@".into(),
        objects_sha256: BTreeMap::new(),
        sessions: vec![
            session(Operation::Matmul, &[17, 19, 23], 17 * 19),
            session(Operation::Gelu, &[3, 257], 3 * 257),
        ],
    }
}

/// A workspace whose harness also plays `identical`; `more` is run in it first.
fn workspace(more: &str) -> Workspace {
    let workspace = Workspace::new();
    let template = workspace.path("process.json");
    store::write_json(&template, &process()).unwrap();
    workspace.script(
        "mage-harness",
        &format!(
            r#"{more}
if [ "$1" = identical ]; then
    echo "$*" >> "$0.log"
    while [ "$1" != --output ]; do shift; done
    sed "s/@HASH@/$(sha256sum "$0" | cut -d' ' -f1)/" '{}' > "$2"
    exit
fi
echo "$*" >> "$0.log"
echo '{{"kernel": "kernel"}}'"#,
            template.display()
        ),
    );
    workspace
}

fn options(workspace: &Workspace) -> Options {
    Options {
        root: workspace.path(""),
        experiment: "x-1".into(),
        name: None,
        processes: 3,
        cycles: CYCLES,
        iterations: ITERATIONS,
        inputs: workspace.path("inputs"),
        nsys: Some(workspace.path("nsys")),
        harness: workspace.path("mage-harness"),
        timeout: Duration::from_secs(20),
        host: Host {
            platform: "x".into(),
            processor: "x".into(),
            logical_processors: 1,
        },
        command: vec!["xtask".into()],
    }
}

fn go(options: &Options) -> Result<PathBuf, String> {
    let stop = AtomicBool::new(false);
    measure(options, build(), &stop, &mut |_| {}).map_err(|error| error.to_string())
}

#[test]
fn a_study_is_published_whole_and_gives_its_evidence() {
    let workspace = workspace("");
    let directory = go(&options(&workspace)).unwrap();
    assert_eq!(directory, workspace.path("artifacts/calibration-fake-1"));
    let study: Study = store::read_json(&directory.join("run.json")).unwrap();
    study.check().unwrap();
    assert_eq!((study.processes, study.cycles), (3, CYCLES));
    let log = std::fs::read_to_string(workspace.path("mage-harness.log")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 3 + 3 * 2);
    assert!(
        lines[0].starts_with("identical --experiment x-1 --cycles 24 --output "),
        "{log}"
    );
    assert!(lines[1].starts_with("capture --experiment x-1 --op matmul --implementation rust"));
    assert!(lines[1].ends_with("--pairs"), "{log}");
    assert!(
        lines[3].starts_with("identical"),
        "spans and captures take turns: {log}"
    );

    let root = workspace.path("");
    assert_eq!(calibration::names(&root).unwrap(), ["calibration-fake-1"]);
    let written = calibration::write(&root).unwrap();
    assert_eq!(
        written,
        ["docs/calibration/fake-1.json", "docs/calibration/fake-1.md"].map(PathBuf::from)
    );
    let evidence: Calibration = store::read_json(&root.join(&written[0])).unwrap();
    assert_eq!(evidence.artifacts_sha256.len(), 1 + 3 + 3 * 2);
    assert_eq!(evidence.rows.len(), 2 * 3);
}

#[test]
fn a_second_study_of_the_name_is_refused_before_anything_runs() {
    let workspace = workspace("");
    let mut options = options(&workspace);
    options.name = Some("calibration-fake-1".into());
    std::fs::create_dir_all(workspace.path("artifacts/calibration-fake-1.partial")).unwrap();
    let error = go(&options).unwrap_err();
    assert!(error.contains("calibration-fake-1.partial"), "{error}");
    assert!(!workspace.path("mage-harness.log").exists());
    options.name = Some("other".into());
    assert!(
        go(&options)
            .unwrap_err()
            .contains("begins with calibration-")
    );
}

#[test]
fn a_process_that_fails_publishes_nothing() {
    let failing = workspace(r#"[ "$1" = capture ] && exit 3"#);
    let error = go(&options(&failing)).unwrap_err();
    assert!(error.contains("matmul-1"), "{error}");
    assert!(!failing.path("artifacts/calibration-fake-1").exists());

    let failing = workspace(r#"[ "$1" = identical ] && exit 3"#);
    let error = go(&options(&failing)).unwrap_err();
    assert!(
        error.contains("mage-harness identical: found exit status: 3"),
        "{error}"
    );
    failing.assert_nothing_left();
}

#[test]
fn numbers_too_small_to_say_anything_are_refused() {
    let workspace = workspace("");
    type Edit = fn(&mut Options);
    let edits: [(Edit, &str); 4] = [
        (
            |o| o.processes = 2,
            "--processes: found 2, expected at least 3",
        ),
        (
            |o| o.cycles = 12,
            "--cycles: found 12, expected at least 24",
        ),
        (|o| o.iterations = 0, "--iterations: found 0"),
        (|o| o.iterations = 6, "a multiple of 4"),
    ];
    for (edit, words) in edits {
        let mut options = options(&workspace);
        edit(&mut options);
        let error = go(&options).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}
