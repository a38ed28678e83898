//! Comparisons of the committed evidence, and of what can be made from it.
#![allow(clippy::unwrap_used, reason = "test")]

use mage_evidence::diff::{Basis, Diff, FailOn, Outcome, Quantity, Side, Status, diff};
use mage_evidence::operation::Operation;
use mage_evidence::profiles::{self, Profiles};
use mage_evidence::results::{self, Results};
use mage_evidence::store;
use mage_evidence::verdict::{MARGIN, Reason, Verdict};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn directory(namespace: &str) -> PathBuf {
    root().join("docs/assets/results").join(namespace)
}

fn side(namespace: &str) -> Side {
    Side::read(namespace, &directory(namespace)).unwrap()
}

fn published(namespace: &str) -> Side {
    let path = root().join(format!("experiments/published/{namespace}.json"));
    Side::read_published(&format!("published:{namespace}"), &path).unwrap()
}

fn verdict(diff: &Diff, op: Operation, name: &str, quantity: Quantity) -> Verdict {
    let row = diff
        .rows
        .iter()
        .find(|row| row.operation == op && row.implementation == name);
    row.unwrap().effect(quantity).unwrap().verdict.clone()
}

fn status(diff: &Diff, op: Operation, name: &str) -> (Status, Basis) {
    let row = diff
        .rows
        .iter()
        .find(|row| row.operation == op && row.implementation == name);
    let standing = &row.unwrap().standing;
    (standing.status, standing.basis)
}

/// Evidence with edits, checked as evidence is.
fn edited(namespace: &str, edit: impl Fn(&mut Results, &mut Profiles)) -> Side {
    let directory = directory(namespace);
    let mut results: Results = store::read_json(&directory.join(results::FILE)).unwrap();
    let mut profiles: Profiles = store::read_json(&directory.join(profiles::FILE)).unwrap();
    edit(&mut results, &mut profiles);
    results.check().unwrap();
    profiles.check().unwrap();
    Side::of(namespace, results, profiles)
}

#[test]
fn the_rewrites_are_faster_and_the_controls_are_not() {
    let diff = diff(&side("mage-001"), &side("mage-002"), MARGIN).unwrap();
    println!("{}", diff.text());
    for op in Operation::ALL {
        let rewritten = [Operation::Matmul, Operation::LayerNorm].contains(&op);
        let expected = if rewritten {
            Status::Rewritten
        } else {
            Status::Control
        };
        assert_eq!(status(&diff, op, "rust"), (expected, Basis::Hashes), "{op}");
        for name in ["python", "triton"] {
            assert_eq!(status(&diff, op, name), (Status::Control, Basis::Hashes));
        }
        for quantity in Quantity::ALL {
            let verdict = verdict(&diff, op, "rust", quantity);
            match rewritten {
                true => assert_eq!(verdict, Verdict::Faster, "{op} {quantity:?}"),
                false => assert!(
                    matches!(verdict, Verdict::Equivalent | Verdict::Inconclusive(_)),
                    "{op} {quantity:?}: {verdict}"
                ),
            }
        }
    }
    assert_eq!(FailOn::Slower.outcome(&diff), Outcome::Met);
    assert!(
        diff.causes
            .fact("variant of matmul rust")
            .unwrap()
            .is_changed()
    );
    assert!(diff.causes.fact("driver").unwrap().is_same());
    assert!(diff.causes.group("PTX objects").unwrap().is_same());
}

#[test]
fn the_other_way_round_fails_the_policy() {
    let diff = diff(&side("mage-002"), &side("mage-001"), MARGIN).unwrap();
    let Outcome::Failed(cases) = FailOn::Slower.outcome(&diff) else {
        panic!("matmul and layernorm are slower");
    };
    assert_eq!(cases.len(), 4, "{cases:?}");
    assert_eq!(FailOn::Never.outcome(&diff), Outcome::Met);
}

