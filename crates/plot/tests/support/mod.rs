//! A workspace root made in code: specs, published values and plausible evidence. Test data only: samples
//! are synthetic, and their means are the published values.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "test data")]

use indexmap::IndexMap;
use mage_evidence::artifact::{Device, GpuState, Host, SourceTree, Tf32, TreeState};
use mage_evidence::operation::Operation;
use mage_evidence::profiles::{self, CaptureResults, KernelMetric, Profiles};
use mage_evidence::published::{Published, Values};
use mage_evidence::results::{
    self, CaseResults, Correctness, InputHashes, OperationResults, Provenance, Results,
    RoundResults,
};
use mage_evidence::store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const ROUNDS: u32 = 3;
pub const ITERATIONS: u32 = 4;

pub struct Case {
    pub op: Operation,
    pub dims: Vec<u32>,
    pub values: IndexMap<String, Values>,
    pub variant: &'static str,
}

pub struct Evidence {
    pub results: Results,
    pub profiles: Profiles,
}

/// The published values of `mage-001` or `mage-002`.
pub fn published(name: &str) -> Published {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/published");
    Published::read(&path.join(format!("{name}.json"))).unwrap()
}

/// Cases of the published values, each time made `scale` of it.
pub fn cases(name: &str, scale: impl Fn(Operation, &str) -> f64) -> Vec<Case> {
    let first = name == "mage-001";
    published(name)
        .rows
        .into_iter()
        .map(|row| {
            let values = row.measurements.into_iter().map(|(implementation, v)| {
                let s = scale(row.op, &implementation);
                let scaled = Values {
                    event: v.event * s,
                    event_min: v.event_min * s,
                    event_max: v.event_max * s,
                    kernel: v.kernel * s,
                    launches: v.launches,
                };
                (implementation, scaled)
            });
            Case {
                op: row.op,
                dims: row.dims,
                values: values.collect(),
                variant: match (row.op, first) {
                    (Operation::Matmul, true) => "tiled_matmul",
                    (Operation::Matmul, false) => "tiled_matmul_registers",
                    (Operation::LayerNorm, true) => "layer_norm",
                    (Operation::LayerNorm, false) => "layer_norm_warp",
                    (Operation::Gelu, _) => "bias_gelu",
                    (Operation::Triangle, _) => "triangle",
                    (Operation::Neighbor, _) => "neighbor",
                },
            }
        })
        .collect()
}

/// The five operations, each with these values.
pub fn same(all: &IndexMap<String, Values>) -> Vec<Case> {
    let operations = cases("mage-002", |_, _| 1.0).into_iter();
    let with = |case: Case| Case {
        values: all.clone(),
        ..case
    };
    operations.map(with).collect()
}

pub fn values(event: f64, kernel: f64, launches: u32) -> Values {
    Values {
        event,
        event_min: event * 0.95,
        event_max: event * 1.05,
        kernel,
        launches,
    }
}

fn state() -> GpuState {
    GpuState {
        sm_clock_mhz: 1980,
        memory_clock_mhz: 3201,
        temperature_c: 40,
        power_w: 120.0,
        throttle_reasons: Vec::new(),
    }
}

fn hash() -> String {
    "0".repeat(64)
}

/// Round means whose smallest and largest are the given range, and whose mean is the given mean.
fn round_means(v: &Values) -> [f64; 3] {
    let middle = 3.0 * v.event - v.event_min - v.event_max;
    let middle = if middle > 0.0 { middle } else { v.event };
    [v.event_max, middle, v.event_min]
}

fn case(
    v: &Values,
    round: usize,
    op: Operation,
    dims: &[u32],
    kernel: Option<String>,
) -> CaseResults {
    let mean = round_means(v)[round];
    let samples: Vec<f64> = [-0.02, 0.01, 0.03, -0.02].map(|d| mean * (1.0 + d)).into();
    CaseResults {
        kernel,
        event_mean_us: samples.iter().sum::<f64>() / samples.len() as f64,
        event_median_us: mean * 0.995,
        samples_us: samples,
        warmup: 25,
        iterations: ITERATIONS,
        correctness: Correctness {
            passed: true,
            max_abs_error: 1e-6,
            max_abs_error_fp64: Some(1e-6),
            max_error_share: Some(0.01),
            rtol: 1e-4,
            atol: 1e-4,
            checked_elements: op.output_elements(dims) as u64,
        },
    }
}

