//! Counters of a namespace: from artifacts to evidence, and every way of spoiling them. The numbers are made up; the
//! namespace beside them is the committed one.
#![allow(clippy::unwrap_used, reason = "test")]

use mage_evidence::artifact::{Build, Capture, Device, SourceTree, TreeState};
use mage_evidence::counters::artifact::{
    CALL_SCHEMA, Call, Launch, Metric, PROBES_SCHEMA, ProbeLaunch, Probes, SESSION_SCHEMA, Session,
};
use mage_evidence::counters::{Counters, FILE, Limit, Reading, metrics};
use mage_evidence::store;
use mage_export::verify::{Report, verify};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const NAMESPACE: &str = "mage-002";
const DIRECTORY: &str = "artifacts/mage-002-kernels-ncu";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Made-up counters of a launch; `n` makes them differ from launch to launch.
fn launch(name: &str, grid: [u32; 3], block: [u32; 3], n: usize) -> Launch {
    let metrics = metrics::all().into_iter().enumerate().map(|(i, name)| {
        let value = match name.as_str() {
            metrics::DURATION => 5000.0 + 100.0 * n as f64,
            metrics::L2_HITS if n == 1 => 157.25,
            name if name.contains("bytes") => 1e6 + 1000.0 * (i + n) as f64,
            _ => 1.0 + (i * 7 + n * 3) as f64 % 50.0,
        };
        let unit = match name.as_str() {
            metrics::DURATION => "nsecond",
            _ => "",
        };
        let metric = match name == metrics::TENSOR[0] {
            true => Metric::Absent {
                absent: "made up: not known".into(),
            },
            false => Metric::Read {
                unit: unit.into(),
                value,
            },
        };
        (name, metric)
    });
    Launch {
        name: name.into(),
        grid,
        block,
        metrics: metrics.collect(),
    }
}

/// A copy of the committed namespace with counters of every case, and their evidence.
fn workspace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    for path in [
        "artifacts/mage-002-kernels/run.json",
        "artifacts/mage-002-kernels/experiment.toml",
    ] {
        std::fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        std::fs::copy(root().join(path), at(path)).unwrap();
    }
    for path in [
        "artifacts/mage-002-kernels/samples",
        "artifacts/mage-002-kernels-nsys",
    ] {
        copy(&root().join(path), &at(path));
    }
    let mut implementations = Vec::new();
    for entry in std::fs::read_dir(at("artifacts/mage-002-kernels-nsys/captures")).unwrap() {
        let capture: Capture = store::read_json(&entry.unwrap().path()).unwrap();
        if !implementations.contains(&capture.implementation) {
            implementations.push(capture.implementation.clone());
        }
        let launches = capture.launches().unwrap() as usize;
        let kernels = capture.kernels[..launches].iter().enumerate();
        let call = Call {
            schema: CALL_SCHEMA.into(),
            operation: capture.operation,
            dims: capture.dims.clone(),
            implementation: capture.implementation.clone(),
            variant: capture.variant.clone(),
            kernels: kernels
                .map(|(n, k)| launch(&k.name, k.grid, k.block, n))
                .collect(),
        };
        let name = format!("{}-{}.json", call.operation, call.implementation);
        store::write_json(&at(DIRECTORY).join("counters").join(name), &call).unwrap();
    }
    let probe = |n, limit, variant: &str| ProbeLaunch {
        limit,
        variant: variant.into(),
        dims: vec![4096, 768],
        launch: launch(variant, [1; 3], [1; 3], n),
    };
    let probes = Probes {
        schema: PROBES_SCHEMA.into(),
        probes: vec![
            probe(0, Limit::Dram, "copy_two"),
            probe(1, Limit::Dram, "copy_full"),
            probe(2, Limit::L2, "copy_two"),
            probe(3, Limit::Fp32, "multiply_resident"),
        ],
    };
    store::write_json(&at(DIRECTORY).join("probes.json"), &probes).unwrap();
    let objects = BTreeMap::from([("made_up.sm_80.ptx".to_string(), "1".repeat(64))]);
    let session = Session {
        schema: SESSION_SCHEMA.into(),
        namespace: NAMESPACE.into(),
        experiment: NAMESPACE.into(),
        experiment_sha256: "0".repeat(64),
        started: "2026-01-01T00:00:00Z".into(),
        finished: "2026-01-01T00:01:00Z".into(),
        command: vec!["mage-profile".into(), "counters".into()],
        options: Vec::new(),
        warmup: 5,
        implementations,
        refused: BTreeMap::new(),
        unproved: vec!["gelu-triton".into()],
        profiler: "made up".into(),
        device: Device {
            name: "Made up".into(),
            compute_capability: "9.0".into(),
            multiprocessors: 132,
            memory_bytes: 1,
            l2_bytes: 1,
            max_sm_clock_mhz: 1980,
            max_memory_clock_mhz: 3201,
            memory_bus_bits: 6016,
            driver: "1".into(),
            cuda_driver: "1".into(),
            uuid: None,
        },
        build: Build {
            tree: SourceTree {
                state: TreeState::Unknown,
                commit: None,
                difference_sha256: None,
            },
            source_sha256: BTreeMap::from([(
                "crates/kernels/ptx/made_up.sm_80.ptx".to_string(),
                "1".repeat(64),
            )]),
            objects_sha256: BTreeMap::new(),
            binary_sha256: "2".repeat(64),
        },
        target_sha256: "3".repeat(64),
        objects_sha256: objects,
    };
    store::write_json(&at(DIRECTORY).join("counters.json"), &session).unwrap();
    let files = mage_export::evidence(directory.path(), NAMESPACE).unwrap();
    assert_eq!(files.len(), 3);
    mage_export::write(directory.path(), &files).unwrap();
    directory
}

