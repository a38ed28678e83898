//! A ladder beside the committed artifacts of a namespace: the evidence that it gives, what is refused, and what the
//! checker finds. The ladder's times are hand-made.
#![allow(clippy::unwrap_used, reason = "test")]

use mage_evidence::ladder::Ladder;
use mage_evidence::operation::Operation;
use mage_export::verify::{Kind, Report, verify, verify_all};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const NAMESPACE: &str = "mage-001";
const EVIDENCE: &str = "docs/assets/results/mage-001/comparison-ladder.json";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        match path.is_dir() {
            true if name == "inputs" => {}
            true => copy_all(&path, &to.join(name)),
            false => drop(std::fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn write(path: &Path, value: &Value) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, mage_evidence::store::to_json(value).unwrap()).unwrap();
}

/// Nanoseconds of one call of each arm in each of three captures, and what the arm is.
const NORM: [(&str, Option<&str>, &str, [u64; 3]); 4] = [
    ("layer_norm", None, "retained", [14_000, 14_100, 14_050]),
    (
        "layer_norm_warp",
        Some("layer_norm"),
        "retained",
        [6300, 6310, 6290],
    ),
    (
        "layer_norm_tile",
        Some("layer_norm_warp"),
        "rejected",
        [12_600, 12_640, 12_610],
    ),
    (
        "copy_norm",
        Some("layer_norm_warp"),
        "twin",
        [4410, 4420, 4400],
    ),
];
const CALLS: usize = 4;

/// The copied artifacts of a namespace, and a ladder of its layer normalisation.
fn copied() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for part in [
        "artifacts/mage-001-kernels",
        "artifacts/mage-001-kernels-nsys",
        "artifacts/mage-001-kernels-ncu",
        "docs/assets/results/mage-001",
        "experiments",
    ] {
        copy_all(&root().join(part), &copy.path().join(part));
    }
    let run = read(&copy.path().join("artifacts/mage-001-kernels/run.json"));
    let samples = read(
        &copy
            .path()
            .join("artifacts/mage-001-kernels/samples/layernorm.json"),
    );
    let ladder = copy.path().join("artifacts/mage-001-ladder");
    write(
        &ladder.join("ladder.json"),
        &json!({
            "schema": "mage.ladder/1",
            "namespace": run["namespace"],
            "experiment": run["experiment"],
            "experiment_sha256": run["experiment_sha256"],
            "started": "2026-11-29T20:00:00Z",
            "finished": "2026-11-29T20:01:00Z",
            "command": ["mage-profile", "ladder"],
            "captures": 3,
            "iterations": CALLS,
            "warmup": 25,
            "operations": ["layernorm"],
            "profiler": "a hand-made ladder",
            "build": run["build"],
            "target_sha256": run["build"]["binary_sha256"],
        }),
    );
    let objects = run["build"]["objects_sha256"].as_object().unwrap();
    let elements: u64 = samples["dims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d.as_u64().unwrap())
        .product();
    for k in 0..3 {
        let steps: Vec<Value> = NORM
            .iter()
            .zip(objects)
            .map(|((id, parent, status, _), (object, sha256))| {
                let mut variant = json!({"id": id});
                if let Some(parent) = parent {
                    variant["parent"] = json!(parent);
                }
                for (key, value) in [
                    ("introduced", "mage-001"),
                    ("status", status),
                    ("summary", "Does it."),
                    ("changed", "Something."),
                    ("expected", "Less time."),
                    ("object", object),
                    ("object_sha256", sha256.as_str().unwrap()),
                ] {
                    variant[key] = json!(value);
                }
                let mut step = json!({"variant": variant});
                if *status != "twin" {
                    let fp64 =
                        json!({"max_abs_error": 1e-6 * (k + 1) as f64, "max_error_share": 0.01});
                    step["check"] = json!({"checked_elements": elements, "fp64": fp64});
                }
                step
            })
            .collect();
        let launch = |name: &str, ns: u64| {
            json!([{
                "name": name, "grid": [512, 1, 1], "block": [256, 1, 1], "registers": 40,
                "static_shared_bytes": 0, "dynamic_shared_bytes": 64, "durations_ns": vec![ns; CALLS],
            }])
        };
        let mut arms = serde_json::Map::new();
        for (id, _, _, ns) in &NORM {
            arms.insert((*id).into(), launch(id, ns[k]));
        }
        arms.insert(
            "layer_norm.again".into(),
            launch("layer_norm", [14_020, 14_080, 14_070][k]),
        );
        let order: Vec<&String> = arms.keys().collect();
        let capture = json!({
            "schema": "mage.ladder-capture/1",
            "index": k + 1,
            "iterations": CALLS,
            "warmup": 25,
            "commands": [["nsys", "profile"], ["mage-harness", "ladder"], ["nsys", "export"]],
            "answer": {
                "operation": "layernorm",
                "dims": samples["dims"],
                "variant": "layer_norm",
                "tolerance": run["tolerance"],
                "input_sha256": samples["input_sha256"],
                "order": order,
                "turns": 2,
                "device": run["device"],
                "gpu_state_before": run["gpu_state_before"],
                "gpu_state_after": run["gpu_state_after"],
                "steps": steps,
                "left_out": [],
            },
            "arms": arms,
        });
        write(
            &ladder.join(format!("captures/layernorm-{}.json", k + 1)),
            &capture,
        );
    }
    copy
}

