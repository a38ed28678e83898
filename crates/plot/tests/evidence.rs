//! Evidence that does not pass its check is not drawn: file, field, found, expected.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use mage_plot::draw;
use support::{Evidence, Root, cases, evidence};

fn good() -> Evidence {
    evidence(
        "mage-002",
        "mage-002",
        "NVIDIA H200",
        &cases("mage-002", |_, _| 1.0),
        1,
    )
}

fn refusal(spoil: impl FnOnce(&mut Evidence)) -> String {
    let root = Root::new();
    let mut evidence = good();
    spoil(&mut evidence);
    root.store("mage-002", &evidence);
    format!("{:#}", draw(root.path(), "mage-002").unwrap_err())
}

fn assert_names(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error:?}");
    }
}

#[test]
fn a_failed_check_is_refused() {
    let error = refusal(|e| {
        let round = &mut e.results.results[0].rounds[1];
        round.implementations["triton"].correctness.passed = false;
    });
    assert_names(
        &error,
        &[
            "comparison-results.json",
            "results[0].rounds[1].implementations.triton.correctness.passed",
            "found false, expected true",
        ],
    );
}

#[test]
fn a_sample_short_is_refused() {
    let error = refusal(|e| {
        let round = &mut e.results.results[2].rounds[0];
        round.implementations["rust"].samples_us.pop();
    });
    assert_names(
        &error,
        &[
            "comparison-results.json",
            "samples_us",
            "3 in number",
            "expected 4",
        ],
    );
}

#[test]
fn a_launch_short_is_refused() {
    let error = refusal(|e| {
        e.profiles.captures[0].kernel_metrics.pop();
    });
    assert_names(&error, &["comparison-profiles.json", "captures[0]"]);
}

#[test]
fn evidence_of_another_namespace_or_experiment_is_refused() {
    let error = refusal(|e| {
        e.results.provenance.as_mut().unwrap().namespace = "mage-009".to_string();
    });
    assert_names(
        &error,
        &["provenance.namespace", "\"mage-009\"", "\"mage-002\""],
    );
    let error = refusal(|e| e.profiles.experiment_id = "mage-001-comparison".to_string());
    assert_names(
        &error,
        &[
            "comparison-profiles.json",
            "experiment_id",
            "mage-001-comparison",
        ],
    );
    let error = refusal(|e| {
        e.results.provenance.as_mut().unwrap().experiment = "mage-003".to_string();
    });
    assert_names(&error, &["experiment", "mage-003", "mage-001, mage-002"]);
}

#[test]
fn an_unknown_schema_is_refused_and_none_is_the_original() {
    let error = refusal(|e| e.results.schema_version = Some("2.0".to_string()));
    assert_names(&error, &["schema_version", "2.0"]);
    let root = Root::new();
    let mut old = good();
    old.results.schema_version = None;
    old.results.provenance = None;
    old.profiles.schema_version = None;
    root.store("mage-002", &old);
    draw(root.path(), "mage-002").unwrap();
}

#[test]
fn a_missing_file_and_a_name_that_leaves_the_tree_are_named() {
    let root = Root::new();
    let error = format!("{:#}", draw(root.path(), "mage-002").unwrap_err());
    assert_names(&error, &["namespace", "\"mage-002\"", "there is none yet"]);
    root.store("mage-002", &good());
    let error = format!("{:#}", draw(root.path(), "mage-003").unwrap_err());
    assert_names(&error, &["\"mage-003\"", "one of mage-002"]);
    let error = format!("{:#}", draw(root.path(), "../mage").unwrap_err());
    assert_names(&error, &["namespace", "../mage"]);
}