pub fn evidence(
    namespace: &str,
    experiment: &str,
    gpu: &str,
    cases: &[Case],
    captures: u32,
) -> Evidence {
    let results = cases.iter().map(|c| OperationResults {
        op: c.op,
        dims: c.dims.clone(),
        input_hashes: InputHashes {
            seed: 20_260_910,
            sha256: BTreeMap::new(),
        },
        unavailable: BTreeMap::new(),
        choices: BTreeMap::new(),
        precision: BTreeMap::new(),
        rounds: (0..ROUNDS)
            .map(|round| RoundResults {
                index: round + 1,
                order: c.values.keys().cloned().collect(),
                gpu_state: state().into(),
                implementations: c
                    .values
                    .iter()
                    .map(|(name, v)| {
                        let kernel = (name == "rust").then(|| c.variant.to_string());
                        (name.clone(), case(v, round as usize, c.op, &c.dims, kernel))
                    })
                    .collect(),
            })
            .collect(),
    });
    let profiles = cases.iter().flat_map(|c| {
        c.values.iter().flat_map(move |(name, v)| {
            (0..captures).map(move |i| capture(c.op, name, v, i, captures))
        })
    });
    Evidence {
        results: Results {
            experiment_id: format!("{experiment}-comparison"),
            schema_version: Some(results::SCHEMA_VERSION.to_string()),
            utc: "2026-09-10T12:00:00Z".to_string(),
            gpu: gpu.to_string(),
            torch: Some("2.9.0".to_string()),
            triton: Some("3.5.0".to_string()),
            cuda: Some("12.8".to_string()),
            python: Some("3.11.7".to_string()),
            platform: "Linux".to_string(),
            precision: "IEEE FP32, TF32 off".to_string(),
            timing: "CUDA event span of one call".to_string(),
            excluded: Vec::new(),
            rounds: ROUNDS,
            iterations_per_round: ITERATIONS,
            warmup_per_round: 25,
            source_sha256: BTreeMap::new(),
            binary_sha256: hash(),
            gpu_state_before: state().into(),
            gpu_state_after: state().into(),
            provenance: Some(provenance(namespace, experiment, gpu)),
            results: results.collect(),
        },
        profiles: Profiles {
            experiment_id: format!("{experiment}-comparison"),
            schema_version: Some(results::SCHEMA_VERSION.to_string()),
            backend: "Nsight Systems".to_string(),
            timestamp_mode: "GPU timestamps".to_string(),
            timing: "sum of kernel durations / iterations".to_string(),
            provenance: None,
            captures: profiles.collect(),
        },
    }
}

fn provenance(namespace: &str, experiment: &str, gpu: &str) -> Provenance {
    Provenance {
        namespace: namespace.to_string(),
        experiment: experiment.to_string(),
        experiment_sha256: hash(),
        started: "2026-09-10T11:58:00Z".to_string(),
        command: vec!["mage-harness".to_string(), "run".to_string()],
        resumed: Vec::new(),
        host: Host {
            platform: "Linux 6.8".to_string(),
            processor: "Some processor".to_string(),
            logical_processors: 16,
        },
        device: Device {
            name: gpu.to_string(),
            compute_capability: "9.0".to_string(),
            multiprocessors: 132,
            memory_bytes: 150_000_000_000,
            l2_bytes: 62_914_560,
            max_sm_clock_mhz: 1980,
            max_memory_clock_mhz: 3201,
            memory_bus_bits: 6144,
            driver: "580.95.05".to_string(),
            cuda_driver: "13.0".to_string(),
            uuid: None,
        },
        tf32: Some(Tf32 {
            matmul_allow_tf32: false,
            cudnn_allow_tf32: false,
            float32_matmul_precision: "highest".to_string(),
        }),
        python_packages: BTreeMap::new(),
        tree: SourceTree {
            state: TreeState::Clean,
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_string()),
            difference_sha256: None,
        },
        lock_file_sha256: hash(),
        objects_sha256: BTreeMap::new(),
        artifacts_sha256: BTreeMap::new(),
    }
}

/// Capture `index` of `of`: several spread by 4 % around the mean.
fn capture(op: Operation, name: &str, v: &Values, index: u32, of: u32) -> CaptureResults {
    let spread = match of {
        1 => 0.0,
        n => 0.04 * (f64::from(index) / f64::from(n - 1) - 0.5) * 2.0,
    };
    let iterations = 2;
    let row = KernelMetric {
        kernel_name: format!("{op}_kernel"),
        duration_us: v.kernel * (1.0 + spread) / f64::from(v.launches),
        grid_size: "256,1,1".to_string(),
        block_size: "256,1,1".to_string(),
        registers_per_thread: 40,
        shared_mem_bytes: 0,
        dynamic_shared_mem_bytes: None,
    };
    CaptureResults {
        operation: op,
        language: name.to_string(),
        backend: "nsys".to_string(),
        launches: v.launches,
        requested_iterations: iterations,
        kernel_names: vec![row.kernel_name.clone()],
        session_id: format!("{op}-{name}-{}", index + 1),
        report_dir: format!("captures/{op}-{index}.json"),
        status: "passed".to_string(),
        config: None,
        notes: Vec::new(),
        kernel_time_us: None,
        kernel_metrics: vec![row; (v.launches * iterations) as usize],
    }
}

