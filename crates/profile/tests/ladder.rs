//! Whole ladders against a fake profiler: what is published, and every way in which nothing is.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{EXPORT, PROFILE, Workspace};
use mage_evidence::artifact::{Agreement, Build, Check, Device, GpuState, SourceTree, TreeState};
use mage_evidence::experiment::Tolerance;
use mage_evidence::ladder::raw::{Answer, Called, Capture, Run};
use mage_evidence::ladder::{Described, LeftOut, Status};
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_profile::ladder::{Options, Outcome, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The experiment's variant in every test workspace, and with it the arm that runs twice.
const OWN: &str = "kernel";

fn step(id: &str, parent: Option<&str>, status: Status) -> Called {
    let passed = Check {
        checked_elements: 3 * 257,
        record: None,
        fp64: Agreement {
            max_abs_error: 1e-6,
            max_error_share: 0.01,
        },
    };
    Called {
        variant: Described {
            id: id.into(),
            parent: parent.map(Into::into),
            introduced: "x-1".into(),
            status,
            summary: "Does it.".into(),
            changed: "Something.".into(),
            expected: "Less time.".into(),
            object: format!("{id}.sm_80.ptx"),
            object_sha256: "0".repeat(64),
        },
        check: (status != Status::Twin).then_some(passed),
        failed: None,
    }
}

fn answer() -> Answer {
    let state = GpuState {
        sm_clock_mhz: 1980,
        memory_clock_mhz: 3201,
        temperature_c: 40,
        power_w: 120.0,
        throttle_reasons: Vec::new(),
    };
    let mut wrong = step("wrong", Some(OWN), Status::Rejected);
    wrong.check = None;
    wrong.failed = Some("element 5 is NaN".into());
    Answer {
        operation: Operation::Gelu,
        dims: vec![3, 257],
        variant: OWN.into(),
        tolerance: Tolerance {
            rtol: 1e-4,
            atol: 1e-4,
        },
        input_sha256: BTreeMap::new(),
        order: ["other", "twin", "kernel.again", "kernel"]
            .map(String::from)
            .into(),
        turns: 2,
        device: Device {
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
        },
        gpu_state_before: state.clone(),
        gpu_state_after: state,
        steps: vec![
            step(OWN, None, Status::Retained),
            step("other", Some(OWN), Status::Rejected),
            wrong,
            step("twin", Some(OWN), Status::Twin),
        ],
        left_out: vec![LeftOut {
            id: "large".into(),
            reason: "large takes rows a multiple of 4, not 3".into(),
        }],
    }
}

/// A workspace whose target answers as above and whose report holds the turns of its arms: two turns of two calls,
/// each after a warm-up call; `kernel` takes longer when it runs again.
fn workspace(answer: &Value) -> Workspace {
    workspace_of(&json!({"answers": [answer]}))
}

fn workspace_of(answers: &Value) -> Workspace {
    let workspace = Workspace::new();
    std::fs::write(workspace.path("answer.json"), format!("{answers}\n")).unwrap();
    workspace.script(
        "mage-harness",
        r#"echo ready; cat "$(dirname "$0")/answer.json""#,
    );
    database(&workspace, &["gelu"]);
    workspace
}

fn database(workspace: &Workspace, operations: &[&str]) {
    const KERNEL: &[(&str, i64)] = &[("kernel", 1000)];
    const AGAIN: &[(&str, i64)] = &[("kernel", 1100)];
    const OTHER: &[(&str, i64)] = &[("other", 2000)];
    const TWIN: &[(&str, i64)] = &[("twin", 900)];
    let mut ranges = Vec::new();
    for (operation, turn) in operations.iter().flat_map(|op| [(op, 0), (op, 1)]) {
        for (arm, kernels) in [
            ("other", OTHER),
            ("twin", TWIN),
            ("kernel.again", AGAIN),
            ("kernel", KERNEL),
        ] {
            for call in [
                "warmup".to_string(),
                (2 * turn).to_string(),
                (2 * turn + 1).to_string(),
            ] {
                ranges.push((format!("mage-ladder:{operation}:{arm}:{call}"), kernels));
            }
        }
    }
    let path = workspace.path("ladder.sqlite");
    let _ = std::fs::remove_file(&path);
    common::make_ranges(&path, &ranges);
}

fn options(workspace: &Workspace) -> Options {
    Options {
        root: workspace.directory.path().to_path_buf(),
        experiment: "x-1".into(),
        operations: Some(vec![Operation::Gelu]),
        captures: Some(2),
        iterations: None,
        warmup: Some(1),
        namespace: None,
        inputs: workspace.path("inputs"),
        output: None,
        nsys: Some(workspace.path("nsys")),
        harness: workspace.path("mage-harness"),
        timeout: Duration::from_secs(20),
        grace: Duration::from_millis(300),
        keep_reports: None,
        replace: false,
        command: vec!["mage-profile".into(), "ladder".into()],
    }
}

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

#[allow(clippy::result_large_err)] // as the library gives it
fn go(options: &Options) -> Result<Outcome, mage_profile::Error> {
    run(options, build(), &AtomicBool::new(false), &mut |_| {})
}

fn good() -> Value {
    serde_json::to_value(answer()).unwrap()
}

#[test]
fn a_ladder_is_published_whole() {
    let workspace = workspace(&good());
    let outcome = go(&options(&workspace)).unwrap();
    let directory = workspace.path("artifacts/x-1-ladder");
    assert_eq!(outcome.directory, directory);
    let run: Run = store::read_json(&directory.join("ladder.json")).unwrap();
    assert_eq!(run, outcome.run);
    assert_eq!((run.captures, run.iterations, run.warmup), (2, 4, 1));
    assert_eq!(run.operations, [Operation::Gelu]);
    assert_eq!(
        run.profiler,
        "NVIDIA Nsight Systems version 2099.1.1.1-fake, export schema 3.22.1, CudaDriverVersion 13000"
    );
    let capture: Capture = store::read_json(&directory.join("captures/gelu-2.json")).unwrap();
    capture.check_in(&run).unwrap();
    assert_eq!(capture, outcome.captures[1]);
    assert_eq!(capture.answer, answer());
    assert_eq!(
        capture.arms["kernel"][0].durations_ns, [1000; 4],
        "warm-up does not count"
    );
    assert_eq!(capture.kernel_time_us("kernel.again"), Some(1.1));
    assert_eq!(capture.kernel_time_us("wrong"), None);
    assert_eq!(capture.arms["twin"].len(), 1);
    let [_, target, _] = capture.commands.as_slice() else {
        panic!("{:?}", capture.commands);
    };
    let expected = "mage-harness ladder --experiment x-1 --ops gelu --inputs inputs --capture 2 --iterations 4 --warmup 1";
    assert_eq!(target.join(" "), expected);
    let files: Vec<PathBuf> = std::fs::read_dir(directory.join("captures"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 2);
    let again = go(&options(&workspace)).unwrap_err().to_string();
    assert!(
        again.contains("x-1-ladder") && again.contains("--namespace"),
        "{again}"
    );
}

/// Each answer that the target cannot give, and what the message must say.
#[test]
fn an_answer_that_does_not_fit_is_refused() {
    type Edit = fn(&mut Value);
    let cases: [(Edit, &str); 8] = [
        (
            |v| *v = json!({"kernel": "kernel"}),
            "unknown field `kernel`",
        ),
        (|v| v["operation"] = json!("layernorm"), "LayerNorm"),
        (|v| v["order"] = json!(["kernel"]), "gelu.order: found"),
        (|v| v["order"][0] = json!("wrong"), "gelu.order: found"),
        (
            |v| v["steps"][3]["check"] = v["steps"][0]["check"].clone(),
            "gelu.steps[3] (twin).check",
        ),
        (
            |v| v["steps"][0]["check"]["checked_elements"] = json!(1),
            "gelu.steps[0] (kernel).check.checked_elements",
        ),
        (
            |v| v["steps"][0]["check"]["fp64"]["max_error_share"] = json!(1.5),
            "max_error_share",
        ),
        (|v| v["turns"] = json!(0), "turns"),
    ];
    for (edit, expected) in cases {
        let mut answer = good();
        edit(&mut answer);
        let workspace = workspace(&answer);
        let error = go(&options(&workspace)).unwrap_err().to_string();
        assert!(
            error.starts_with("ladder-1: the target did not finish: found "),
            "{error}"
        );
        assert!(error.contains(expected), "{expected}: {error}");
        workspace.assert_nothing_left();
    }
}

/// Each thing that a report may hold, and what the message must say.
#[test]
fn rows_that_are_not_the_arms_are_refused() {
    for (sql, expected) in [
        (
            "DELETE FROM NVTX_EVENTS",
            ["NVTX_EVENTS", "nsys traces nvtx"],
        ),
        (
            "UPDATE NVTX_EVENTS SET text = 'mage-ladder:gelu:stranger:0' WHERE rowid = 2",
            ["stranger", "ranges of gelu:other, gelu:twin"],
        ),
        (
            "UPDATE NVTX_EVENTS SET text = 'mage-ladder:matmul:other:0' WHERE rowid = 2",
            ["matmul:other", "ranges of gelu:other"],
        ),
        (
            "UPDATE NVTX_EVENTS SET text = 'mage-ladder:gelu:other' WHERE rowid = 2",
            ["mage-ladder:gelu:other", "<arm>"],
        ),
        (
            "UPDATE NVTX_EVENTS SET text = 'mage-ladder:gelu:other:1' WHERE rowid = 2",
            ["other", "each of 0 to 3 once"],
        ),
        (
            "UPDATE NVTX_EVENTS SET text = 'mage-ladder:gelu:other:warmup' WHERE rowid = 2",
            ["other", "ranges of 3 iterations"],
        ),
        (
            "UPDATE NVTX_EVENTS SET end = NULL WHERE rowid = 5",
            ["a range that ends", "cuProfilerStop"],
        ),
        (
            "UPDATE NVTX_EVENTS SET end = end + 100000 WHERE rowid = 5",
            ["after the end of the range before", "twin"],
        ),
        // A launch outside all ranges, one that is lost, one that failed
        (
            "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = start + 90000 WHERE rowid = 2",
            ["outside the iterations' ranges", "other"],
        ),
        (
            "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = 2",
            [
                "other.kernels",
                "1 launches whose kernel is not in the report",
            ],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET returnValue = 700 WHERE rowid = 2",
            ["returned error 700", "launches that succeed"],
        ),
        // Another kernel than the arm's, in one call and in all
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 11 WHERE rowid = 2",
            ["other.kernels", "the same kernels in every iteration"],
        ),
        (
            "UPDATE StringIds SET value = 'general' WHERE value = 'other'",
            ["gelu.arms.other[0].name", "\"other\""],
        ),
        // A kernel that was compiled inside a call
        (
            "INSERT INTO StringIds VALUES (80, 'cuModuleLoadData'); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start, end, 0, globalTid, 999, 80, 0, NULL FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid = 2",
            ["cuModuleLoadData in iteration 0", "raise --warmup"],
        ),
        (
            "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 2, 'CUPTI dropped 3 event records', 1)",
            ["dropped 3", "lost nothing"],
        ),
    ] {
        let workspace = workspace(&good());
        workspace.change("ladder", sql);
        let error = go(&options(&workspace)).unwrap_err().to_string();
        assert!(error.starts_with("ladder-1: "), "{error}");
        for words in expected {
            assert!(error.contains(words), "{sql}\n{words}\n{error}");
        }
        workspace.assert_nothing_left();
    }
}

#[test]
fn options_are_checked_before_anything_runs() {
    let workspace = workspace(&good());
    let refused = |edit: fn(&mut Options)| {
        let mut options = options(&workspace);
        edit(&mut options);
        let error = go(&options).unwrap_err().to_string();
        workspace.assert_nothing_left();
        error
    };
    let error = refused(|o| o.captures = None);
    assert!(
        error.contains("x-1.toml: ladder: found no such table"),
        "{error}"
    );
    let error = refused(|o| o.captures = Some(0));
    assert!(error.contains("--captures: found 0"), "{error}");
    let error = refused(|o| o.iterations = Some(0));
    assert!(error.contains("--iterations: found 0"), "{error}");
    let error = refused(|o| o.operations = Some(vec![Operation::Triangle]));
    assert!(error.contains("--ops: found triangle"), "{error}");
    let error = refused(|o| o.inputs = "nowhere".into());
    assert!(error.contains("mage-harness inputs"), "{error}");
    assert!(!workspace.path("log").exists());
}

#[test]
fn a_ladder_that_fails_later_publishes_nothing_and_keeps_what_is_whole() {
    let workspace = workspace(&good());
    workspace.nsys(
        &format!("case $base in ladder-2-*) exit 7;; esac\n{PROFILE}"),
        EXPORT,
    );
    let error = go(&options(&workspace)).unwrap_err().to_string();
    assert!(
        error.contains("ladder-2: nsys profile failed with exit status 7"),
        "{error}"
    );
    assert!(!workspace.path("artifacts/x-1-ladder").exists());
    let kept = workspace.path("artifacts/x-1-ladder.partial/captures/gelu-1.json");
    assert!(kept.is_file());

    workspace.nsys(PROFILE, EXPORT);
    let refusal = go(&options(&workspace)).unwrap_err().to_string();
    assert!(refusal.contains("--replace"), "{refusal}");
    assert!(kept.is_file());
    std::fs::write(&kept, "of another go").unwrap();
    let replaced = Options {
        replace: true,
        ..options(&workspace)
    };
    assert_eq!(go(&replaced).unwrap().captures.len(), 2, "all of one go");
    assert!(!workspace.path("artifacts/x-1-ladder.partial").exists());
}

#[test]
fn the_program_prints_a_table() {
    let workspace = workspace(&good());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_mage-profile"))
        .args([
            "ladder",
            "--experiment=x-1",
            "--ops=gelu",
            "--captures=1",
            "--warmup=1",
        ])
        .args(["--inputs=inputs", "--nsys=nsys", "--harness=mage-harness"])
        .current_dir(workspace.directory.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(
        lines[0],
        "operation  variant  status    captures  kernel time us"
    );
    assert_eq!(
        lines[1],
        "gelu       kernel   retained         1           1.000"
    );
    assert_eq!(
        lines[3],
        "gelu       wrong    rejected         0          failed"
    );
    assert!(lines[5].ends_with("artifacts/x-1-ladder"), "{stdout}");
    assert!(
        stderr.contains("[1/1] gelu-1: 4 arms timed, 1 checks failed"),
        "{stderr}"
    );
}

/// One capture holds every operation, and each gets a file of its own.
#[test]
fn operations_follow_each_other_in_one_capture() {
    let mut first = good();
    first["operation"] = json!("matmul");
    first["dims"] = json!([17, 19, 23]);
    for step in first["steps"].as_array_mut().unwrap() {
        if !step["check"].is_null() {
            step["check"]["checked_elements"] = json!(17 * 19);
        }
    }
    let workspace = workspace_of(&json!({"answers": [first, good()]}));
    database(&workspace, &["matmul", "gelu"]);
    let mut options = options(&workspace);
    options.operations = None;
    options.captures = Some(1);
    let outcome = go(&options).unwrap();
    assert_eq!(outcome.run.operations, [Operation::Matmul, Operation::Gelu]);
    for (capture, operation) in outcome.captures.iter().zip(["matmul", "gelu"]) {
        let file = outcome
            .directory
            .join(format!("captures/{operation}-1.json"));
        assert_eq!(store::read_json::<Capture>(&file).unwrap(), *capture);
        assert_eq!(capture.answer.operation.name(), operation);
        assert_eq!(capture.kernel_time_us("other"), Some(2.0));
    }
    let profiled = std::fs::read_to_string(workspace.path("log")).unwrap();
    assert_eq!(
        profiled
            .lines()
            .filter(|line| line.starts_with("profile"))
            .count(),
        1
    );
    // The second operation's ranges are missing.
    database(&workspace, &["matmul"]);
    options.output = Some(workspace.path("other"));
    let error = go(&options).unwrap_err().to_string();
    assert!(
        error.contains("gelu.other.NVTX_EVENTS: found ranges of 0 iterations"),
        "{error}"
    );
}
