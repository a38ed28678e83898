//! A namespace of six implementations, with choices, reasons for absence, a ladder and errors.
#![allow(clippy::unwrap_used, reason = "test")]

mod six;

use mage_evidence::operation::Operation;
use mage_evidence::results::Results;
use mage_export::verify::verify;
use six::NAMESPACE;

fn results(files: &[mage_export::File]) -> Results {
    let file = files
        .iter()
        .find(|f| f.path.ends_with("comparison-results.json"));
    serde_json::from_str(&file.unwrap().text).unwrap()
}

#[test]
fn the_evidence_of_six_implementations_is_made_again_and_proved() {
    let root = six::root();
    let files = mage_export::evidence(root.path(), NAMESPACE).unwrap();
    let names: Vec<&str> = files
        .iter()
        .map(|f| f.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "comparison-results.json",
            "comparison-profiles.json",
            "comparison-ladder.json",
            "comparison-errors.json",
            "limit-001.md"
        ]
    );
    mage_export::write(root.path(), &files).unwrap();
    mage_export::check(root.path(), &files).unwrap();
    assert_eq!(
        mage_export::evidence(root.path(), NAMESPACE).unwrap(),
        files
    );
    let report = verify(root.path(), &[NAMESPACE.to_string()]).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn each_implementation_says_what_it_multiplies() {
    let root = six::root();
    let files = mage_export::evidence(root.path(), NAMESPACE).unwrap();
    let results = results(&files);
    assert_eq!(results.schema_version.as_deref(), Some("1.1"));
    let of = |op: Operation, name: &str| {
        let found = results.results.iter().find(|of| of.op == op).unwrap();
        found.precision.get(name).cloned().unwrap_or_default()
    };
    let bf16 =
        "three products of BF16 parts for one of FP32 (input_precision=\"bf16x3\"), summed in FP32";
    assert_eq!(of(Operation::Matmul, "triton-tuned"), bf16);
    assert_eq!(
        of(Operation::Matmul, "triton"),
        "IEEE FP32, input_precision=\"ieee\""
    );
    assert_eq!(
        of(Operation::Matmul, "rust"),
        "three products of parts for one of FP32"
    );
    assert_eq!(
        of(Operation::Matmul, "torch-compile"),
        "IEEE FP32, TF32 off; extern_kernels.mm"
    );
    assert_eq!(of(Operation::Matmul, "cusparse"), "", "it does not run");
    assert_eq!(of(Operation::Neighbor, "cusparse"), "IEEE FP32, TF32 off");
    assert_eq!(of(Operation::Gelu, "rust"), "IEEE FP32");
    let halves = "three products of BF16 halves for one of FP32, which a launch of its own makes, summed in FP32";
    assert_eq!(
        results.precision,
        format!(
            "IEEE FP32; PyTorch with TF32 off (allow_tf32 false for products and false for cuDNN, matmul precision \
             highest); input_precision=\"ieee\" in every dot of Triton; Matrix multiplication, Rust: three products of \
             parts for one of FP32; Matrix multiplication, Triton (tuned): {bf16}; Triangle contraction, Rust: three \
             products of parts for one of FP32; Triangle contraction, Triton (tuned): {halves}"
        )
    );
}

#[test]
fn errors_of_other_code_than_was_measured_are_refused() {
    let root = six::root();
    let path = root.path().join("artifacts/limit-001-errors/errors.json");
    let whole = six::read(&path);
    // Of matmul on the standard inputs: the fourth implementation chose, the sixth is Rust's.
    type Edit = fn(&mut serde_json::Value);
    let cases: [(&str, Edit); 5] = [
        ("namespace", |v| v["namespace"] = "limit-002".into()),
        ("experiment", |v| v["experiment"] = "mage-002".into()),
        ("build.objects_sha256", |v| {
            v["build"]["objects_sha256"] = serde_json::json!({});
        }),
        ("matmul standard triton-tuned: config", |v| {
            v["cases"][0]["rows"][3]["config"]["warps"] = 8.into();
        }),
        ("matmul standard rust: kernel", |v| {
            v["cases"][0]["rows"][5]["kernel"] = "tiled_matmul".into();
        }),
    ];
    for (expected, edit) in cases {
        let mut changed = whole.clone();
        edit(&mut changed);
        six::write(&path, &changed);
        let error = format!(
            "{:#}",
            mage_export::evidence(root.path(), NAMESPACE).unwrap_err()
        );
        assert!(error.contains("errors.json"), "{error}");
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