fn report(directory: &Path) -> Report {
    verify(directory, &[NAMESPACE.to_string()]).unwrap()
}

fn evidence(directory: &Path) -> PathBuf {
    directory.join("docs/assets/results/mage-002").join(FILE)
}

#[test]
fn counters_are_exported_and_verified() {
    let directory = workspace();
    let found = report(directory.path());
    assert!(found.is_valid(), "{found}");
    let counters: Counters = store::read_json(&evidence(directory.path())).unwrap();
    assert_eq!(counters.cases.len(), 15);
    counters.check().unwrap();
    assert_eq!(counters.provenance.unproved, ["gelu-triton"]);
    let page = counters.markdown();
    let words = "\n- Not held against captures, for want of one, so that other kernels may have run: gelu-triton.\n";
    assert!(page.contains(words), "{page}");
    let case = &counters.cases[0];
    // The sum of what was read in part is not known.
    let tensor = &case.totals.instructions.tensor_operations;
    assert_eq!(*tensor, Reading::absent("made up: not known"));
    // A hit rate that is none is not published as one, nor with others.
    let case = counters.cases.iter().find(|case| case.kernels.len() > 1);
    let case = case.expect("a call of more than one kernel");
    let none = Reading::absent("passes over the launch disagree: 157.25%");
    assert_eq!(case.kernels[1].hits.l2_percent, none);
    assert_eq!(case.totals.hits.l2_percent, none);
    assert!(case.totals.hits.l1_percent.value().is_some());
    let again = mage_export::evidence(directory.path(), NAMESPACE).unwrap();
    mage_export::check(directory.path(), &again).unwrap();
}

/// Their session has a device of its own.
#[test]
fn counters_may_be_of_another_card() {
    let directory = workspace();
    for (file, uuid) in [
        ("artifacts/mage-002-kernels/run.json", "GPU-1"),
        ("artifacts/mage-002-kernels-ncu/counters.json", "GPU-2"),
    ] {
        let path = directory.path().join(file);
        let mut record: serde_json::Value = store::read_json(&path).unwrap();
        record["device"]["uuid"] = uuid.into();
        store::write_json(&path, &record).unwrap();
    }
    let files = mage_export::evidence(directory.path(), NAMESPACE).unwrap();
    mage_export::write(directory.path(), &files).unwrap();
    let counters: Counters = store::read_json(&evidence(directory.path())).unwrap();
    assert_eq!(counters.device.uuid.as_deref(), Some("GPU-2"));
}

#[test]
fn any_flipped_byte_of_any_file_is_found_and_named() {
    let directory = workspace();
    let mut files: Vec<PathBuf> = ["counters.json", "probes.json", "counters/gelu-python.json"]
        .map(|name| directory.path().join(DIRECTORY).join(name))
        .to_vec();
    files.push(evidence(directory.path()));
    for (i, file) in files.iter().enumerate() {
        let whole = std::fs::read(file).unwrap();
        for place in [0, whole.len() / 2, whole.len() / (i + 3), whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (i % 7);
            std::fs::write(file, bytes).unwrap();
            let found = report(directory.path());
            let name = file.strip_prefix(directory.path()).unwrap();
            let named = found.findings.iter().any(|finding| finding.file == name);
            assert!(named, "{} byte {place}: {found}", name.display());
        }
        std::fs::write(file, whole).unwrap();
    }
}

