//! Whole counter sessions against a fake Nsight Compute: what is published, and every way in which nothing is.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{Workspace, alive};
use mage_evidence::artifact::{Build, CAPTURE_SCHEMA, Capture, Kernel, SourceTree, TreeState};
use mage_evidence::counters::artifact::{Call, Metric, Probes, Session};
use mage_evidence::counters::metrics::{self, DURATION};
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_profile::Error;
use mage_profile::counters::{Event, Options, Outcome, run};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What the fake `ncu` does once it has read its options: runs the target, prints a table of its kernels.
const PLAY: &str = r#""$@" || { echo "==ERROR== The application returned an error code ($?)." >"$log"; exit 1; }
table >"$log""#;

/// Writes the fake `ncu`. `$log` and `$metrics` are its options, `$@` the target. `table` prints the target's kernels,
/// as the file `kernels` names them, one a line, or `kernel`; `$duration` and `$unit` are theirs.
fn ncu(workspace: &Workspace, play: &str) {
    let dir = workspace.directory.path().display();
    workspace.script(
        "ncu",
        &format!(
            r#"dir='{dir}'
[ "$1" = --version ] && {{ echo "NVIDIA (R) Nsight Compute Command Line Profiler"; echo "Version 2099.1.0.0 (build 1)"; exit 0; }}
echo "$*" >>"$dir/log"
duration=6,144 unit=nsecond
while [ "$1" != --metrics ]; do [ "$1" = --log-file ] && log=$2; shift; done
metrics=$2; shift 2
row() {{
    printf '"%s","1","mage-harness","%s","(128, 1, 1)","(8, 2, 1)"' "$1" "$2"
    echo "$metrics" | tr , '\n' | awk -v d="$duration" '{{ v = /time_duration/ ? d : /hit_rate/ ? "n/a" : /dram__bytes_read/ ? "1,234,567" : "0.5"; printf ",\"%s\"", v }}'
    echo
}}
table() {{
    echo "==PROF== Connected to process 4711 (/home/someone/mage-harness)"
    printf '"ID","Process ID","Process Name","Kernel Name","Block Size","Grid Size","'; echo "$metrics" | sed 's/,/","/g; s/$/"/'
    printf '"","","","","",""'; echo "$metrics" | tr , '\n' | awk -v u="$unit" '{{ printf ",\"%s\"", /time_duration/ ? u : /bytes/ ? "byte" : /pct/ ? "%" : "" }}'; echo
    i=0
    case "$*$target" in *limits*) names=$(cat "$dir/probes");; *) names=$(cat "$dir/kernels" 2>/dev/null || echo kernel);; esac
    echo "$names" | while IFS= read -r name; do row $i "$name"; i=$((i+1)); done
    echo "==PROF== Disconnected from process 4711"
}}
target="$2"
{play}"#
        ),
    );
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    let plan = r#"{"device": {"name": "Fake", "compute_capability": "9.0", "multiprocessors": 1, "memory_bytes": 1, "l2_bytes": 1, "max_sm_clock_mhz": 1, "max_memory_clock_mhz": 1, "memory_bus_bits": 8, "driver": "1", "cuda_driver": "1"}, "objects_sha256": {"kernel.sm_80.ptx": "00"}, "probes": [{"limit": "dram", "variant": "copy", "dims": [4, 768]}, {"limit": "fp32", "variant": "multiply", "dims": [2, 768]}]}"#;
    std::fs::write(workspace.path("plan"), plan).unwrap();
    std::fs::write(workspace.path("probes"), "copy\nmultiply\n").unwrap();
    let dir = workspace.directory.path().display().to_string();
    workspace.script(
        "mage-harness",
        &format!(
            r#"env > "$0.env"
case "$*" in
limits*) while [ "$1" != --plan ]; do shift; done; cp '{dir}/plan' "$2"; echo '{{}}';;
*"--implementation rust"*) echo '{{"kernel": "kernel"}}';;
*) echo '{{}}';;
esac"#
        ),
    );
    ncu(&workspace, PLAY);
    workspace
}

