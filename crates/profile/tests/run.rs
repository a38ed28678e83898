//! Whole runs against a fake profiler: what is published, and every way in which nothing is.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{EXPORT, ITERATIONS, PROFILE, Workspace, alive};
use mage_evidence::artifact::{Build, Capture, Profile, SourceTree, TreeState};
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_profile::Error;
use mage_profile::run::{Event, Options, Outcome, run};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

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

/// One case alone, which is enough to see how it fails.
fn one(workspace: &Workspace) -> Options {
    let mut options = workspace.options();
    options.operations = Some(vec![Operation::Matmul]);
    options.implementations = Some(vec!["python".to_string()]);
    options
}

/// The message of a run that must fail and leave nothing.
fn refused(workspace: &Workspace, options: &Options) -> String {
    let error = go(options).unwrap_err().to_string();
    workspace.assert_nothing_left();
    error
}

#[test]
fn a_profile_is_published_whole() {
    let workspace = Workspace::new();
    workspace.database(
        "matmul",
        "python",
        &[("gemm<a, \"b\">|\n", 2000), ("bias", 500)],
    );
    let mut options = workspace.options();
    options.captures = Some(2);
    options.namespace = Some("x-1-again".to_string());
    options.command = vec!["mage-profile".to_string(), "run".to_string()];
    let mut order = Vec::new();
    let outcome = run(&options, build(), &AtomicBool::new(false), &mut |event| {
        if let Event::Starts(case) = event {
            order.push(case.to_string());
        }
    })
    .unwrap();
    assert_eq!(
        order[..3],
        ["matmul-python-1", "matmul-triton-1", "matmul-rust-1"]
    );
    assert_eq!(
        order[6..9],
        ["matmul-triton-2", "matmul-rust-2", "matmul-python-2"]
    );
    let directory = workspace.path("artifacts/x-1-again-kernels-nsys");
    assert_eq!(outcome.directory, directory);
    let profile: Profile = store::read_json(&directory.join("profile.json")).unwrap();
    assert_eq!(profile, outcome.profile);
    assert_eq!(
        (profile.captures, profile.capture_iterations, profile.warmup),
        (2, ITERATIONS, 2)
    );
    assert_eq!(
        profile.profiler,
        "NVIDIA Nsight Systems version 2099.1.1.1-fake, export schema 3.22.1, CudaDriverVersion 13000"
    );
    assert_eq!(
        std::fs::read_dir(directory.join("captures"))
            .unwrap()
            .count(),
        12
    );

    let path = directory.join("captures/matmul-python-2.json");
    let capture: Capture = store::read_json(&path).unwrap();
    capture.check().unwrap();
    assert_eq!(capture.launches().unwrap(), 2);
    assert_eq!(capture.kernel_time_us().unwrap(), 2.5);
    assert_eq!(capture.variant, None);
    let first = &capture.kernels[0];
    assert_eq!(
        (first.name.as_str(), first.start_ns, first.duration_ns),
        ("gemm<a, \"b\">|\n", 0, 2000)
    );
    assert_eq!(
        (first.grid, first.block, first.registers),
        ([8, 2, 1], [128, 1, 1], 32)
    );
    assert_eq!(
        (
            first.static_shared_bytes,
            first.dynamic_shared_bytes,
            first.stream
        ),
        (1024, 512, 7)
    );
    let iterations: Vec<_> = capture
        .kernels
        .iter()
        .map(|kernel| kernel.iteration.unwrap())
        .collect();
    assert_eq!(iterations, [0, 0, 1, 1, 2, 2, 3, 3]);
    let [profile, target, export] = capture.commands.as_slice() else {
        panic!("{:?}", capture.commands);
    };
    assert_eq!(profile[..2], ["nsys", "profile"]);
    assert!(
        profile.last().unwrap().starts_with("matmul-python-2-"),
        "{profile:?}"
    );
    assert_eq!(
        target[..4],
        ["mage-harness", "capture", "--experiment", "x-1"]
    );
    assert_eq!(export[..4], ["nsys", "export", "--type", "sqlite"]);

    let rust: Capture = store::read_json(&directory.join("captures/gelu-rust-1.json")).unwrap();
    assert_eq!(rust.variant.as_deref(), Some("kernel"));
    for of in [&rust, &capture] {
        assert_eq!(of.gpu_uuid.as_deref(), Some("GPU-1"));
    }
    for directory in workspace.private_directories() {
        assert!(!directory.exists());
    }
    let again = go(&options).unwrap_err().to_string();
    assert!(
        again.contains("x-1-again-kernels-nsys") && again.contains("--namespace"),
        "{again}"
    );
}