/// A workspace root that goes away with it.
pub struct Root {
    directory: tempfile::TempDir,
}

impl Root {
    pub fn new() -> Self {
        let root = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::write(root.path().join("Cargo.lock"), "").unwrap();
        let published = root.path().join("experiments/published");
        std::fs::create_dir_all(&published).unwrap();
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/published");
        for name in ["mage-001.json", "mage-002.json"] {
            std::fs::copy(ours.join(name), published.join(name)).unwrap();
        }
        root.spec("mage-001", "published = \"published/mage-001.json\"");
        root.spec(
            "mage-002",
            "baseline = \"mage-001\"\npublished = \"published/mage-002.json\"",
        );
        root
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn spec(&self, name: &str, keys: &str) {
        let hash = hash();
        let text = format!(
            r#"name = "{name}"
title = "Keeping values close to the arithmetic"
{keys}
seed = 20260910
implementations = ["python", "triton", "rust"]
[protocol]
rounds = 3
iterations = 100
warmup = 25
captures = 1
capture_iterations = 100
[tolerance]
rtol = 1e-4
atol = 1e-4
[words]
summary = "Two Rust kernels are *rewritten* so that values stay in registers; the other three are controls."
kernel_time = "Kernel time comes from its own run under the profiler."
event_span = "A span can include gaps while the host submits work."
launches = "One kernel a custom operation."
improvements = "`layer_norm_warp` and `tiled_matmul_registers` replace the kernels of mage-001."
limits = "- One machine.\n- Five fixed shapes."
[[operations]]
name = "gelu"
dims = [4096, 768]
variant = "bias_gelu"
sha256 = {{ "a.bin" = "{hash}", "b.bin" = "{hash}" }}
"#
        );
        std::fs::write(self.path().join(format!("experiments/{name}.toml")), text).unwrap();
    }

    /// Every file of the root, relative to it.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.path().to_path_buf()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    found.push(path.strip_prefix(self.path()).unwrap().to_path_buf());
                }
            }
        }
        found
    }

    pub fn results_file(&self, namespace: &str) -> PathBuf {
        self.path()
            .join("docs/assets/results")
            .join(namespace)
            .join(results::FILE)
    }

    pub fn profiles_file(&self, namespace: &str) -> PathBuf {
        self.results_file(namespace).with_file_name(profiles::FILE)
    }

    pub fn store(&self, namespace: &str, evidence: &Evidence) {
        store::write_json(&self.results_file(namespace), &evidence.results).unwrap();
        store::write_json(&self.profiles_file(namespace), &evidence.profiles).unwrap();
    }

    /// Both experiments on one GPU, like the published values but not the same.
    pub fn with_both() -> Self {
        let root = Self::new();
        for name in ["mage-001", "mage-002"] {
            let cases = cases(name, |op, implementation| match (op, implementation) {
                (Operation::Matmul, "python") => 0.72,
                (Operation::Matmul, _) => 0.61,
                (Operation::Triangle, "rust") => 0.8,
                (Operation::Neighbor, "python") => 0.55,
                (_, "triton") => 0.93,
                _ => 0.66,
            });
            root.store(name, &evidence(name, name, "NVIDIA H200", &cases, 1));
        }
        root
    }

    /// The same with everything that a namespace may have: counts, claims, and the hand-made ladder and counters
    /// of the schemas' own tests.
    pub fn with_everything() -> Self {
        let root = Self::with_both();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in [
            "docs/structure/mage-002.json",
            "experiments/claims/mage-002.toml",
        ] {
            let text = store::read_text(&repository.join(file)).unwrap();
            store::write_bytes(&root.path().join(file), text.as_bytes()).unwrap();
        }
        let fixtures = repository.join("crates/evidence/tests/fixtures");
        for (file, name) in [
            (mage_evidence::ladder::FILE, "limit-000"),
            (mage_evidence::counters::FILE, "hand-made"),
        ] {
            let text = store::read_text(&fixtures.join(file)).unwrap();
            let text = text
                .replace(&format!("\"{name}\""), "\"mage-002\"")
                .replace(&format!("\"{name}-"), "\"mage-002-");
            let path = root.results_file("mage-002").with_file_name(file);
            store::write_bytes(&path, text.as_bytes()).unwrap();
        }
        root
    }
}
