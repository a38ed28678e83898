//! The protocol without a device: implementations played by the CPU reference.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod played;

use mage_evidence::artifact::{self, Run, Samples};
use mage_evidence::store;
use mage_harness::run::run;
use played::{Fault, bench, plan};

#[test]
fn a_run_checks_then_measures_in_rotating_order() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("x-kernels");
    let (mut bench, log) = bench("", Fault::None);
    run(&plan(&output), &mut bench).unwrap();

    let record: Run = store::read_json(&output.join("run.json")).unwrap();
    record.check().unwrap();
    let mut checks = 0;
    for operation in &record.operations {
        let path = output.join(format!("samples/{operation}.json"));
        let samples: Samples = store::read_json(&path).unwrap();
        samples.check(&record).unwrap();
        checks += samples
            .rounds
            .iter()
            .map(|r| r.implementations.len())
            .sum::<usize>();
    }
    assert_eq!(checks, 2 * 3 * 3);

    // The output of record, then round 1 and the start of round 2 of the first operation.
    let expected = [
        "check python",
        "check python",
        "measure python",
        "check triton",
        "measure triton",
        "check rust",
        "measure rust",
        "check triton",
        "measure triton",
    ];
    assert_eq!(log.borrow()[..expected.len()], expected);
    assert!(!parent.path().join("x-kernels.partial").exists());
}

#[test]
fn the_errors_and_the_kernel_are_recorded() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("x-kernels");
    let (mut bench, _) = bench("", Fault::None);
    run(&plan(&output), &mut bench).unwrap();
    let samples: Samples = store::read_json(&output.join("samples/gelu.json")).unwrap();
    let rust = &samples.rounds[0].implementations["rust"];
    assert_eq!(rust.kernel.as_deref(), Some("bias_gelu"));
    assert_eq!(rust.check.record.unwrap().max_abs_error, 0.0);
    let fp64 = rust.check.fp64;
    assert!(fp64.max_abs_error > 0.0, "FP32 is not FP64");
    assert!(fp64.max_error_share > 0.0 && fp64.max_error_share < 0.1);
    assert_eq!(samples.rounds[0].implementations["python"].kernel, None);
    assert_eq!(samples.schema, artifact::SAMPLES_SCHEMA);
}

#[test]
fn what_does_not_run_is_recorded_with_its_reason_and_what_was_chosen_with_it() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("x-kernels");
    let (mut bench, _) = bench("triton", Fault::Unavailable);
    run(&plan(&output), &mut bench).unwrap();
    let record: Run = store::read_json(&output.join("run.json")).unwrap();
    let read = |name: &str| -> Samples {
        let path = output.join(format!("samples/{name}.json"));
        let samples: Samples = store::read_json(&path).unwrap();
        samples.check(&record).unwrap();
        samples
    };
    let (gelu, neighbor) = (read("gelu"), read("neighbor"));
    assert_eq!(gelu.choices["triton"].config["tile"], 2);
    assert!(gelu.unavailable.is_empty());
    assert_eq!(neighbor.unavailable["triton"], "no routine for it");
    assert!(neighbor.choices.is_empty());
    let order = |round: usize| -> Vec<&str> {
        let round = &neighbor.rounds[round];
        round.implementations.keys().map(String::as_str).collect()
    };
    assert_eq!(order(0), ["python", "rust"]);
    assert_eq!(order(1), ["rust", "python"]);
}

/// Runs with one fault; returns the error and the names left in the parent directory.
fn fails(faulty: &str, fault: Fault) -> (String, Vec<String>) {
    let parent = tempfile::tempdir().unwrap();
    let (mut bench, _) = bench(faulty, fault);
    let error = run(&plan(&parent.path().join("x-kernels")), &mut bench).unwrap_err();
    let left = std::fs::read_dir(parent.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    (format!("{error:#}"), left)
}

#[test]
fn a_failed_check_stops_the_run_and_publishes_nothing() {
    let (error, left) = fails("rust", Fault::Wrong);
    for part in [
        "gelu",
        "round 1",
        "rust",
        "FP64",
        "element 5",
        "[0, 5]",
        "expected",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn nan_fails_wherever_it_comes() {
    // Call 1 of python is the output of record: nothing can agree with it.
    let (error, left) = fails("python", Fault::NanInCall(1));
    assert!(
        error.contains("PyTorch's") && error.contains("element 5"),
        "{error}"
    );
    assert!(left.is_empty());
    let (error, _) = fails("triton", Fault::NanInCall(2));
    assert!(
        error.contains("round 2") && error.contains("NaN"),
        "{error}"
    );
}

#[test]
fn changed_inputs_are_found() {
    let (error, left) = fails("triton", Fault::WritesInputs);
    assert!(
        error.contains("triton") && error.contains("wrote to its inputs"),
        "{error}"
    );
    assert!(left.is_empty());
}

#[test]
fn lost_and_impossible_samples_are_found() {
    let (error, _) = fails("rust", Fault::LosesSample);
    assert!(error.contains("found 3 samples, expected 4"), "{error}");
    let (error, _) = fails("rust", Fault::ZeroSample);
    assert!(
        error.contains("sample 1") && error.contains("above 0"),
        "{error}"
    );
}

#[test]
fn a_device_error_in_the_second_operation_keeps_the_first_unpublished() {
    let (error, left) = fails("rust", Fault::Dies(4));
    for part in [
        "1 complete operations are kept",
        "neighbor",
        "illegal memory access",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(left, ["x-kernels.partial"]);
}

#[test]
fn inputs_of_another_hash_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let mut plan = plan(&parent.path().join("x-kernels"));
    plan.experiment.operations[0]
        .sha256
        .insert("a.bin".into(), "0".repeat(64));
    let (mut bench, log) = bench("", Fault::None);
    let error = format!("{:#}", run(&plan, &mut bench).unwrap_err());
    assert!(error.contains("a.bin"), "{error}");
    assert!(log.borrow().is_empty(), "nothing ran");
}

#[test]
fn an_existing_directory_is_refused_before_anything_runs() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("x-kernels");
    std::fs::create_dir(&output).unwrap();
    let (mut bench, log) = bench("", Fault::None);
    let error = run(&plan(&output), &mut bench).unwrap_err().to_string();
    assert!(
        error.contains("x-kernels") && error.contains("--namespace"),
        "{error}"
    );
    assert!(log.borrow().is_empty());
}

#[test]
fn what_was_left_out_is_said() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("x-kernels");
    let mut plan = plan(&output);
    plan.operations.truncate(1);
    let (mut bench, _) = bench("", Fault::None);
    run(&plan, &mut bench).unwrap();
    let record: Run = store::read_json(&output.join("run.json")).unwrap();
    assert_eq!(record.excluded, ["neighbor: not in --ops"]);
}