#[test]
fn the_target_gets_what_it_was_asked_and_a_scrubbed_environment() {
    let workspace = Workspace::new();
    let mut options = one(&workspace);
    options.python = Some("python3".into());
    options.warmup = Some(7);
    go(&options).unwrap();
    let log = std::fs::read_to_string(workspace.path("log")).unwrap();
    let inputs = workspace.path("inputs");
    let expected = format!(
        "mage-harness capture --experiment x-1 --op matmul --implementation python --inputs {} --iterations 4 --warmup 7 --python python3",
        inputs.display()
    );
    assert!(log.lines().next().unwrap().ends_with(&expected), "{log}");
    let environment = std::fs::read_to_string(workspace.path("mage-harness.env")).unwrap();
    // Cargo sets these for every test; none is on the list.
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
    for line in environment.lines() {
        let name = line.split('=').next().unwrap();
        let shell = ["PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "MAGE_CAPTURE"];
        let allowed = mage_profile::environment::ALLOWED;
        assert!(shell.contains(&name) || allowed.contains(&name), "{line}");
    }
}

/// Each way in which profiler, importer or target fail, and what the message must say.
#[test]
fn what_goes_wrong_is_told_in_its_own_words() {
    let no_export = "exit 0";
    for (profile, export, expected) in [
        // Never starts to collect, in two ways
        (
            r#""$@"; echo "The application terminated before the collection started. No report was generated.""#,
            EXPORT,
            ["capture range never opened", "cuProfilerStart"],
        ),
        (
            "exit 0",
            EXPORT,
            ["exit status 0 but left 0 reports", "expected one report"],
        ),
        // Only raw data
        (
            r#""$@"; echo raw > "$out.qdstrm"; exit 1"#,
            EXPORT,
            ["importer of nsys made no report", "exit status 1"],
        ),
        (
            r#"echo "QdstrmImporter: error while loading shared libraries: libdw.so.1: cannot open shared object file" >&2; echo raw > "$out.qdstrm""#,
            EXPORT,
            ["libdw.so.1 is missing", "apt-get install libdw1"],
        ),
        // Dies
        (
            "kill -9 $$",
            EXPORT,
            ["nsys profile failed with signal 9", "said nothing"],
        ),
        (
            "echo no licence >&2; exit 7",
            EXPORT,
            ["nsys profile failed with exit status 7", "no licence"],
        ),
        // The target fails
        (
            r#"echo "The target application returned non-zero exit code 3" >&2; echo report > "$out.nsys-rep"; exit 3"#,
            EXPORT,
            ["the target failed", "exit code 3"],
        ),
        (
            r#"echo report > "$out.nsys-rep""#,
            EXPORT,
            ["the target did not finish: found none", "JSON"],
        ),
        // A stale report is there, the new one is not
        (
            r#""$@"; echo old > "$(dirname "$out")/stale.nsys-rep"; echo old > "$(dirname "$out")/stale.sqlite""#,
            EXPORT,
            ["left 0 reports", "expected one report"],
        ),
        (
            r#""$@"; echo a > "$out.nsys-rep"; echo b > "$out.1.nsys-rep""#,
            EXPORT,
            ["left 2 reports", "expected one report"],
        ),
        // The export
        (
            PROFILE,
            no_export,
            [
                "nsys export ended with exit status 0 but left no file",
                "SQLite",
            ],
        ),
        (PROFILE, r#": > "$out""#, ["left an empty file", "SQLite"]),
        (
            PROFILE,
            r#"echo text > "$out""#,
            ["export of matmul-python-1", "no SQLite header"],
        ),
        (
            PROFILE,
            r#"echo "old report" >&2; exit 2"#,
            ["nsys export failed with exit status 2", "old report"],
        ),
        (
            PROFILE,
            r#"head -c 9000 "$dir/$case.sqlite" > "$out""#,
            ["export of matmul-python-1", "export the report again"],
        ),
        (
            r#"cp "$dir/gelu-rust.sqlite" "$out.sqlite"; "$@"; echo report > "$out.nsys-rep""#,
            no_export,
            ["left no file", "SQLite"],
        ),
    ] {
        let workspace = Workspace::new();
        workspace.nsys(profile, export);
        let error = refused(&workspace, &one(&workspace));
        assert!(error.starts_with("matmul-python-1: "), "{error}");
        for words in expected {
            assert!(error.contains(words), "{profile}\n{export}\n{error}");
        }
    }
}

/// Each thing that an export may hold, and what the message must say.
#[test]
fn rows_that_are_not_the_operations_are_refused() {
    let stray = "INSERT INTO StringIds VALUES (90, 'flush, \"L2\"');
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1060000, 1060500, 0, 281494371173508, 900, 1, 0, NULL);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1090000, 1091000, 0, 1, NULL, 7, 900, globalPid, 90, 90, 90, 32, 8, 2, 1, 128, 1, 1, 0, 0, NULL FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1;";
    for (sql, expected) in [
        (
            "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
            ["no kernel table", "capture range never opened"],
        ),
        (
            "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL",
            ["no rows", "held no kernel"],
        ),
        (
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V2",
            ["CUPTI_ACTIVITY_KIND_KERNEL_V2", "another schema"],
        ),
        (
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN gridX TO gridDimX",
            ["gridDimX, gridY", "a column gridX"],
        ),
        ("DROP TABLE StringIds", ["demangledName", "does not name"]),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start WHERE rowid = 2",
            ["[1].end", "an end after the start"],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 5 WHERE rowid = 1",
            ["[0].end", "an end after the start"],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9223372036854775807 WHERE rowid = 1",
            ["[0].end", "at most an hour"],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridY = 0 WHERE rowid = 1",
            ["[0].gridY", "at least 1"],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET registersPerThread = -1 WHERE rowid = 1",
            ["registersPerThread: found -1", "0 to 4294967295"],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET dynamicSharedMemory = 'much' WHERE rowid = 1",
            ["dynamicSharedMemory: found Text", "an integer"],
        ),
        // A kernel from elsewhere, and one tuned or flushed inside an iteration
        (
            stray,
            [
                "1 launched outside the iterations' ranges",
                "flush, \\\"L2\\\"",
            ],
        ),
        (
            &stray.replace("1060000, 1060500", "1020000, 1020500"),
            ["flush", "1 times in 4 iterations"],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 16 WHERE rowid = 1",
            ["grid [", "the same kernels in every iteration"],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = 281494371173509 WHERE rowid = 1",
            ["1 launched outside", "\"kernel\""],
        ),
        // Lost: a kernel, a call, events
        (
            "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = 4",
            [
                "1 launches whose kernel is not in the report",
                "capture again",
            ],
        ),
        (
            "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE rowid = 4",
            ["1 launched outside", "\"kernel\""],
        ),
        (
            "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 2, 'CUPTI buffers: 17 records dropped', 1)",
            ["17 records dropped", "lost nothing"],
        ),
        (
            "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 3, 'CUDA profiling might have not been started correctly.', 1)",
            ["started correctly", "no other profiler"],
        ),
        (
            "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 3, 'CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED', 1)",
            ["SUBSCRIBERS", "no other profiler"],
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET returnValue = 701 WHERE rowid = 1",
            ["cudaLaunchKernel_v7000", "error 701"],
        ),
        // Graphs
        (
            "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1)",
            ["1 graph launches", "--cuda-graph-trace=node"],
        ),
        (
            "INSERT INTO StringIds VALUES (91, 'cudaGraphLaunch_v10000'); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1020000, 1020500, 0, 281494371173508, 901, 91, 0, NULL)",
            ["1 graph launches", "--cuda-graph-trace=node"],
        ),
        // Compilation in an iteration
        (
            "INSERT INTO StringIds VALUES (92, 'cuModuleLoadData'); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1220000, 1220500, 1, 281494371173508, 902, 92, 0, NULL)",
            ["cuModuleLoadData in iteration 2", "raise --warmup"],
        ),
        // Ranges
        (
            "DROP TABLE NVTX_EVENTS",
            ["no NVTX data", "--without-ranges"],
        ),
        (
            "DELETE FROM NVTX_EVENTS",
            ["ranges of 0 iterations", "4 iterations"],
        ),
        (
            "DELETE FROM NVTX_EVENTS WHERE rowid = 2",
            ["ranges of 3 iterations", "4 iterations"],
        ),
        (
            "UPDATE NVTX_EVENTS SET end = NULL WHERE rowid = 4",
            ["mage:matmul:python:3", "cuProfilerStop"],
        ),
        (
            "UPDATE NVTX_EVENTS SET text = 'mage:matmul:triton:1' WHERE rowid = 2",
            ["mage:matmul:triton:1", "matmul and python alone"],
        ),
        (
            "UPDATE NVTX_EVENTS SET text = 'mage:matmul:python:x' WHERE rowid = 2",
            ["mage:matmul:python:x", "<iteration>"],
        ),
        (
            "UPDATE NVTX_EVENTS SET text = 'mage:matmul:python:0' WHERE rowid = 2",
            ["mage:matmul:python:0", "each of 0 to 3 once"],
        ),
        (
            "UPDATE NVTX_EVENTS SET end = 1250000 WHERE rowid = 2",
            ["mage:matmul:python:2", "after the end of the range before"],
        ),
    ] {
        let workspace = Workspace::new();
        workspace.change("matmul-python", sql);
        let error = refused(&workspace, &one(&workspace));
        for words in expected {
            assert!(error.contains(words), "{sql}\n{error}");
        }
    }
}