/// Also where the evidence's text is not compared, a number that does not follow is found.
#[test]
fn a_number_that_the_artifacts_do_not_give_is_found() {
    let directory = workspace();
    let path = evidence(directory.path());
    let whole: serde_json::Value = store::read_json(&path).unwrap();
    for pointer in [
        "/cases/3/kernels/0/memory/l2_bytes",
        "/cases/3/kernels/0/duration_us",
        "/cases/3/kernels/0/busy_percent/issue",
        "/cases/3/kernels/0/stall_shares/wait",
        "/cases/3/kernels/0/occupancy/waves",
        "/cases/3/totals/memory/dram_read_bytes",
        "/cases/3/totals/hits/l1_percent",
        "/cases/3/position/dram_share",
        "/cases/3/position/roof_operations_per_s",
        "/limits/probes/1/rate",
        "/limits/measured/fp32_operations_per_s",
        "/limits/theoretical/dram_bytes_per_s",
    ] {
        let mut changed = whole.clone();
        let number = changed.pointer_mut(pointer).unwrap();
        *number = (number.as_f64().unwrap() * 1.01 + 0.01).into();
        store::write_json(&path, &changed).unwrap();
        let found = report(directory.path()).to_string();
        let field = pointer.rsplit('/').next().unwrap();
        let said = found
            .lines()
            .any(|line| line.contains("wrong number") && line.contains(field));
        assert!(said, "{pointer}: {found}");
    }
    // An absent counter that becomes 0.
    let mut changed = whole.clone();
    changed["cases"][3]["kernels"][0]["memory"]["l2_bytes"] = serde_json::json!({"absent": "lost"});
    store::write_json(&path, &changed).unwrap();
    assert!(
        report(directory.path())
            .to_string()
            .contains("memory.l2_bytes")
    );
}

#[test]
fn one_without_the_other_and_what_lies_beside_is_found() {
    let directory = workspace();
    let extra = directory.path().join(DIRECTORY).join("counters/x.ncu-rep");
    std::fs::write(&extra, "x").unwrap();
    assert!(
        report(directory.path())
            .to_string()
            .contains("x.ncu-rep: extra")
    );
    std::fs::remove_file(extra).unwrap();
    let path = evidence(directory.path());
    std::fs::rename(&path, directory.path().join("kept")).unwrap();
    assert!(
        report(directory.path())
            .to_string()
            .contains("comparison-counters.json: missing")
    );
    std::fs::rename(directory.path().join("kept"), &path).unwrap();
    std::fs::remove_dir_all(directory.path().join(DIRECTORY)).unwrap();
    let found = report(directory.path());
    assert!(
        found.to_string().contains("counters.json: missing"),
        "{found}"
    );
    // Neither is fine.
    std::fs::remove_file(&path).unwrap();
    let found = report(directory.path());
    assert!(found.is_valid(), "{found}");
}

#[test]
fn counters_of_other_cases_are_refused() {
    let directory = workspace();
    let change = |file: &str, from: &str, to: &str| {
        let path = directory.path().join(DIRECTORY).join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let error = mage_export::evidence(directory.path(), NAMESPACE).unwrap_err();
        std::fs::write(&path, text).unwrap();
        format!("{error:#}")
    };
    for (file, from, to, expected) in [
        (
            "counters.json",
            "\"namespace\": \"mage-002\"",
            "\"namespace\": \"other\"",
            "namespace: found \"other\"",
        ),
        (
            "counters.json",
            "\"experiment\": \"mage-002\"",
            "\"experiment\": \"other\"",
            "experiment: found \"other\"",
        ),
        (
            "counters.json",
            "mage.counters/1",
            "mage.counters/2",
            "mage.counters/2",
        ),
        (
            "counters/matmul-rust.json",
            "1024, 1024, 1024",
            "1024, 1024, 512",
            "[1024, 1024, 512], expected",
        ),
        (
            "counters/matmul-rust.json",
            "tiled_matmul_registers",
            "tiled_matmul",
            "expected Some(\"tiled_matmul_registers\")",
        ),
        (
            "counters/gelu-python.json",
            "\"implementation\": \"python\"",
            "\"implementation\": \"other\"",
            "gelu-other.json",
        ),
        (
            "counters/gelu-python.json",
            "\"value\": 5000.0",
            "\"value\": -1.0",
            "at least 0",
        ),
    ] {
        let error = change(file, from, to);
        assert!(error.contains(expected), "{file}: {from}: {error}");
    }
}