/// The same with its evidence.
fn exported() -> tempfile::TempDir {
    let copy = copied();
    let files = mage_export::evidence(copy.path(), NAMESPACE).unwrap();
    mage_export::write(copy.path(), &files).unwrap();
    copy
}

fn change(root: &Path, file: &str, edit: impl FnOnce(&mut Value)) {
    let path = root.join("artifacts/mage-001-ladder").join(file);
    let mut value = read(&path);
    edit(&mut value);
    write(&path, &value);
}

fn kinds(report: &Report, file: &str) -> Vec<Kind> {
    let of_file = report.findings.iter().filter(|f| f.file == Path::new(file));
    of_file.map(|f| f.kind).collect()
}

/// The one file of the ladder.
fn of_ladder(files: &[mage_export::File]) -> Ladder {
    let mut ladders = files
        .iter()
        .filter(|file| file.path.ends_with(mage_evidence::ladder::FILE));
    let ladder = serde_json::from_str(&ladders.next().unwrap().text).unwrap();
    assert_eq!(ladders.next(), None);
    ladder
}

fn verified(root: &Path) -> Report {
    verify(root, &[NAMESPACE.to_string()]).unwrap()
}

#[test]
fn a_ladder_is_a_file_of_its_own_and_is_proved() {
    let copy = exported();
    let files = mage_export::evidence(copy.path(), NAMESPACE).unwrap();
    mage_export::check(copy.path(), &files).unwrap();
    let ladder = of_ladder(&files);
    ladder.check().unwrap();
    let norm = ladder.operation(Operation::LayerNorm).unwrap();
    let warp = norm.step("layer_norm_warp").unwrap();
    assert_eq!(
        warp.kernel_time.as_ref().unwrap().captures_us,
        [6.3, 6.31, 6.29]
    );
    assert_eq!(warp.to_parent.as_ref().unwrap().verdict, "faster");
    assert_eq!(
        warp.check.as_ref().unwrap().fp64.max_abs_error,
        3e-6,
        "the worst capture"
    );
    let resources = warp.resources.unwrap();
    assert_eq!(
        (resources.blocks, resources.threads, resources.registers),
        (512, 256, 40)
    );
    let by_hand = ((4410f64 / 6300.0) * (4420.0 / 6310.0) * (4400.0 / 6290.0)).cbrt();
    assert!((warp.limits[0].share - by_hand).abs() < 1e-6);
    let tile = norm.step("layer_norm_tile").unwrap();
    assert!(
        tile.cause
            .as_ref()
            .unwrap()
            .starts_with("slower than layer_norm_warp")
    );
    assert!(norm.step("copy_norm").unwrap().check.is_none());
    let report = verify_all(copy.path()).unwrap();
    assert!(
        report.findings.iter().all(|f| f.kind != Kind::Extra),
        "{report}"
    );
    let report = verified(copy.path());
    assert!(report.is_valid(), "{report}");
    // Its sources are asked for; neither they nor the commit are in this copy.
    let asked = "mage-001-ladder/ladder.json: ";
    assert!(
        report.notes.iter().any(|note| note.contains(asked)),
        "{report}"
    );
    let without = verify(&root(), &[NAMESPACE.to_string()]).unwrap();
    let (with, without) = (report.proved[NAMESPACE], without.proved[NAMESPACE]);
    assert_eq!(
        with.files - without.files,
        1 + 3 + 1,
        "ladder.json, captures, evidence"
    );
    assert_eq!(with.checks - without.checks, 3 * 3);
    assert_eq!(with.kernels - without.kernels, 4 * CALLS * 3);
    assert!(with.numbers > without.numbers + 50, "{with:?}");
}

