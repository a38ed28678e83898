//! Errors against FP64 without a GPU: the Rust kernels on the CPU executor.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mage_evidence::artifact::{Build, SourceTree, TreeState};
use mage_evidence::errors::Errors;
use mage_evidence::experiment::Experiment;
use mage_evidence::store;
use mage_harness::errors::{Bench, Executor, Plan, run};
use mage_kernels::hard;
use std::collections::BTreeMap;
use std::path::Path;

fn bench() -> Bench {
    Bench {
        implementations: vec![Box::new(Executor::default())],
        device: None,
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
    }
}

#[test]
fn every_hard_case_runs_on_the_executor_and_its_error_is_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let experiment = Experiment::load(&root, "mage-002").unwrap();
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("x-errors");
    let plan = Plan {
        experiment: &experiment,
        spec: String::new(),
        implementations: vec!["rust".into()],
        cases: hard::small(),
        namespace: "x".into(),
        run: parent.path().join("x-kernels"),
        output: output.clone(),
        command: vec!["mage-harness".into()],
    };
    run(&plan, &mut bench()).unwrap();
    let errors: Errors = store::read_json(&output.join("errors.json")).unwrap();
    errors.check().unwrap();
    assert_eq!(errors.cases.len(), hard::small().len());
    for case in &errors.cases {
        let error = case.rows[0].error.unwrap();
        assert_eq!(error.not_finite, 0, "{}", case.name);
        assert!(error.rms <= error.max_abs, "{}", case.name);
        if case.kind == "standard" {
            // FP32 is not FP64, and is near it.
            assert!(error.max_abs > 0.0 && error.max_abs < 1e-5, "{}", case.name);
        }
    }
    // An existing directory is refused.
    assert!(run(&plan, &mut bench()).is_err());
}

#[test]
fn a_kernel_for_the_device_alone_stands_with_its_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut experiment = Experiment::load(&root, "limit-001").unwrap();
    let matmul = experiment.operations.iter_mut();
    matmul.for_each(|case| case.variant = "matmul_presplit".into());
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("x-errors");
    let cases = hard::cases().into_iter();
    let plan = Plan {
        experiment: &experiment,
        spec: String::new(),
        implementations: vec!["rust".into()],
        // The general kernel would take this case, were it not of the dims of the device's own.
        cases: cases.filter(|case| case.dims == [256, 256, 512]).collect(),
        namespace: "x".into(),
        run: parent.path().join("x-kernels"),
        output: output.clone(),
        command: vec!["mage-harness".into()],
    };
    run(&plan, &mut bench()).unwrap();
    let errors: Errors = store::read_json(&output.join("errors.json")).unwrap();
    let row = &errors.cases[0].rows[0];
    assert_eq!(row.kernel.as_deref(), Some("matmul_presplit"));
    let reason = mage_simt::device_only("matmul_presplit").to_string();
    assert_eq!(row.unavailable, Some(reason));
    assert_eq!(row.error, None);
}
