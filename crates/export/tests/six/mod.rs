//! Artifacts of limit-001 as its measurement leaves them, made of those of mage-002 with made-up factors: six
//! implementations, one of which runs one operation alone, choices, five captures, a ladder and errors.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mage_evidence::artifact::rotated;
use mage_evidence::experiment::Experiment;
use mage_evidence::hash::sha256_hex;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The namespace.
pub const NAMESPACE: &str = "limit-001";
/// The one whose artifacts it is made of.
const FROM: &str = "mage-002";
/// Calls of an arm in a capture of the ladder.
const CALLS: usize = 10;

/// Each implementation, the one of mage-002 that its numbers are taken from, and their factor.
const PLAYED: [(&str, &str, f64); 6] = [
    ("python", "python", 1.0),
    ("torch-compile", "python", 0.75),
    ("triton", "triton", 1.0),
    ("triton-tuned", "triton", 0.5),
    ("cusparse", "python", 0.25),
    ("rust", "rust", 0.125),
];

/// Why cuSPARSE does not run an operation.
pub const REASON: &str = "cuSPARSE has no routine for it: it computes neighbor alone";

/// The workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|above| above.join("experiments/limit-001.toml").is_file())
        .unwrap()
        .to_path_buf()
}

/// A root with the experiments, their earlier evidence, and artifacts of limit-001.
pub fn root() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for part in ["experiments", "docs/assets/results", "docs/calibration"] {
        copy_all(&workspace().join(part), &copy.path().join(part));
    }
    // The committed evidence of the experiment itself gives way to what is made here.
    let own = copy.path().join("docs/assets/results").join(NAMESPACE);
    if own.is_dir() {
        std::fs::remove_dir_all(own).unwrap();
    }
    measured(copy.path());
    copy
}