/// What looks odd and is right: the number, and what is said of it.
#[test]
fn rows_that_only_look_odd_give_the_right_number() {
    let (plain, ours) = ("kernel", "x");
    for (kernels, sql, us, launches, note) in [
        (vec![(plain, 1000)], "", 1.0, 1, None),
        // Out of order in the table
        (
            vec![(plain, 1000)],
            "CREATE TABLE k AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start DESC; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM k; DROP TABLE k",
            1.0,
            1,
            None,
        ),
        // Two kernels of one name and different shapes, both in every iteration
        (
            vec![(plain, 1000), (ours, 500)],
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 10, gridX = gridX + demangledName",
            1.5,
            2,
            None,
        ),
        // Names by id, as newer versions have them
        (
            vec![(plain, 1000)],
            "INSERT INTO StringIds SELECT 200 + rowid, text FROM NVTX_EVENTS; UPDATE NVTX_EVENTS SET textId = 200 + rowid, text = NULL",
            1.0,
            1,
            None,
        ),
        // Other NVTX users: marks and ranges of libraries
        (
            vec![(plain, 1000)],
            "INSERT INTO NVTX_EVENTS VALUES (1, NULL, 34, NULL, 'mark', 1, NULL, 0), (1, 99999999, 59, NULL, 'library', 1, NULL, 1)",
            1.0,
            1,
            None,
        ),
        // A guess of lost events that the calls disprove
        (
            vec![(plain, 1000)],
            "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 2, 'Not all CUDA events might have been collected.', 1)",
            1.0,
            1,
            Some("every launch in the ranges has its kernel"),
        ),
        // A guess of a process that has no CUDA, as real captures of a target that starts another have it
        (
            vec![(plain, 1000)],
            "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 2, 'CUDA profiling might have not been started correctly.', 1)",
            1.0,
            1,
            Some("every launch in the ranges has its kernel"),
        ),
        // Side by side on two streams
        (
            vec![(plain, 1000), (ours, 1000)],
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 8, start = start - 500, end = end - 500 WHERE demangledName = 11",
            2.0,
            2,
            Some("counts what overlaps more than once"),
        ),
        (
            vec![(plain, 1000), (ours, 1000)],
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 8 WHERE demangledName = 11",
            2.0,
            2,
            Some("2 streams, one at a time"),
        ),
        // Fills are no kernels
        (
            vec![(plain, 1000)],
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1), (2)",
            1.0,
            1,
            Some("2 copies and fills"),
        ),
        // Nothing is known of threads and processes
        (
            vec![(plain, 1000)],
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = NULL; UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = NULL; UPDATE NVTX_EVENTS SET globalTid = NULL",
            1.0,
            1,
            None,
        ),
        // A graph whose kernels were traced one by one
        (
            vec![(plain, 1000)],
            "UPDATE StringIds SET value = 'cudaGraphLaunch_v10000' WHERE id = 1; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = 5",
            1.0,
            1,
            None,
        ),
    ] {
        let workspace = Workspace::new();
        workspace.database("matmul", "python", &kernels);
        workspace.change("matmul-python", sql);
        let mut notes = Vec::new();
        let outcome = run(
            &one(&workspace),
            build(),
            &AtomicBool::new(false),
            &mut |event| {
                if let Event::Done(_, captured) = event {
                    notes.extend(captured.capture.notes.clone());
                }
            },
        );
        let capture = &outcome
            .unwrap_or_else(|error| panic!("{sql}\n{error}"))
            .captures[0];
        assert_eq!(capture.kernel_time_us().unwrap(), us, "{sql}");
        assert_eq!(capture.launches().unwrap(), launches, "{sql}");
        assert!(capture.kernels.is_sorted_by_key(|kernel| kernel.start_ns));
        match note {
            Some(note) => assert!(notes.iter().any(|n| n.contains(note)), "{sql}\n{notes:?}"),
            None => assert_eq!(notes, Vec::<String>::new(), "{sql}"),
        }
    }
}

