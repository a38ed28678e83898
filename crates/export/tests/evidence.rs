//! Evidence from the committed artifacts, and every refusal of artifacts that are not what they were.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the tests but not their helpers"
)]

use mage_evidence::experiment::Experiment;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const NAMESPACE: &str = "mage-001";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A root that holds the artifacts and the evidence of one namespace.
fn copied() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for part in [
        format!("artifacts/{NAMESPACE}-kernels"),
        format!("artifacts/{NAMESPACE}-kernels-nsys"),
        format!("artifacts/{NAMESPACE}-kernels-ncu"),
        format!("docs/assets/results/{NAMESPACE}"),
        "experiments".into(),
    ] {
        copy_all(&root().join(&part), &copy.path().join(&part));
    }
    copy
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        match path.is_dir() {
            // Inputs are regenerated, not committed.
            true if name == "inputs" => {}
            true => copy_all(&path, &to.join(name)),
            false => drop(std::fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

/// Changes one JSON file below `artifacts/`.
fn change(root: &Path, file: &str, edit: impl FnOnce(&mut Value)) {
    let path = root.join("artifacts").join(file);
    let mut value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    edit(&mut value);
    std::fs::write(&path, serde_json::to_vec(&value).unwrap()).unwrap();
}

fn refusal(root: &Path) -> String {
    format!("{:#}", mage_export::evidence(root, NAMESPACE).unwrap_err())
}

#[test]
fn the_committed_evidence_is_what_the_artifacts_give() {
    let files = mage_export::evidence(&root(), NAMESPACE).unwrap();
    let names: Vec<_> = files.iter().map(|file| &file.path).collect();
    let committed = std::fs::read_dir(root().join("docs/assets/results").join(NAMESPACE)).unwrap();
    assert_eq!(names.len(), committed.count(), "{names:?}");
    mage_export::check(&root(), &files).unwrap();
    assert_eq!(mage_export::evidence(&root(), NAMESPACE).unwrap(), files);
}

#[test]
fn writing_gives_the_same_bytes() {
    let copy = copied();
    let files = mage_export::evidence(copy.path(), NAMESPACE).unwrap();
    std::fs::remove_dir_all(copy.path().join("docs")).unwrap();
    mage_export::write(copy.path(), &files).unwrap();
    mage_export::check(copy.path(), &files).unwrap();
}

/// Each tampering with one artifact, and what the refusal must say.
#[test]
fn altered_artifacts_are_refused_by_file_and_field() {
    let samples = "mage-001-kernels/samples/gelu.json";
    let run = "mage-001-kernels/run.json";
    let profile = "mage-001-kernels-nsys/profile.json";
    let capture = "mage-001-kernels-nsys/captures/gelu-rust-1.json";
    type Edit = fn(&mut Value);
    let cases: [(&str, Edit, &[&str]); 17] = [
        (
            samples,
            |v| v["dims"] = json!([4096, 64]),
            &["gelu.json", "checked_elements"],
        ),
        (
            samples,
            |v| v["input_sha256"]["a.bin"] = json!("0".repeat(64)),
            &["input_sha256", "experiment.toml"],
        ),
        (
            samples,
            |v| v["rounds"][0]["implementations"]["rust"]["samples_us"][3] = json!(0.0),
            &["samples_us[3]", "above 0"],
        ),
        (
            samples,
            |v| {
                v["rounds"][0]["implementations"]["rust"]["check"]["fp64"]["max_error_share"] =
                    json!(1.5)
            },
            &["max_error_share", "passed check"],
        ),
        (
            samples,
            |v| v["rounds"][1]["index"] = json!(1),
            &["rounds[1]", "index"],
        ),
        (
            samples,
            |v| drop(v["rounds"].as_array_mut().unwrap().pop()),
            &["rounds", "found 2, expected 3"],
        ),
        (
            samples,
            |v| v["schema"] = json!("mage.samples/9"),
            &["mage.samples/9"],
        ),
        (
            samples,
            |v| v["extra"] = json!(1),
            &["unknown field `extra`"],
        ),
        (
            run,
            |v| v["python"]["tf32"]["matmul_allow_tf32"] = json!(true),
            &["matmul_allow_tf32", "FP32"],
        ),
        (run, |v| v["seed"] = json!(7), &["seed", "20260910"]),
        (run, |v| v["tolerance"]["rtol"] = json!(0.5), &["tolerance"]),
        (
            run,
            |v| v["namespace"] = json!("mage-009"),
            &["namespace", "mage-009"],
        ),
        (
            run,
            |v| v["build"]["binary_sha256"] = json!("0".repeat(64)),
            &["program", "one build"],
        ),
        (
            profile,
            |v| v["captures"] = json!(4_000_000_000u32),
            &["captures", "1 to 1000"],
        ),
        (
            capture,
            |v| v["requested_iterations"] = json!(50),
            &["gelu-rust-1.json", "expected below 50"],
        ),
        (
            capture,
            |v| v["kernels"][0]["iteration"] = json!(7),
            &["gelu-rust-1.json", "iteration"],
        ),
        (
            capture,
            |v| v["kernels"][0]["name"] = json!("empty"),
            &["kernels[0].name", "bias_gelu"],
        ),
    ];
    for (file, edit, expected) in cases {
        let copy = copied();
        change(copy.path(), file, edit);
        let error = refusal(copy.path());
        for part in expected {
            assert!(error.contains(part), "{file}: {part}: {error}");
        }
    }
}

#[test]
fn missing_and_extra_files_are_named() {
    let copy = copied();
    let samples = copy.path().join("artifacts/mage-001-kernels/samples");
    std::fs::write(samples.join("extra.json"), "{}").unwrap();
    assert!(refusal(copy.path()).contains("samples/extra.json"));
    std::fs::remove_file(samples.join("extra.json")).unwrap();

    std::fs::write(copy.path().join("artifacts/mage-001-kernels/notes.txt"), "").unwrap();
    assert!(refusal(copy.path()).contains("notes.txt"));
    std::fs::remove_file(copy.path().join("artifacts/mage-001-kernels/notes.txt")).unwrap();

    let captures = copy.path().join("artifacts/mage-001-kernels-nsys/captures");
    std::fs::remove_file(captures.join("matmul-triton-1.json")).unwrap();
    assert!(refusal(copy.path()).contains("matmul triton: found 0 captures"));
    std::fs::remove_file(samples.join("gelu.json")).unwrap();
    assert!(refusal(copy.path()).contains("gelu.json: cannot read"));
}

#[test]
fn a_truncated_artifact_and_a_changed_spec_are_named() {
    let copy = copied();
    let run = copy.path().join("artifacts/mage-001-kernels/run.json");
    let bytes = std::fs::read(&run).unwrap();
    std::fs::write(&run, &bytes[..bytes.len() / 2]).unwrap();
    let error = refusal(copy.path());
    assert!(
        error.contains("run.json") && error.contains("EOF"),
        "{error}"
    );
    std::fs::write(&run, bytes).unwrap();

    let spec = copy
        .path()
        .join("artifacts/mage-001-kernels/experiment.toml");
    let text = std::fs::read_to_string(&spec).unwrap();
    std::fs::write(&spec, text.replace("rounds = 3", "rounds = 4")).unwrap();
    let error = refusal(copy.path());
    assert!(error.contains("experiment.toml: found SHA-256"), "{error}");
}

#[test]
fn altered_evidence_is_named_by_file_and_line() {
    let copy = copied();
    let files = mage_export::evidence(copy.path(), NAMESPACE).unwrap();
    let path = copy.path().join(&files[0].path);
    let text = std::fs::read_to_string(&path).unwrap();
    let check = || format!("{:#}", mage_export::check(copy.path(), &files).unwrap_err());

    std::fs::write(&path, text.replacen("\"rounds\": 3", "\"rounds\": 4", 1)).unwrap();
    let error = check();
    assert!(error.contains("comparison-results.json: line"), "{error}");
    std::fs::write(&path, text.replace('\n', "\r\n")).unwrap();
    assert!(check().contains("CRLF"));
    std::fs::write(&path, &text).unwrap();
    std::fs::write(path.with_file_name("more.json"), "{}").unwrap();
    assert!(check().contains("more.json"));
}

#[test]
fn a_spec_that_measures_something_else_is_refused() {
    let copy = copied();
    let mut experiment = Experiment::load(copy.path(), NAMESPACE).unwrap();
    let artifacts = mage_export::Artifacts::read(copy.path(), NAMESPACE).unwrap();
    artifacts.measured_as(copy.path(), &experiment).unwrap();
    experiment.title = "another title".into();
    artifacts.measured_as(copy.path(), &experiment).unwrap();
    experiment.operations[0].variant = "tiled_matmul_registers".into();
    let error = artifacts.measured_as(copy.path(), &experiment).unwrap_err();
    assert!(error.to_string().contains("operations"), "{error}");
}