/// It is a session of its own: by a later program that has one more variant, on another card of the model.
#[test]
fn a_ladder_may_be_of_another_session() {
    let copy = copied();
    change(copy.path(), "ladder.json", |v| {
        v["target_sha256"] = json!("0".repeat(64));
        v["build"]["objects_sha256"]["copy_norm_later.sm_80.ptx"] = json!("0".repeat(64));
    });
    for index in 1..=3 {
        let capture = format!("captures/layernorm-{index}.json");
        change(copy.path(), &capture, |v| {
            v["answer"]["device"]["uuid"] = json!("GPU-0");
            let variant = &mut v["answer"]["steps"][3]["variant"];
            variant["object"] = json!("copy_norm_later.sm_80.ptx");
            variant["object_sha256"] = json!("0".repeat(64));
        });
    }
    let files = mage_export::evidence(copy.path(), NAMESPACE).unwrap();
    mage_export::write(copy.path(), &files).unwrap();
    let device = of_ladder(&files).provenance.device;
    assert_eq!(device.uuid.as_deref(), Some("GPU-0"));
    let report = verified(copy.path());
    assert!(report.is_valid(), "{report}");
    // But of one card in itself.
    change(copy.path(), "captures/layernorm-2.json", |v| {
        v["answer"]["device"]["uuid"] = json!("GPU-1");
    });
    let error = mage_export::evidence(copy.path(), NAMESPACE).unwrap_err();
    let expected = "device.uuid: found GPU-1, expected GPU-0 as in the captures before";
    assert!(format!("{error:#}").contains(expected), "{error:#}");
}

/// A check that fails in one of three captures leaves no time, and what was made from the variant no ratio.
#[test]
fn a_variant_that_failed_once_has_no_time() {
    let copy = copied();
    change(copy.path(), "captures/layernorm-2.json", |v| {
        let step = v["answer"]["steps"][1].as_object_mut().unwrap();
        step.shift_remove("check");
        step.insert("failed".into(), json!("element 7 is NaN"));
        v["arms"]
            .as_object_mut()
            .unwrap()
            .shift_remove("layer_norm_warp");
        let order = v["answer"]["order"].as_array_mut().unwrap();
        order.retain(|arm| arm != "layer_norm_warp");
    });
    let files = mage_export::evidence(copy.path(), NAMESPACE).unwrap();
    mage_export::write(copy.path(), &files).unwrap();
    let ladder = of_ladder(&files);
    let norm = ladder.operation(Operation::LayerNorm).unwrap();
    let warp = norm.step("layer_norm_warp").unwrap();
    assert_eq!(warp.failed.as_deref(), Some("element 7 is NaN"));
    assert!(warp.kernel_time.is_none() && warp.check.is_none() && warp.limits.is_empty());
    let tile = norm.step("layer_norm_tile").unwrap();
    assert!(tile.kernel_time.is_some() && tile.to_parent.is_none());
    let report = verified(copy.path());
    assert!(report.is_valid(), "{report}");
}

/// Each tampering with one artifact, and what the refusal must say.
#[test]
fn a_ladder_of_something_else_is_refused() {
    type Edit = fn(&mut Value);
    let capture = "captures/layernorm-1.json";
    let cases: [(&str, Edit, &[&str]); 14] = [
        (
            "ladder.json",
            |v| v["namespace"] = json!("x"),
            &["namespace", "\"x\""],
        ),
        (
            "ladder.json",
            |v| v["experiment_sha256"] = json!("0"),
            &["experiment_sha256"],
        ),
        (
            "ladder.json",
            |v| v["captures"] = json!(2),
            &["layernorm-3.json", "no record names"],
        ),
        (
            "ladder.json",
            |v| v["captures"] = json!(4),
            &["layernorm-4.json: cannot read"],
        ),
        (
            "ladder.json",
            |v| v["warmup"] = json!(3),
            &["layernorm-1.json: warmup"],
        ),
        (
            capture,
            |v| v["schema"] = json!("mage.ladder-capture/2"),
            &["schema", "/1"],
        ),
        (
            capture,
            |v| v["answer"]["device"]["driver"] = json!("1.2"),
            &["device", "one kind"],
        ),
        (
            capture,
            |v| v["answer"]["tolerance"]["rtol"] = json!(0.5),
            &["tolerance"],
        ),
        (
            capture,
            |v| v["answer"]["input_sha256"]["a.bin"] = json!("0"),
            &["input_sha256"],
        ),
        (
            capture,
            |v| v["answer"]["steps"][0]["variant"]["object_sha256"] = json!("0".repeat(64)),
            &["layernorm-1.json", ".ptx", "00000"],
        ),
        (
            capture,
            |v| v["answer"]["steps"][3]["variant"]["object"] = json!("later.sm_80.ptx"),
            &[
                "later.sm_80.ptx",
                "no such object",
                "as ladder.json records",
            ],
        ),
        (
            capture,
            |v| v["answer"]["steps"][0]["variant"]["summary"] = json!("Another."),
            &["capture 2 of other variants"],
        ),
        (
            capture,
            |v| v["arms"]["layer_norm"][0]["registers"] = json!(41),
            &["layer_norm", "launches"],
        ),
        (capture, |v| v["answer"]["turns"] = json!(5), &["turns"]),
    ];
    for (file, edit, expected) in cases {
        let copy = copied();
        change(copy.path(), file, edit);
        let error = format!(
            "{:#}",
            mage_export::evidence(copy.path(), NAMESPACE).unwrap_err()
        );
        for part in expected {
            assert!(error.contains(part), "{file}: {part}: {error}");
        }
    }
}