#[test]
fn a_side_and_itself_differ_in_nothing() {
    let diff = diff(&side("mage-002"), &side("mage-002"), MARGIN).unwrap();
    for row in &diff.rows {
        assert_eq!(row.standing.status, Status::Control);
        assert_eq!(
            row.kernel_time.as_ref().unwrap().verdict,
            Verdict::Equivalent
        );
        let ratio = row.event_span.as_ref().unwrap().ratio.unwrap();
        assert_eq!(ratio.log, 0.0);
    }
    assert!(diff.causes.facts.iter().all(|fact| !fact.is_changed()));
    assert!(diff.same);
    for text in [diff.text(), diff.markdown()] {
        let said = text.trim_end().lines().last().unwrap();
        assert_eq!(
            said,
            "A and B are the same evidence: nothing changed, nothing moved."
        );
        assert!(text.lines().count() <= 4, "nothing else is said: {text}");
    }
    let published = published("mage-001");
    let diff = self::diff(&published, &published, MARGIN).unwrap();
    assert_eq!(FailOn::Inconclusive.outcome(&diff), Outcome::Met);
}

#[test]
fn two_gpus_are_compared_by_ratios() {
    let diff = diff(&published("mage-002"), &side("mage-002"), MARGIN).unwrap();
    assert_eq!(diff.relative_to.as_deref(), Some("python"));
    let row = &diff.rows[2];
    assert_eq!(
        (row.operation, row.implementation.as_str()),
        (Operation::Matmul, "rust")
    );
    // 141.70 over 54.55, as the note says.
    assert_eq!(
        format!("{:.2}", row.kernel_time.as_ref().unwrap().a.unwrap()),
        "2.60"
    );
    for (row, _, verdict) in diff.verdicts() {
        assert_ne!(row.implementation, "python");
        assert_eq!(*verdict, Verdict::Inconclusive(Reason::TwoGpus));
    }
    let text = diff.text();
    assert!(
        text.contains("NVIDIA GeForce RTX 4090 -> NVIDIA H200"),
        "{text}"
    );
}

#[test]
fn published_values_of_one_gpu_have_no_verdict() {
    let diff = diff(&published("mage-001"), &published("mage-002"), MARGIN).unwrap();
    let row = &diff.rows[2];
    assert_eq!(row.standing.status, Status::Unknown);
    let change = row
        .kernel_time
        .as_ref()
        .unwrap()
        .ratio
        .unwrap()
        .log
        .exp_m1();
    assert_eq!(format!("{:.1}", change * 100.0), "-58.8");
    for (_, _, verdict) in diff.verdicts() {
        assert_eq!(*verdict, Verdict::Inconclusive(Reason::PublishedOnly));
    }
}

#[test]
fn another_driver_leaves_no_control_and_no_winner() {
    let b = edited("mage-002", |results, _| {
        results.provenance.as_mut().unwrap().device.driver = "600.1".into();
    });
    let diff = diff(&side("mage-001"), &b, MARGIN).unwrap();
    assert_eq!(
        status(&diff, Operation::Gelu, "rust").0,
        Status::Environment
    );
    assert!(diff.floors.is_empty());
    assert!(diff.verdicts().all(|(_, _, verdict)| matches!(
        verdict,
        Verdict::Inconclusive(Reason::NoControl | Reason::TooFew(_))
    )));
}

/// limit-001 runs none of mage-002's code: the calibrations say what is noise in kernel time, and nothing does in spans.
#[test]
fn without_controls_kernel_time_is_judged_by_the_calibrations() {
    let diff = diff(&side("mage-002"), &side("limit-001"), MARGIN).unwrap();
    assert!(diff.floors.is_empty() && diff.by_calibration(Quantity::KernelTime));
    assert!(!diff.by_calibration(Quantity::EventSpan));
    for (row, quantity, verdict) in diff.verdicts() {
        match (quantity, row.implementation.as_str(), verdict) {
            (Quantity::KernelTime, "rust", verdict) => assert_eq!(*verdict, Verdict::Faster),
            (_, _, Verdict::Unmatched(_)) => {}
            (Quantity::EventSpan, _, verdict) => {
                assert_eq!(*verdict, Verdict::Inconclusive(Reason::NoControl));
            }
            (_, _, verdict) => assert!(
                matches!(verdict, Verdict::Inconclusive(Reason::SingleCapture { .. })),
                "{} {}: {verdict}",
                row.operation,
                row.implementation
            ),
        }
    }
}