#[test]
fn kernels_and_reports_can_be_allowed_and_kept_by_name() {
    let workspace = Workspace::new();
    let flush = "INSERT INTO StringIds VALUES (90, 'flush');
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1060000, 1060500, 0, 281494371173508, 900, 1, 0, NULL);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 900, 1000, 0, 1, NULL, 7, 900, globalPid, 90, 90, 90, 32, 8, 2, 1, 128, 1, 1, 0, 0, NULL FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1;";
    workspace.change("matmul-python", flush);
    let mut options = one(&workspace);
    options.allowed_outside = vec!["flush".to_string()];
    options.keep_reports = Some(workspace.path("kept"));
    let outcome = go(&options).unwrap();
    assert_eq!(outcome.captures[0].kernel_time_us().unwrap(), 1.0);
    assert_eq!(outcome.captures[0].kernels[0].start_ns, 0);
    for kept in ["matmul-python-1.nsys-rep", "matmul-python-1.sqlite"] {
        assert!(workspace.path("kept").join(kept).is_file());
    }
    let workspace = Workspace::new();
    workspace.change("matmul-python", "DROP TABLE NVTX_EVENTS");
    let mut options = one(&workspace);
    options.without_ranges = true;
    let outcome = go(&options).unwrap();
    assert_eq!(outcome.captures[0].kernels[0].iteration, None);
}