/// Writes everything that is measured of limit-001 below `root`.
pub fn measured(root: &Path) {
    let from = |part: &str| workspace().join(format!("artifacts/{FROM}{part}"));
    let to = |part: &str| root.join(format!("artifacts/{NAMESPACE}{part}"));
    let experiment = Experiment::load(root, NAMESPACE).unwrap();
    let spec = std::fs::read(root.join("experiments/limit-001.toml")).unwrap();
    std::fs::create_dir_all(to("-kernels")).unwrap();
    std::fs::write(to("-kernels/experiment.toml"), &spec).unwrap();
    let own = json!({
        "namespace": NAMESPACE,
        "experiment": experiment.name,
        "experiment_sha256": sha256_hex(&spec),
        "implementations": experiment.implementations,
    });
    let mut run = changed(&read(&from("-kernels/run.json")), &own);
    run["protocol"] = json!(experiment.protocol);
    write(&to("-kernels/run.json"), &run);
    let mut profile = changed(&read(&from("-kernels-nsys/profile.json")), &own);
    profile["captures"] = json!(experiment.protocol.captures);
    write(&to("-kernels-nsys/profile.json"), &profile);
    write(&to("-ladder/ladder.json"), &ladder(&profile, &run));
    for case in &experiment.operations {
        let op = case.name.name();
        let samples = samples(
            &experiment,
            &case.variant,
            &read(&from(&format!("-kernels/samples/{op}.json"))),
        );
        write(&to(&format!("-kernels/samples/{op}.json")), &samples);
        for (name, source, factor) in PLAYED {
            if samples["unavailable"].get(name).is_some() {
                continue;
            }
            let source = from(&format!("-kernels-nsys/captures/{op}-{source}-1.json"));
            for index in 1..=experiment.protocol.captures {
                let mut capture = read(&source);
                capture["schema"] = json!("mage.capture/2");
                capture["implementation"] = json!(name);
                capture["index"] = json!(index);
                if let Some(choice) = samples["choices"].get(name) {
                    capture["config"] = choice["config"].clone();
                }
                for kernel in capture["kernels"].as_array_mut().unwrap() {
                    let ns = kernel["duration_ns"].as_f64().unwrap() * factor;
                    kernel["duration_ns"] = json!((ns + f64::from(index)).round() as u64);
                    if name == "rust" {
                        kernel["name"] = json!(case.variant);
                    }
                }
                if name == "rust" {
                    capture["variant"] = json!(case.variant);
                }
                let file = format!("-kernels-nsys/captures/{op}-{name}-{index}.json");
                write(&to(&file), &capture);
            }
        }
        for index in 1..=experiment.ladder.unwrap().captures {
            let capture = climbed(&run, &samples, &case.variant, index);
            write(
                &to(&format!("-ladder/captures/{op}-{index}.json")),
                &capture,
            );
        }
    }
    write(&to("-errors/errors.json"), &errors(&run, &experiment));
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        match path.is_dir() {
            true => copy_all(&path, &to.join(name)),
            false => drop(std::fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

/// Reads JSON.
pub fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Writes JSON as everything here does.
pub fn write(path: &Path, value: &Value) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, mage_evidence::store::to_json(value).unwrap()).unwrap();
}

fn changed(record: &Value, own: &Value) -> Value {
    let mut record = record.clone();
    for (key, value) in own.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

/// What `triton-tuned` and `torch-compile` chose.
fn choices(op: &str) -> Value {
    let tuned = match op {
        "matmul" => json!({"form": "direct", "precision": "bf16x3", "warps": 4}),
        "triangle" => json!({"form": "split", "warps": 4}),
        _ => json!({"form": "rows", "warps": 4}),
    };
    let compiled = json!({
        "mode": "max-autotune-no-cudagraphs",
        "emitted": {"kernels": [], "library_calls": ["extern_kernels.mm"]},
    });
    let slower = json!({"form": "direct", "warps": 8});
    json!({
        "torch-compile": {"config": compiled},
        "triton-tuned": {
            "config": tuned,
            "how": "made up",
            "candidates": [
                {"config": tuned, "outcome": "passes", "max_abs_error": 1e-6, "time_us": 1.0, "final_us": 1.0},
                {"config": slower, "outcome": "passes", "max_abs_error": 1e-6, "time_us": 2.0, "final_us": 2.0},
            ],
        },
    })
}

fn samples(experiment: &Experiment, variant: &str, from: &Value) -> Value {
    let op = from["operation"].as_str().unwrap();
    let mut samples = from.clone();
    samples["schema"] = json!("mage.samples/2");
    samples["choices"] = choices(op);
    let mut names = experiment.implementations.clone();
    if op != "neighbor" {
        samples["unavailable"] = json!({"cusparse": REASON});
        names.retain(|name| name != "cusparse");
    }
    if op == "matmul" || op == "triangle" {
        samples["products"] = json!({"rust": "three products of parts for one of FP32"});
    }
    let rounds = (0..experiment.protocol.rounds as usize).map(|index| {
        let mut round = from["rounds"][index % 3].clone();
        round["index"] = json!(index + 1);
        let mut implementations = Map::new();
        for name in rotated(&names, index) {
            let (_, source, factor) = PLAYED.into_iter().find(|(n, ..)| *n == name).unwrap();
            let mut case = round["implementations"][source].clone();
            for us in case["samples_us"].as_array_mut().unwrap() {
                *us = json!(us.as_f64().unwrap() * factor);
            }
            if name == "rust" {
                case["kernel"] = json!(variant);
            }
            implementations.insert(name.into(), case);
        }
        round["implementations"] = implementations.into();
        round
    });
    samples["rounds"] = rounds.collect();
    samples
}

fn ladder(profile: &Value, run: &Value) -> Value {
    let mut ladder = profile.clone();
    for key in ["implementations", "capture_iterations"] {
        ladder.as_object_mut().unwrap().remove(key);
    }
    ladder["schema"] = json!("mage.ladder/1");
    ladder["iterations"] = json!(CALLS);
    ladder["operations"] = run["operations"].clone();
    ladder
}

/// One capture of the ladder of an operation: a first kernel, one that was rejected, the experiment's own, twice, and a
/// twin of that.
fn climbed(run: &Value, samples: &Value, variant: &str, index: u32) -> Value {
    let op = samples["operation"].as_str().unwrap();
    let (first, worse, copy) = (
        format!("first_{op}"),
        format!("worse_{op}"),
        format!("copy_{op}"),
    );
    let rungs = [
        (first.as_str(), None, "retained", 40_000),
        (worse.as_str(), Some(first.as_str()), "rejected", 50_000),
        (variant, Some(first.as_str()), "retained", 5_000),
        (copy.as_str(), Some(variant), "twin", 4_000),
    ];
    let objects = run["build"]["objects_sha256"].as_object().unwrap();
    let checked = &samples["rounds"][0]["implementations"]["rust"]["check"];
    let steps = rungs
        .iter()
        .zip(objects)
        .map(|((id, parent, status, _), object)| {
            let mut variant = json!({"id": id, "introduced": NAMESPACE, "status": status});
            for (key, words) in [
                ("summary", "Does it."),
                ("changed", "Something."),
                ("expected", "Less time."),
                ("object", object.0),
                ("object_sha256", object.1.as_str().unwrap()),
            ] {
                variant[key] = json!(words);
            }
            if let Some(parent) = parent {
                variant["parent"] = json!(parent);
            }
            let mut step = json!({"variant": variant});
            if *status != "twin" {
                let (elements, fp64) = (&checked["checked_elements"], &checked["fp64"]);
                step["check"] = json!({"checked_elements": elements, "fp64": fp64});
            }
            step
        });
    let steps: Vec<Value> = steps.collect();
    let again = format!("{variant}.again");
    let mut arms = Map::new();
    for (arm, name, ns) in
        rungs
            .iter()
            .map(|(id, _, _, ns)| (*id, *id, *ns))
            .chain([(again.as_str(), variant, 5_002)])
    {
        let durations = vec![ns + 2 * u64::from(index); CALLS];
        let launch = json!({
            "name": name, "grid": [132, 1, 1], "block": [256, 1, 1], "registers": 40,
            "static_shared_bytes": 0, "dynamic_shared_bytes": 0, "durations_ns": durations,
        });
        arms.insert(arm.into(), json!([launch]));
    }
    json!({
        "schema": "mage.ladder-capture/1",
        "index": index,
        "iterations": CALLS,
        "warmup": run["protocol"]["warmup"],
        "commands": [["nsys", "profile"], ["mage-harness", "ladder"], ["nsys", "export"]],
        "answer": {
            "operation": op,
            "dims": samples["dims"],
            "variant": variant,
            "tolerance": run["tolerance"],
            "input_sha256": samples["input_sha256"],
            "order": arms.keys().collect::<Vec<_>>(),
            "turns": 10,
            "device": run["device"],
            "gpu_state_before": run["gpu_state_before"],
            "gpu_state_after": run["gpu_state_after"],
            "steps": steps,
            "left_out": [{"id": format!("wide_{op}"), "reason": "takes other dims"}],
        },
        "arms": arms,
    })
}

/// Of each operation the measured inputs, and hard ones of the same dims, on which PyTorch loses an element.
fn errors(run: &Value, experiment: &Experiment) -> Value {
    let cases = experiment.operations.iter().flat_map(|case| {
        ["standard", "wide range"].into_iter().map(move |kind| {
            let elements = case.name.output_elements(&case.dims);
            let rows = experiment.implementations.iter().map(|name| {
                let mut row = json!({"implementation": name});
                if name == "cusparse" && case.name.name() != "neighbor" {
                    row["unavailable"] = json!(REASON);
                    return row;
                }
                let own = name == "rust";
                let lost = u8::from(name == "python" && kind != "standard");
                row["error"] = json!({
                    "max_abs": if own { 1e-6 } else { 2e-6 }, "rms": if own { 2e-7 } else { 3e-7 },
                    "not_finite": lost, "elements": elements,
                });
                if own {
                    row["kernel"] = json!(case.variant);
                }
                if let Some(choice) = choices(case.name.name()).get(name) {
                    row["config"] = choice["config"].clone();
                }
                row
            });
            json!({
                "name": format!("{} {kind}", case.name), "operation": case.name, "dims": case.dims, "kind": kind,
                "input_sha256": case.sha256, "largest_expected": 30.0, "rows": rows.collect::<Vec<_>>(),
            })
        })
    });
    let mut errors = json!({"schema": "mage.errors/1", "command": ["mage-harness", "errors"]});
    for key in [
        "namespace",
        "experiment",
        "experiment_sha256",
        "started",
        "finished",
        "seed",
        "implementations",
        "host",
        "device",
        "python",
        "build",
    ] {
        errors[key] = run[key].clone();
    }
    errors["cases"] = cases.collect();
    errors
}