#[test]
fn other_objects_packages_and_worker_files_are_rewrites() {
    let b = edited("mage-002", |results, _| {
        let provenance = results.provenance.as_mut().unwrap();
        let object = provenance
            .objects_sha256
            .get_mut("triangle.sm_80.ptx")
            .unwrap();
        *object = "0".repeat(64);
        let path = "crates/harness/python/mage_worker/triton_kernels/gelu.py";
        *results.source_sha256.get_mut(path).unwrap() = "0".repeat(64);
    });
    let moved = diff(&side("mage-002"), &b, MARGIN).unwrap();
    let rewritten: Vec<_> = moved
        .rows
        .iter()
        .filter(|row| row.standing.status == Status::Rewritten)
        .map(|row| (row.operation, row.implementation.as_str()))
        .collect();
    assert_eq!(
        rewritten,
        [(Operation::Gelu, "triton"), (Operation::Triangle, "rust")]
    );
    let b = edited("mage-002", |results, _| results.torch = Some("3.0".into()));
    let moved = diff(&side("mage-002"), &b, MARGIN).unwrap();
    assert_eq!(
        status(&moved, Operation::Gelu, "python").0,
        Status::Rewritten
    );
    assert_eq!(status(&moved, Operation::Gelu, "rust").0, Status::Control);
}

#[test]
fn what_is_on_one_side_only_is_shown_and_counted() {
    let b = edited("mage-002", |results, profiles| {
        results.results.retain(|op| op.op != Operation::Gelu);
        profiles.captures.retain(|c| c.operation != Operation::Gelu);
        results.results[0].dims = vec![1024, 512, 2048];
        for round in &mut results.results[0].rounds {
            for case in round.implementations.values_mut() {
                case.correctness.checked_elements = 1024 * 512;
            }
        }
    });
    let diff = diff(&side("mage-001"), &b, MARGIN).unwrap();
    assert_eq!(status(&diff, Operation::Gelu, "rust").0, Status::Removed);
    for op in [Operation::Gelu, Operation::Matmul] {
        for quantity in Quantity::ALL {
            let verdict = verdict(&diff, op, "rust", quantity);
            assert!(matches!(verdict, Verdict::Unmatched(_)), "{op}: {verdict}");
        }
    }
    assert_eq!(diff.counts()["unmatched"], 12);
}

#[test]
fn throttled_clocks_leave_spans_open() {
    let b = edited("mage-002", |results, _| {
        for op in &mut results.results {
            let mut state = op.rounds[0].gpu_state.own("").unwrap().clone();
            state.throttle_reasons = vec!["sw_thermal_slowdown".into()];
            op.rounds[0].gpu_state = state.into();
        }
    });
    let diff = diff(&side("mage-001"), &b, MARGIN).unwrap();
    let span = verdict(&diff, Operation::Matmul, "rust", Quantity::EventSpan);
    assert!(span.to_string().contains("sw_thermal_slowdown"), "{span}");
    let kernel = verdict(&diff, Operation::Matmul, "rust", Quantity::KernelTime);
    assert_eq!(kernel, Verdict::Faster);
}