#[test]
fn an_odd_status_of_the_profiler_is_told_where_everything_is_there() {
    let workspace = Workspace::new();
    let odd = PROFILE.replace("exit $status", "exit 9");
    workspace.nsys(&odd, EXPORT);
    let mut notes = Vec::new();
    let outcome = run(
        &one(&workspace),
        build(),
        &AtomicBool::new(false),
        &mut |event| {
            if let Event::Done(_, captured) = event {
                notes.extend(captured.capture.notes.clone());
            }
        },
    );
    assert_eq!(outcome.unwrap().captures[0].kernel_time_us().unwrap(), 1.0);
    assert!(
        notes[0].starts_with("nsys ended with exit status 9 although"),
        "{notes:?}"
    );
    // Nothing but the status tells that the target did not finish, or that rows are missing.
    let workspace = Workspace::new();
    workspace.nsys(&odd.replace("\"$@\"", ":"), EXPORT);
    let error = refused(&workspace, &one(&workspace));
    assert!(
        error.contains("nsys profile failed with exit status 9"),
        "{error}"
    );
    let workspace = Workspace::new();
    workspace.nsys(&odd, EXPORT);
    let mut options = one(&workspace);
    options.without_ranges = true;
    let error = refused(&workspace, &options);
    assert!(
        error.contains("nsys profile failed with exit status 9"),
        "{error}"
    );
}

#[test]
fn a_variant_is_needed_for_rust() {
    let workspace = Workspace::new();
    workspace.script("mage-harness", "echo '{}'");
    let mut options = workspace.options();
    options.operations = Some(vec![Operation::Gelu]);
    options.implementations = Some(vec!["rust".to_string()]);
    let error = refused(&workspace, &options);
    assert!(
        error.contains("gelu-rust-1: the target did not finish: found kernel None"),
        "{error}"
    );
}