/// Bytes at the beginning, the end and between, of every file of the ladder.
#[test]
fn any_flipped_byte_is_found_and_named() {
    let copy = exported();
    let mut files = vec![
        EVIDENCE.to_string(),
        "artifacts/mage-001-ladder/ladder.json".into(),
    ];
    files.extend((1..=3).map(|k| format!("artifacts/mage-001-ladder/captures/layernorm-{k}.json")));
    for (i, file) in files.iter().enumerate() {
        let path = copy.path().join(file);
        let whole = std::fs::read(&path).unwrap();
        for (k, place) in [
            0,
            whole.len() - 1,
            (i + 1) * 7919 % whole.len(),
            whole.len() / (i + 2),
        ]
        .into_iter()
        .enumerate()
        {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << ((i + k) % 7);
            std::fs::write(&path, &bytes).unwrap();
            let report = verified(copy.path());
            assert!(
                !kinds(&report, file).is_empty(),
                "{file}: byte {place}: {report}"
            );
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            kinds(&verified(copy.path()), file),
            [Kind::Missing],
            "{file}"
        );
        std::fs::write(&path, &whole).unwrap();
    }
    assert!(verified(copy.path()).is_valid());
    std::fs::write(
        copy.path().join("artifacts/mage-001-ladder/more.json"),
        "{}",
    )
    .unwrap();
    assert_eq!(
        kinds(
            &verified(copy.path()),
            "artifacts/mage-001-ladder/more.json"
        )[0],
        Kind::Extra
    );
}

/// Each published number, changed in the evidence alone: it is located, not only noticed.
#[test]
fn a_changed_number_is_located() {
    let copy = exported();
    let path = copy.path().join(EVIDENCE);
    let whole = read(&path);
    for pointer in [
        "/iterations",
        "/operations/0/again/captures_us/1",
        "/operations/0/again/ratio",
        "/operations/0/again/floor_percent",
        "/operations/0/steps/1/kernel_time/mean_us",
        "/operations/0/steps/1/kernel_time/min_us",
        "/operations/0/steps/1/kernel_time/captures_us/0",
        "/operations/0/steps/1/resources/registers",
        "/operations/0/steps/1/check/fp64/max_error_share",
        "/operations/0/steps/1/to_parent/ratio",
        "/operations/0/steps/1/to_parent/low",
        "/operations/0/steps/1/to_parent/high",
        "/operations/0/steps/1/limits/0/share",
        "/operations/0/steps/1/limits/0/low",
    ] {
        let mut value = whole.clone();
        let place = value.pointer_mut(pointer).unwrap();
        *place = match place.as_u64() {
            Some(number) => json!(number + 1),
            None => json!(place.as_f64().unwrap() + 0.0001),
        };
        write(&path, &value);
        let report = verified(copy.path());
        assert!(
            kinds(&report, EVIDENCE).contains(&Kind::Number),
            "{pointer}: {report}"
        );
    }
    let mut value = whole;
    value["operations"][0]["steps"][2]["to_parent"]["verdict"] = json!("faster");
    write(&path, &value);
    let report = verified(copy.path());
    assert!(
        report
            .to_string()
            .contains("to_parent.verdict: found \"faster\", expected \"slower\""),
        "{report}"
    );
}