#[test]
fn all_three_formats_say_the_same_and_hold_no_null() {
    let diff = diff(&side("mage-001"), &side("mage-002"), MARGIN).unwrap();
    let json: Value = serde_json::from_str(&diff.json().unwrap()).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 15);
    assert_eq!(json["rows"][2]["kernel_time"]["verdict"], "faster");
    let markdown = diff.markdown();
    assert!(markdown.contains("| Matrix multiplication | Rust | rewritten |"));
    let place = |text: &str, words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("{words}: {text}"))
    };
    for text in [&markdown, &diff.text()] {
        let answer = place(
            text,
            "Matrix multiplication, Rust: kernel time faster, -69.1%; event span faster, ",
        );
        assert!(place(text, "In all") < answer && answer < place(text, "What changed"));
        assert!(place(text, "What changed") < place(text, "Kernel time, microseconds"));
        assert!(
            !text.contains("Bias + GELU, Rust: "),
            "a control has no winner"
        );
    }
    let json = diff.json().unwrap();
    assert!(place(&json, "\"verdicts\"") < place(&json, "\"causes\""));
}

/// What the original project's files have, and only that: no schema version, no provenance, no variant, GPU
/// states as text, launches as quotients, fields that we do not know.
fn foreign(namespace: &str, to: &Path) {
    let read =
        |file: &str| -> Value { store::read_json(&directory(namespace).join(file)).unwrap() };
    let mut results = read(results::FILE);
    let object = results.as_object_mut().unwrap();
    object.remove("schema_version");
    object.remove("provenance");
    object.insert("gpu_state_before".into(), "2520 MHz, 61 C".into());
    object.insert(
        "gpu_state_after".into(),
        serde_json::json!({"pstate": "P0"}),
    );
    object.insert("extra".into(), Value::Null);
    object.insert(
        "source_sha256".into(),
        serde_json::json!({
            "examples/oxide/comparison.py": "a".repeat(64),
            "examples/oxide/src/main.rs": namespace,
        }),
    );
    for op in results["results"].as_array_mut().unwrap() {
        for round in op["rounds"].as_array_mut().unwrap() {
            round["gpu_state"] = "61 C".into();
            for (_, case) in round["implementations"].as_object_mut().unwrap() {
                let case = case.as_object_mut().unwrap();
                case.remove("kernel");
                case["correctness"]
                    .as_object_mut()
                    .unwrap()
                    .remove("max_abs_error_fp64");
            }
        }
    }
    let mut profiles = read(profiles::FILE);
    let object = profiles.as_object_mut().unwrap();
    object.remove("schema_version");
    object.remove("provenance");
    for capture in profiles["captures"].as_array_mut().unwrap() {
        capture["launches"] = Value::from(capture["launches"].as_f64().unwrap());
        capture.as_object_mut().unwrap().remove("kernel_time_us");
    }
    for (file, value) in [(results::FILE, &results), (profiles::FILE, &profiles)] {
        std::fs::write(to.join(file), value.to_string()).unwrap();
    }
}

#[test]
fn another_programs_evidence_is_read_and_judged() {
    let directories = ["mage-001", "mage-002"].map(|namespace| {
        let directory = tempfile::tempdir().unwrap();
        foreign(namespace, directory.path());
        directory
    });
    let [a, b] = directories
        .each_ref()
        .map(|directory| Side::read("theirs", directory.path()).unwrap());
    let diff = diff(&a, &b, MARGIN).unwrap();
    assert_eq!(
        status(&diff, Operation::Matmul, "rust"),
        (Status::Rewritten, Basis::Rows)
    );
    assert_eq!(
        status(&diff, Operation::Gelu, "rust"),
        (Status::Control, Basis::Rows)
    );
    assert_eq!(
        status(&diff, Operation::Gelu, "triton"),
        (Status::Control, Basis::Hashes)
    );
    let kernel = verdict(&diff, Operation::Matmul, "rust", Quantity::KernelTime);
    assert_eq!(kernel, Verdict::Faster);
}

#[test]
fn our_own_evidence_is_not_read_leniently() {
    let directory = tempfile::tempdir().unwrap();
    foreign("mage-002", directory.path());
    let path = directory.path().join(results::FILE);
    let text = store::read_text(&path).unwrap();
    let versioned = text.replacen('{', "{\"schema_version\": \"1.0\",", 1);
    std::fs::write(&path, versioned).unwrap();
    let error = Side::read("x", directory.path()).unwrap_err().to_string();
    assert!(error.contains("gpu_state_before: found"), "{error}");
}