#[test]
fn wrong_options_are_refused_before_anything_starts() {
    let workspace = Workspace::new();
    let with = |change: &dyn Fn(&mut Options)| {
        let mut options = workspace.options();
        change(&mut options);
        refused(&workspace, &options)
    };
    for (error, expected) in [
        (
            with(&|o| o.experiment = "x-2".into()),
            "experiment: found \"x-2\"",
        ),
        (
            with(&|o| o.operations = Some(vec![Operation::Triangle])),
            "--ops: found triangle",
        ),
        (
            with(&|o| o.implementations = Some(vec!["cuda".into()])),
            "--implementations: found \"cuda\"",
        ),
        (with(&|o| o.captures = Some(0)), "--captures: found 0"),
        (
            with(&|o| o.iterations = Some(100_001)),
            "--iterations: found 100001",
        ),
        (with(&|o| o.warmup = Some(10_001)), "--warmup: found 10001"),
        (
            with(&|o| o.namespace = Some("../x".into())),
            "--namespace: found \"../x\"",
        ),
        (
            with(&|o| o.inputs = "/no/such".into()),
            "mage-harness inputs --experiment x-1",
        ),
        (
            with(&|o| o.harness = "/no/such".into()),
            "cargo build --release -p mage-harness",
        ),
        (
            with(&|o| o.nsys = Some("/no/such/nsys".into())),
            "/no/such/nsys (--nsys): no such file",
        ),
    ] {
        assert!(error.contains(expected), "{error}");
    }
    assert!(!workspace.path("log").exists());
}

#[test]
fn a_failure_keeps_what_was_complete_and_publishes_nothing() {
    let workspace = Workspace::new();
    workspace.change("matmul-rust", "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
    let error = go(&workspace.options()).unwrap_err().to_string();
    assert!(error.starts_with("matmul-rust-1: "), "{error}");
    let partial = workspace.path("artifacts/x-1-kernels-nsys.partial");
    assert_eq!(
        std::fs::read_dir(partial.join("captures")).unwrap().count(),
        2
    );
    assert!(!workspace.path("artifacts/x-1-kernels-nsys").exists());
    let again = go(&workspace.options()).unwrap_err().to_string();
    assert!(again.contains("x-1-kernels-nsys.partial"), "{again}");
}

/// A profiler that hangs, with a child that left its group and lost its parent.
const HANGS: &str = r#"echo $$ >> "$dir/pids"
(setsid sh -c 'trap "" TERM; echo $$ >> "$0/pids"; while :; do sleep 1; done' "$dir" &)
echo waiting
while :; do sleep 1; done"#;

fn pids(workspace: &Workspace) -> Vec<String> {
    let text = std::fs::read_to_string(workspace.path("pids")).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    let workspace = Workspace::new();
    workspace.nsys(HANGS, EXPORT);
    let mut options = one(&workspace);
    options.timeout = Duration::from_secs(3);
    let error = refused(&workspace, &options);
    assert!(
        error.contains("nsys profile did not end within 3 s"),
        "{error}"
    );
    assert!(error.contains("it said: waiting"), "{error}");
    let pids = pids(&workspace);
    assert_eq!(pids.len(), 2);
    for pid in pids {
        assert!(!alive(&pid), "{pid} goes on");
    }
}

#[test]
fn a_target_that_nsys_left_running_is_waited_for_then_ended() {
    // It ends by itself within the grace time.
    let workspace = Workspace::new();
    workspace.nsys(
        r#"(setsid sh -c 'sleep 0.2; "$@"' sh "$@" &) ; echo report > "$out.nsys-rep""#,
        EXPORT,
    );
    let mut options = one(&workspace);
    options.grace = Duration::from_secs(10);
    go(&options).unwrap();
    // It does not.
    let workspace = Workspace::new();
    workspace.nsys(
        &format!("(setsid sh -c 'echo $$ > \"$0/pids\"; sleep 60' \"$dir\" &)\n{PROFILE}"),
        EXPORT,
    );
    let mut options = one(&workspace);
    options.grace = Duration::from_millis(1500);
    let mut notes = Vec::new();
    run(&options, build(), &AtomicBool::new(false), &mut |event| {
        if let Event::Done(_, captured) = event {
            notes.extend(captured.capture.notes.clone());
        }
    })
    .unwrap();
    assert!(
        notes[0].contains("went on after nsys had ended"),
        "{notes:?}"
    );
    assert!(!alive(&pids(&workspace)[0]));
}

#[test]
fn an_interrupt_publishes_nothing_and_exits_130() {
    let workspace = Workspace::new();
    workspace.nsys(
        &format!("case $case in matmul-rust) {HANGS};; esac\n{PROFILE}"),
        EXPORT,
    );
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_mage-profile"))
        .args([
            "run",
            "--experiment",
            "x-1",
            "--inputs",
            "inputs",
            "--nsys",
            "nsys",
            "--harness",
            "mage-harness",
        ])
        .current_dir(workspace.directory.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while pids(&workspace).len() < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it never got there"
        );
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::sleep(Duration::from_millis(20));
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.is_empty());
    let partial = workspace.path("artifacts/x-1-kernels-nsys.partial");
    assert_eq!(
        std::fs::read_dir(partial.join("captures")).unwrap().count(),
        2
    );
    assert!(!workspace.path("artifacts/x-1-kernels-nsys").exists());
    for pid in pids(&workspace) {
        assert!(!alive(&pid), "{pid} goes on");
    }
    for directory in workspace.private_directories() {
        assert!(!directory.exists());
    }
}

