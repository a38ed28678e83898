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

/// Says which card a part of the namespace is of.
fn on_card(root: &std::path::Path, file: &str, pointer: &str, uuid: &str) {
    let path = root.join(format!("artifacts/{NAMESPACE}{file}"));
    let mut record = six::read(&path);
    record.pointer_mut(pointer).unwrap()["UUID"] = uuid.into();
    let text = serde_json::to_string(&record).unwrap();
    let key = if pointer.is_empty() {
        "gpu_uuid"
    } else {
        "uuid"
    };
    let record = serde_json::from_str(&text.replace("UUID", key)).unwrap();
    six::write(&path, &record);
}

#[test]
fn a_namespace_is_of_one_card() {
    let root = six::root();
    let made = || mage_export::evidence(root.path(), NAMESPACE);
    assert!(!made().unwrap()[0].text.contains("uuid"));
    on_card(root.path(), "-kernels/run.json", "/device", "GPU-1");
    let files = made().expect("the other parts do not say which card they are of");
    let device = results(&files).provenance.unwrap().device;
    assert_eq!(device.uuid.as_deref(), Some("GPU-1"));
    for (file, pointer, field) in [
        (
            "-kernels-nsys/captures/gelu-python-2.json",
            "",
            "captures/gelu-python-2.json: gpu_uuid: ",
        ),
        (
            "-errors/errors.json",
            "/device",
            "errors.json: device.uuid: ",
        ),
    ] {
        on_card(root.path(), file, pointer, "GPU-2");
        let error = format!("{:#}", made().unwrap_err());
        let expected = format!("{field}found GPU-2, expected GPU-1, as run.json has it");
        assert!(error.contains(&expected), "{expected}: {error}");
        let report = verify(root.path(), &[NAMESPACE.to_string()]).unwrap();
        assert!(report.to_string().contains(&expected), "{report}");
        on_card(root.path(), file, pointer, "GPU-1");
    }
    made().expect("all parts are of one card");
    on_card(
        root.path(),
        "-ladder/captures/gelu-1.json",
        "/answer/device",
        "GPU-2",
    );
    made().expect("a ladder is a session of its own");
}