fn options(workspace: &Workspace) -> Options {
    let mut options = Options::new(
        workspace.directory.path().to_path_buf(),
        "x-1".to_string(),
        workspace.path("inputs"),
        workspace.path("mage-harness"),
    );
    options.ncu = Some(workspace.path("ncu"));
    options.timeout = Duration::from_secs(20);
    options.grace = Duration::from_millis(300);
    options
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
fn go(options: &Options) -> Result<Outcome, Error> {
    run(options, build(), &AtomicBool::new(false), &mut |_| {})
}

/// The message of a session that must fail and leave nothing.
fn refused(workspace: &Workspace, options: &Options) -> String {
    let error = go(options).unwrap_err().to_string();
    let artifacts = workspace.path("artifacts");
    if artifacts.exists() {
        let left: Vec<_> = std::fs::read_dir(artifacts).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
    for line in log(workspace).lines() {
        let file = line.split(' ').nth(1).unwrap();
        let directory = std::path::Path::new(file).parent().unwrap();
        assert!(!directory.exists(), "{} was left", directory.display());
    }
    error
}

fn log(workspace: &Workspace) -> String {
    std::fs::read_to_string(workspace.path("log")).unwrap_or_default()
}

#[test]
fn a_session_is_published_whole() {
    let workspace = workspace();
    std::fs::write(
        workspace.path("kernels"),
        "void gemm<a, \"\"b\"\">(int, float)\nbias\n",
    )
    .unwrap();
    let mut options = options(&workspace);
    options.implementations = Some(vec!["python".into(), "triton".into()]);
    options.namespace = Some("x-1-again".into());
    options.command = vec!["mage-profile".into(), "counters".into()];
    let mut order = Vec::new();
    let outcome = run(&options, build(), &AtomicBool::new(false), &mut |event| {
        if let Event::Starts(case) = event {
            order.push(case.to_string());
        }
    })
    .unwrap();
    assert_eq!(
        order,
        [
            "limits",
            "matmul-python",
            "matmul-triton",
            "gelu-python",
            "gelu-triton"
        ]
    );
    let directory = workspace.path("artifacts/x-1-again-kernels-ncu");
    assert_eq!(outcome.directory, directory);
    let session: Session = store::read_json(&directory.join("counters.json")).unwrap();
    assert_eq!(session, outcome.session);
    session.check().unwrap();
    assert_eq!(session.profiler, "Version 2099.1.0.0 (build 1)");
    assert_eq!(session.device.name, "Fake");
    assert_eq!((session.warmup, session.refused.len()), (2, 0));
    let probes: Probes = store::read_json(&directory.join("probes.json")).unwrap();
    probes.check().unwrap();
    assert_eq!(probes.probes[1].variant, "multiply");

    let path = directory.join("counters/matmul-python.json");
    let call: Call = store::read_json(&path).unwrap();
    call.check().unwrap();
    let [gemm, bias] = call.kernels.as_slice() else {
        panic!("{:?}", call.kernels);
    };
    assert_eq!(gemm.name, "void gemm<a, \"b\">(int, float)");
    assert_eq!(bias.name, "bias");
    assert_eq!((gemm.grid, gemm.block), ([8, 2, 1], [128, 1, 1]));
    let metric = |name: &str| gemm.metrics[name].clone();
    let read = |unit: &str, value| Metric::Read {
        unit: unit.into(),
        value,
    };
    assert_eq!(metric(DURATION), read("nsecond", 6144.0));
    assert_eq!(metric(metrics::DRAM_READ), read("byte", 1_234_567.0));
    assert_eq!(
        metric(metrics::L2_HITS),
        Metric::Absent {
            absent: "ncu says n/a".into()
        }
    );
    assert_eq!(gemm.metrics.len(), metrics::all().len());

    // One process a case, one call in the range, and no variable of this process beyond the allowed ones.
    assert_eq!(log(&workspace).lines().count(), 5);
    let line = log(&workspace).lines().nth(1).unwrap().to_owned();
    for words in [
        "--profile-from-start off",
        "--replay-mode kernel",
        "--clock-control none",
        "--cache-control none",
        "--iterations 1",
        "--warmup 2",
    ] {
        assert!(line.contains(words), "{line}");
    }
    let text = store::read_text(&path).unwrap()
        + &store::read_text(&directory.join("counters.json")).unwrap();
    for private in [
        "4711",
        "someone",
        &*workspace.directory.path().to_string_lossy(),
    ] {
        assert!(!text.contains(private), "{private}");
    }
    let error = go(&options).unwrap_err().to_string();
    assert!(error.contains("a directory of an earlier run"), "{error}");
}

#[test]
fn the_target_starts_with_a_scrubbed_environment() {
    let workspace = workspace();
    go(&options(&workspace)).unwrap();
    let environment = std::fs::read_to_string(workspace.path("mage-harness.env")).unwrap();
    assert!(environment.contains("PATH="));
    assert!(!environment.contains("CARGO_MANIFEST_DIR"), "{environment}");
}

#[test]
fn a_rust_case_names_its_variant() {
    let workspace = workspace();
    let mut options = options(&workspace);
    options.implementations = Some(vec!["rust".into()]);
    let outcome = go(&options).unwrap();
    assert_eq!(outcome.calls[0].variant.as_deref(), Some("kernel"));
    std::fs::write(workspace.path("kernels"), "other").unwrap();
    options.namespace = Some("x-1-other".into());
    let error = go(&options).unwrap_err().to_string();
    assert!(
        error.contains(
            "matmul-rust.kernels[0].name: found \"other\", expected the variant's, \"kernel\""
        ),
        "{error}"
    );
}

#[test]
fn scaled_units_become_base_units() {
    let workspace = workspace();
    ncu(&workspace, &format!("duration=6.144 unit=usecond\n{PLAY}"));
    let outcome = go(&options(&workspace)).unwrap();
    let Metric::Read { value, unit } = &outcome.calls[0].kernels[0].metrics[DURATION] else {
        panic!();
    };
    assert_eq!((unit.as_str(), value.round()), ("nsecond", 6144.0));
}

#[test]
fn counters_that_ncu_does_not_know_are_left_out_with_what_it_said() {
    let workspace = workspace();
    ncu(
        &workspace,
        &format!(
            r#"for unknown in sm__ops_path_tensor_src_tf32_dst_fp32 launch__occupancy_limit_barriers; do
case "$metrics" in *"$unknown"*)
    echo "==PROF== Connected to process 1" >"$log"
    echo "==ERROR== Failed to find metric regex:^$unknown\\.(sum|min|max|avg|pct|ratio|max_rate)$" >>"$log"
    exit 1;;
esac
done
{PLAY}"#
        ),
    );
    let mut told = Vec::new();
    let outcome = run(
        &options(&workspace),
        build(),
        &AtomicBool::new(false),
        &mut |event| {
            if let Event::Refused(metric, _) = event {
                told.push(metric.to_owned());
            }
        },
    )
    .unwrap();
    assert_eq!(told.len(), 2);
    assert_eq!(outcome.session.refused.len(), 2);
    // Two more processes for the limits, none for the cases.
    assert_eq!(log(&workspace).lines().count(), 1 + 6 + 2);
    for call in &outcome.calls {
        let Metric::Absent { absent } = &call.kernels[0].metrics[metrics::TENSOR[0]] else {
            panic!();
        };
        assert!(absent.contains("Failed to find metric"), "{absent}");
    }
}

#[test]
fn every_way_to_fail_is_told_in_its_own_words_and_leaves_nothing() {
    for (play, expected) in [
        (
            r#"echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0." >"$log"; "$@"; exit 1"#,
            "limits: hardware counters are not permitted here (ERR_NVGPUCTRPERM): run as root, or",
        ),
        (
            r#"echo "==ERROR== ERR_NVGPUCTRPERM" >"$log"; echo "==WARNING== No kernels were profiled." >>"$log"; exit 0"#,
            "not permitted here",
        ),
        (
            r#""$@"; exit 0"#,
            "ended with exit status 0 but left no file",
        ),
        (r#""$@"; : >"$log"; exit 0"#, "left an empty file"),
        (
            r#""$@"; echo "==WARNING== No kernels were profiled." >"$log"; exit 0"#,
            "no kernels were profiled",
        ),
        (
            r#""$@"; table | head -3 >"$log""#,
            "no kernels were profiled",
        ),
        (
            r#"echo "==ERROR== The application returned an error code (3)." >"$log"; exit 3"#,
            "the target failed: The application returned an error code (3).",
        ),
        (
            r#"echo boom >&2; exit 9"#,
            "ncu failed with exit status 9; it said: boom",
        ),
        (r#"kill -9 $$"#, "ncu failed with signal 9"),
        (
            r#""$@"; table >"$log"; echo "==ERROR== Failed to profile kernel" >>"$log""#,
            "exit status 0 and an error: ==ERROR== Failed to profile kernel",
        ),
        (
            r#"echo "==ERROR== Failed to find metric" >"$log"; exit 1"#,
            "ncu does not know a counter: Failed to find metric",
        ),
        (
            r#"echo "==ERROR== Failed to find metric gpu__time_duration.sum" >"$log"; exit 1"#,
            "ncu does not know a counter",
        ),
        (
            r#""$@"; table | head -c -30 | head -5 | head -c -20 >"$log""#,
            "cut short",
        ),
        (
            r#""$@"; table | sed '5s/,"[^"]*"$//' >"$log""#,
            "rows as long as the first",
        ),
        (
            r#""$@"; table | sed 's/"Grid Size"/"Block Size"/' >"$log""#,
            "Block Size: found the columns",
        ),
        (
            r#""$@"; table | sed 's/(8, 2, 1)/8x2/' >"$log""#,
            "Grid Size: found \"8x2\"",
        ),
        (
            r#""$@"; duration=n/a; table >"$log""#,
            "gpu__time_duration.sum",
        ),
        (
            r#""$@"; duration=0; table >"$log""#,
            "gpu__time_duration.sum",
        ),
        (
            r#""$@"; duration=6.144,0; table >"$log""#,
            "expected a number",
        ),
        (
            r#""$@"; echo copy >"$dir/probes"; table >"$log""#,
            "found 1 launches, expected 2",
        ),
    ] {
        let workspace = workspace();
        ncu(&workspace, play);
        let error = refused(&workspace, &options(&workspace));
        assert!(error.contains(expected), "{play}\n{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_target_that_does_not_finish_is_told() {
    let workspace = workspace();
    workspace.script("mage-harness", "exit 0");
    let error = refused(&workspace, &options(&workspace));
    assert!(
        error.contains("the target did not finish: found no plan"),
        "{error}"
    );
    workspace.script("mage-harness", "exit 4");
    let error = refused(&workspace, &options(&workspace));
    assert!(
        error.contains("the target failed: The application returned an error code (4)"),
        "{error}"
    );
}

#[test]
fn a_hanging_profiler_is_ended_with_all_its_processes() {
    let workspace = workspace();
    ncu(&workspace, r#"sleep 60 & echo $! >"$dir/pid"; wait"#);
    let mut options = options(&workspace);
    options.timeout = Duration::from_millis(500);
    let start = Instant::now();
    let error = refused(&workspace, &options);
    assert!(
        error.contains("limits: ncu did not end within 0 s"),
        "{error}"
    );
    assert!(start.elapsed() < Duration::from_secs(15));
    let pid = std::fs::read_to_string(workspace.path("pid")).unwrap();
    assert!(!alive(&pid));
}

#[test]
fn a_missing_ncu_is_not_available() {
    let workspace = workspace();
    let mut options = options(&workspace);
    options.ncu = Some(workspace.path("nothing"));
    let error = refused(&workspace, &options);
    assert!(
        error.starts_with("hardware counters are not available here: "),
        "{error}"
    );
}

#[test]
fn a_later_failure_keeps_what_was_read_and_publishes_nothing() {
    let workspace = workspace();
    ncu(
        &workspace,
        &format!(
            r#"case "$*" in *"--op gelu"*) exit 7;; esac
{PLAY}"#
        ),
    );
    let mut kept = None;
    let error = run(
        &options(&workspace),
        build(),
        &AtomicBool::new(false),
        &mut |event| {
            if let Event::Kept(directory, cases) = event {
                kept = Some((directory.to_path_buf(), cases));
            }
        },
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.starts_with("gelu-python: ncu failed with exit status 7"),
        "{error}"
    );
    let (directory, cases) = kept.unwrap();
    assert_eq!(cases, 4);
    assert!(directory.ends_with("x-1-kernels-ncu.partial"));
    assert!(directory.join("counters/matmul-rust.json").exists());
    assert!(!workspace.path("artifacts/x-1-kernels-ncu").exists());

    ncu(&workspace, PLAY);
    let mut options = options(&workspace);
    assert!(go(&options).unwrap_err().to_string().contains("--replace"));
    options.replace = true;
    assert_eq!(go(&options).unwrap().calls.len(), 6, "all of one go");
    assert!(!directory.exists());
}

/// Leaves a capture of matmul python with these kernels, in two iterations.
fn captured(workspace: &Workspace, names: &[&str]) {
    let kernels = [names, names].concat();
    let capture = Capture {
        schema: CAPTURE_SCHEMA.into(),
        operation: Operation::Matmul,
        dims: vec![17, 19, 23],
        implementation: "python".into(),
        variant: None,
        config: None,
        gpu_uuid: None,
        index: 1,
        requested_iterations: 2,
        commands: Vec::new(),
        notes: Vec::new(),
        kernels: kernels
            .iter()
            .map(|name| Kernel {
                name: (*name).into(),
                start_ns: 0,
                duration_ns: 1,
                grid: [1; 3],
                block: [1; 3],
                registers: 1,
                static_shared_bytes: 0,
                dynamic_shared_bytes: 0,
                stream: 1,
                iteration: None,
            })
            .collect(),
    };
    let path = workspace.path("artifacts/x-1-kernels-nsys/captures/matmul-python-1.json");
    store::write_json(&path, &capture).unwrap();
}

#[test]
fn kernels_are_those_of_the_captures() {
    let workspace = workspace();
    let mut options = options(&workspace);
    options.operations = Some(vec![Operation::Matmul]);
    options.implementations = Some(vec!["python".into()]);
    std::fs::write(workspace.path("kernels"), "void gemm<4>(int)\nbias\n").unwrap();
    let unproved = go(&options).unwrap().session.unproved;
    assert_eq!(unproved, ["matmul-python"], "there is no capture");
    std::fs::remove_dir_all(workspace.path("artifacts/x-1-kernels-ncu")).unwrap();
    captured(&workspace, &["void gemm<(int)4>(signed int)", "bias"]);
    let proved = go(&options).unwrap().session;
    assert!(proved.unproved.is_empty());
    let text = store::to_json(&proved).unwrap();
    assert!(!text.contains("unproved"), "as it was before: {text}");
    std::fs::remove_dir_all(workspace.path("artifacts/x-1-kernels-ncu")).unwrap();
    for other in [
        &["void gemm<(int)4>(signed int)"][..],
        &["bias", "gemm"],
        &["gemm", "bias2"],
    ] {
        captured(&workspace, other);
        let error = go(&options).unwrap_err().to_string();
        assert!(
            error.contains("kernels of matmul python: found 2 kernels (gemm, bias)"),
            "{error}"
        );
        let partial = workspace.path("artifacts/x-1-kernels-ncu.partial");
        std::fs::remove_dir_all(partial).unwrap();
    }
}