#[test]
fn the_program_prints_a_table_and_keeps_its_streams_apart() {
    let workspace = Workspace::new();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_mage-profile"))
        .args([
            "run",
            "--experiment=x-1",
            "--inputs=inputs",
            "--nsys=nsys",
            "--harness=mage-harness",
            "--ops=gelu",
            "--output=out/p",
        ])
        .current_dir(workspace.directory.path())
        .output()
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(output.status.success(), "{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(
        lines[0],
        "operation  implementation  capture  launches  kernel time us"
    );
    assert_eq!(
        lines[3],
        "gelu       rust                  1         1           1.000"
    );
    assert!(lines[4].ends_with("out/p"));
    assert!(stderr.contains("[3/3] gelu-rust-1: 1.000 us"), "{stderr}");
    let profile: Profile = store::read_json(&workspace.path("out/p/profile.json")).unwrap();
    assert_eq!(profile.command[1..3], ["run", "--experiment=x-1"]);
}

/// Stops after `captures` captures; nothing is published then.
fn stopped_after(workspace: &Workspace, options: &Options, captures: usize) -> String {
    let stop = AtomicBool::new(false);
    let mut done = 0;
    let error = run(options, build(), &stop, &mut |event| {
        if matches!(event, Event::Done(..)) {
            done += 1;
            stop.store(done == captures, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(!workspace.path("artifacts/x-1-kernels-nsys").exists());
    error.unwrap_err().to_string()
}

#[test]
fn an_interrupted_profile_is_resumed_from_its_whole_captures() {
    let workspace = Workspace::new();
    let mut options = workspace.options();
    options.command = vec!["mage-profile".to_string(), "run".to_string()];
    stopped_after(&workspace, &options, 2);
    let partial = workspace.path("artifacts/x-1-kernels-nsys.partial");
    // What a kill leaves of a write.
    std::fs::write(partial.join("captures/.writing-x"), "{").unwrap();
    let kept = partial.join("captures/matmul-python-1.json");
    let before = std::fs::read(&kept).unwrap();

    let refusal = go(&options).unwrap_err().to_string();
    assert!(refusal.contains("--resume"), "{refusal}");
    options.resume = true;
    let mut started = Vec::new();
    let outcome = run(&options, build(), &AtomicBool::new(false), &mut |event| {
        if let Event::Starts(case) = event {
            started.push(case.to_string());
        }
    })
    .unwrap();
    assert_eq!(
        started,
        [
            "matmul-rust-1",
            "gelu-python-1",
            "gelu-triton-1",
            "gelu-rust-1"
        ]
    );
    assert_eq!(outcome.captures.len(), 6);
    assert_eq!(outcome.profile.resumed.len(), 1);
    assert_eq!(
        outcome.profile.resumed[0].kept,
        ["matmul-python-1", "matmul-triton-1"]
    );
    let directory = workspace.path("artifacts/x-1-kernels-nsys");
    let profile: Profile = store::read_json(&directory.join("profile.json")).unwrap();
    assert_eq!(profile, outcome.profile);
    assert!(
        profile.profiler.contains("export schema"),
        "{}",
        profile.profiler
    );
    let names: Vec<_> = std::fs::read_dir(&directory).unwrap().collect();
    assert_eq!(names.len(), 2, "profile.json and captures: {names:?}");
    assert_eq!(
        std::fs::read_dir(directory.join("captures"))
            .unwrap()
            .count(),
        6
    );
    assert_eq!(
        std::fs::read(directory.join("captures/matmul-python-1.json")).unwrap(),
        before
    );

    let complete = go(&options).unwrap_err().to_string();
    assert!(complete.contains("a run that is complete"), "{complete}");
}

#[test]
fn a_profile_interrupted_after_its_last_capture_knows_what_the_reports_said() {
    let workspace = Workspace::new();
    let mut options = workspace.options();
    let partial = workspace.path("artifacts/x-1-kernels-nsys.partial");
    let record = partial.join("profile.json");
    let mut done = 0;
    let error = run(&options, build(), &AtomicBool::new(false), &mut |event| {
        done += usize::from(matches!(event, Event::Done(..)));
        if done == 6 {
            // The record cannot be written.
            std::fs::create_dir_all(&record).unwrap();
        }
    });
    assert!(error.unwrap_err().to_string().contains("profile.json"));
    std::fs::remove_dir(&record).unwrap();
    options.resume = true;
    let outcome = go(&options).unwrap();
    assert_eq!(outcome.captures.len(), 6);
    assert_eq!(outcome.profile.resumed[0].kept.len(), 6, "nothing ran");
    let words = &outcome.profile.profiler;
    assert!(words.contains(", export schema "), "{words}");
    let fresh = Workspace::new();
    assert_eq!(*words, go(&fresh.options()).unwrap().profile.profiler);
}

#[test]
fn a_profile_that_ended_before_it_had_its_name_gets_it() {
    let workspace = Workspace::new();
    let mut options = workspace.options();
    let first = go(&options).unwrap();
    let partial = workspace.path("artifacts/x-1-kernels-nsys.partial");
    std::fs::rename(&first.directory, &partial).unwrap();
    options.resume = true;
    let again = go(&options).unwrap();
    assert_eq!(
        again.profile, first.profile,
        "nothing ran, nothing is recorded"
    );
    assert_eq!(
        workspace.private_directories().len(),
        12,
        "six captures, six exports"
    );

    std::fs::rename(&again.directory, &partial).unwrap();
    std::fs::remove_file(partial.join("captures/gelu-rust-1.json")).unwrap();
    let error = go(&options).unwrap_err().to_string();
    assert!(error.contains("5 of 6 captures"), "{error}");
    std::fs::remove_file(partial.join("profile.json")).unwrap();
    let error = go(&options).unwrap_err().to_string();
    assert!(
        error.contains("begun.json: found none, and a capture of matmul-python-1"),
        "{error}"
    );
    std::fs::remove_dir_all(partial.join("captures")).unwrap();
    let outcome = go(&options).unwrap();
    assert_eq!(
        (outcome.captures.len(), outcome.profile.resumed.len()),
        (6, 0)
    );
}

#[test]
fn a_profile_of_another_build_or_plan_is_not_resumed() {
    let workspace = Workspace::new();
    let mut options = workspace.options();
    stopped_after(&workspace, &options, 1);
    options.resume = true;
    let other = Build {
        binary_sha256: "1".repeat(64),
        ..build()
    };
    let error = run(&options, other, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(
        error.to_string().contains("build.binary_sha256: found"),
        "{error}"
    );
    options.captures = Some(2);
    let error = go(&options).unwrap_err().to_string();
    assert!(
        error.contains("captures: found 2, expected 1, as when the run began"),
        "{error}"
    );
    options.captures = None;
    let path = workspace.path("artifacts/x-1-kernels-nsys.partial/captures/matmul-python-1.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"matmul\"", "\"gelu\"")).unwrap();
    let error = go(&options).unwrap_err().to_string();
    assert!(
        error.contains("matmul-python-1.json") && error.contains("start again"),
        "{error}"
    );
}
