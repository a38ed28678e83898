//! The counters evidence: what follows from counters, and what is refused. Every number is hand-made.

use mage_evidence::artifact::{Device, SourceTree, TreeState};
use mage_evidence::counters::{
    BoundBy, Busy, Case, Counters, FILE, Hits, Instructions, Kernel, Limit, Limits, Memory,
    Occupancy, Probe, Provenance, Rates, Reading, derive, kernel_bound, position, totals,
};
use mage_evidence::operation::Operation;
use mage_evidence::store;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn at(value: f64) -> Reading {
    Reading::Value(value)
}

/// One kernel by what matters to roofline and bound: duration, DRAM bytes read and written, bytes through L2,
/// multiply-adds, percentages of peak (DRAM, L2, L1, shared, FP32, tensor, issue), waves.
struct Row(&'static str, f64, [f64; 3], f64, [f64; 7], f64);

fn kernel(row: &Row) -> Kernel {
    let Row(name, duration_us, [read, write, l2], ffma, busy, waves) = *row;
    let [dram, l2_busy, l1, shared, fp32, tensor, issue] = busy.map(at);
    let memory = Memory {
        dram_read_bytes: at(read),
        dram_write_bytes: at(write),
        l2_bytes: at(l2),
        shared_load_conflicts: at(0.0),
        shared_store_conflicts: at(128.0),
    };
    let instructions = Instructions {
        warp_instructions: at(ffma / 16.0 + 1000.0),
        ffma: at(ffma),
        fadd: at(64.0),
        fmul: at(0.0),
        tensor_operations: Reading::absent("hand-made: this counter does not exist"),
    };
    let none = Rates {
        dram_bytes_per_s: Reading::absent("derived later"),
        l2_bytes_per_s: Reading::absent("derived later"),
        fp32_operations_per_s: Reading::absent("derived later"),
    };
    let mut kernel = Kernel {
        kernel_name: name.into(),
        grid: [64, 1, 1],
        block: [256, 1, 1],
        registers_per_thread: at(32.0),
        shared_mem_bytes: at(4096.0),
        duration_us,
        position: position(duration_us, &memory, &instructions, &none),
        memory,
        instructions,
        busy_percent: Busy {
            dram,
            l2: l2_busy,
            l1,
            shared,
            fp32,
            tensor,
            issue,
        },
        hits: Hits {
            l1_percent: at(50.0),
            l2_percent: at(90.0),
        },
        occupancy: Occupancy {
            achieved_percent: at(40.0),
            theoretical_percent: at(50.0),
            waves: at(waves),
            blocks_by: BTreeMap::from([
                ("registers".into(), at(4.0)),
                ("shared_memory".into(), at(8.0)),
                ("warps".into(), at(4.0)),
                ("blocks".into(), Reading::absent("hand-made: not said")),
            ]),
            limited_by: Vec::new(),
        },
        stall_shares: BTreeMap::from([
            ("long_scoreboard".into(), at(0.5)),
            ("barrier".into(), at(0.25)),
            ("selected".into(), at(0.25)),
            (
                "branch_resolving".into(),
                Reading::absent("hand-made: not read"),
            ),
        ]),
        bound: mage_evidence::counters::Bound {
            by: BoundBy::Unknown,
            level: at(0.0),
            duration_share: 1.0,
            because: String::new(),
        },
    };
    kernel.bound = kernel_bound(&kernel);
    kernel
}

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    use Operation::{Gelu, LayerNorm, Matmul, Neighbor, Triangle};
    let copy = |name| Row(name, 8.0, [1.2e7, 4.0e6, 2.6e7], 4.0e6, [40.0, 70.0, 30.0, 0.0, 8.0, 0.0, 35.0], 2.0);
    let product = |name| Row(name, 60.0, [8.0e6, 1.0e6, 6.0e7], 1.0737e9, [3.0, 20.0, 50.0, 45.0, 70.0, 0.0, 66.0], 1.0);
    let small = |name| Row(name, 4.0, [2.0e6, 1.0e5, 5.0e6], 1.0e6, [11.0, 15.0, 12.0, 2.0, 4.0, 0.0, 9.0], 0.5);
    let slow = |name| Row(name, 30.0, [9.0e6, 2.0e6, 3.0e7], 6.0e7, [8.0, 22.0, 30.0, 25.0, 11.0, 0.0, 28.0], 4.0);
    let conflicts = |name| Row(name, 90.0, [8.0e6, 1.0e6, 1.6e8], 1.0737e9, [2.0, 35.0, 88.0, 84.0, 40.0, 0.0, 60.0], 5.0);
    let streaming = |name| Row(name, 25.0, [5.2e7, 2.8e7, 6.0e7], 3.0e6, [75.0, 40.0, 20.0, 0.0, 2.0, 0.0, 15.0], 8.0);
    type Cases<'a> = (Operation, &'a [u32], [Vec<Row>; 3]);
    let rows: [Cases<'_>; 5] = [
        (Matmul, &[1024, 1024, 1024], [vec![product("hand_made_gemm<64, 64>")], vec![slow("hand_made_matmul")], vec![conflicts("hand_made_tiled")]]),
        (Gelu, &[4096, 768], [vec![copy("hand_made_add"), copy("hand_made_gelu")], vec![copy("hand_made_bias_gelu")], vec![copy("hand_made_bias_gelu_rust")]]),
        (LayerNorm, &[4096, 768], [vec![slow("hand_made_norm")], vec![copy("hand_made_layer_norm")], vec![streaming("hand_made_layer_norm_rust")]]),
        (Triangle, &[128, 32], [vec![small("hand_made_permute"), product("hand_made_batched"), small("hand_made_back")], vec![conflicts("hand_made_triangle")], vec![slow("hand_made_triangle_rust")]]),
        (Neighbor, &[4096, 64, 65536], [vec![small("hand_made_index"), slow("hand_made_scatter"), streaming("hand_made_fill"), small("hand_made_mul")], vec![small("hand_made_neighbor")], vec![small("hand_made_neighbor_rust")]]),
    ];
    let mut cases = Vec::new();
    for (operation, dims, implementations) in rows {
        for (implementation, rows) in ["python", "triton", "rust"].into_iter().zip(implementations) {
            let kernels: Vec<Kernel> = rows.iter().map(kernel).collect();
            let variant = (implementation == "rust").then(|| kernels[0].kernel_name.clone());
            cases.push(Case {
                operation,
                dims: dims.to_vec(),
                implementation: implementation.into(),
                variant,
                report: format!("counters/{operation}-{implementation}.json"),
                totals: totals(&kernels),
                position: kernels[0].position.clone(),
                bound: kernels[0].bound.clone(),
                kernels,
            });
        }
    }
    cases
}

fn hand_made() -> Counters {
    let probe = |limit, variant: &str, dims: &[u32], us, dram, l2, operations| Probe {
        limit,
        variant: variant.into(),
        dims: dims.to_vec(),
        duration_us: us,
        dram_bytes: at(dram),
        l2_bytes: at(l2),
        fp32_operations: at(operations),
        rate: at(0.0),
    };
    let words = "hand-made fixture: no GPU gave these numbers";
    let absent = Rates {
        dram_bytes_per_s: Reading::absent("derived"),
        l2_bytes_per_s: Reading::absent("derived"),
        fp32_operations_per_s: Reading::absent("derived"),
    };
    derive(Counters {
        experiment_id: "hand-made-comparison".into(),
        schema_version: "1.0".into(),
        backend: "Nsight Compute".into(),
        timing: words.into(),
        conditions: words.into(),
        provenance: Provenance {
            namespace: "hand-made".into(),
            experiment: "hand-made".into(),
            experiment_sha256: String::new(),
            started: "2026-01-01T00:00:00Z".into(),
            finished: "2026-01-01T00:01:00Z".into(),
            profiler: words.into(),
            command: vec!["mage-profile".into(), "counters".into()],
            warmup: 5,
            unproved: Vec::new(),
            tree: SourceTree {
                state: TreeState::Unknown,
                commit: None,
                difference_sha256: None,
            },
            target_sha256: String::new(),
            binary_sha256: String::new(),
            objects_sha256: BTreeMap::new(),
            artifacts_sha256: BTreeMap::new(),
        },
        device: Device {
            name: "Hand-made GPU".into(),
            compute_capability: "9.0".into(),
            multiprocessors: 100,
            memory_bytes: 64_000_000_000,
            l2_bytes: 50_000_000,
            max_sm_clock_mhz: 2000,
            max_memory_clock_mhz: 3000,
            memory_bus_bits: 6144,
            driver: "0.0".into(),
            cuda_driver: "0.0".into(),
            uuid: None,
        },
        limits: Limits {
            measured: absent.clone(),
            theoretical: absent,
            probes: vec![
                probe(
                    Limit::Dram,
                    "copy_a",
                    &[65536, 768],
                    100.0,
                    4.0e8,
                    4.1e8,
                    0.0,
                ),
                probe(
                    Limit::Dram,
                    "copy_b",
                    &[65536, 768],
                    110.0,
                    4.0e8,
                    4.1e8,
                    0.0,
                ),
                probe(Limit::L2, "copy_a", &[4096, 768], 5.0, 1.0e6, 2.5e7, 0.0),
                probe(
                    Limit::Fp32,
                    "multiply",
                    &[4096, 768],
                    200.0,
                    1.0e6,
                    2.0e6,
                    1.0e10,
                ),
            ],
        },
        cases: cases(),
    })
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(FILE)
}

/// With `MAGE_BLESS` set the fixture is written again.
#[test]
fn the_fixture_is_what_its_hand_made_numbers_give() {
    let made = hand_made();
    made.check().unwrap();
    if std::env::var_os("MAGE_BLESS").is_some() {
        store::write_json(&fixture(), &made).unwrap();
    }
    let text = store::read_text(&fixture()).unwrap();
    assert_eq!(text, store::to_json(&made).unwrap());
    let read: Counters = store::read_json(&fixture()).unwrap();
    read.check().unwrap();
}

#[test]
fn limits_are_the_best_probe_and_the_attributes() {
    let limits = hand_made().limits;
    let close = |reading: &Reading, expected: f64| {
        let found = reading.value().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
    };
    close(&limits.measured.dram_bytes_per_s, 4.0e12);
    close(&limits.measured.l2_bytes_per_s, 5.0e12);
    close(&limits.measured.fp32_operations_per_s, 5.0e13);
    // 3000 MHz, two transfers a clock, 768 bytes wide; 100 multiprocessors of 128 lanes at 2 GHz.
    close(&limits.theoretical.dram_bytes_per_s, 4.608e12);
    close(&limits.theoretical.fp32_operations_per_s, 5.12e13);
    assert_eq!(limits.theoretical.l2_bytes_per_s.value(), None);
    let mut device = hand_made().device;
    device.compute_capability = "99.0".into();
    let unknown = mage_evidence::counters::limits(&device, Vec::new());
    assert_eq!(unknown.theoretical.fp32_operations_per_s.value(), None);
    assert_eq!(unknown.measured.dram_bytes_per_s.value(), None);
}

#[test]
fn positions_follow_from_counts_and_durations() {
    let counters = hand_made();
    let case = counters.case(Operation::Matmul, "python").unwrap();
    let position = &case.position;
    let operations = 2.0 * 1.0737e9 + 64.0;
    let close = |reading: &Reading, expected: f64| {
        let found = reading.value().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
    };
    close(&position.fp32_operations, operations);
    close(&position.dram_intensity, operations / 9.0e6);
    close(&position.l2_intensity, operations / 6.0e7);
    close(&position.fp32_operations_per_s, operations / 60.0e-6);
    close(&position.fp32_share, operations / 60.0e-6 / 5.0e13);
    close(&position.dram_share, 9.0e6 / 60.0e-6 / 4.0e12);
    // Beyond the ridge the roof is flat, before it the slope.
    close(&position.roof_operations_per_s, 5.0e13);
    let gelu = counters.case(Operation::Gelu, "triton").unwrap();
    close(
        &gelu.position.roof_operations_per_s,
        (8.0e6 + 64.0) / 1.6e7 * 4.0e12,
    );
}

#[test]
fn a_call_adds_counts_and_weighs_percentages() {
    let counters = hand_made();
    let case = counters.case(Operation::Triangle, "python").unwrap();
    assert_eq!(case.totals.duration_us, 68.0);
    assert_eq!(case.totals.memory.shared_store_conflicts, at(384.0));
    let dram = case.totals.busy_percent.dram.value().unwrap();
    assert!((dram - (3.0 * 60.0 + 11.0 * 8.0) / 68.0).abs() < 1e-12);
    assert_eq!(case.totals.instructions.tensor_operations.value(), None);
    // The product takes most of the time, and says what bounds the call.
    assert_eq!(case.bound.by, BoundBy::Fp32Arithmetic);
    assert!((case.bound.duration_share - 60.0 / 68.0).abs() < 1e-12);
    assert!(case.bound.because.starts_with("hand_made_batched: "));
    let limited = &case.kernels[0].occupancy.limited_by;
    assert_eq!(limited, &["registers", "warps"]);
}

#[test]
fn every_case_of_the_fixture_has_the_bound_that_it_was_made_for() {
    let counters = hand_made();
    let by = |operation, implementation| counters.case(operation, implementation).unwrap().bound.by;
    assert_eq!(by(Operation::Matmul, "rust"), BoundBy::SharedMemory);
    assert_eq!(by(Operation::Gelu, "rust"), BoundBy::L2Bandwidth);
    assert_eq!(by(Operation::LayerNorm, "rust"), BoundBy::DramBandwidth);
    assert_eq!(by(Operation::Triangle, "rust"), BoundBy::LatencyOrOccupancy);
    assert_eq!(by(Operation::Neighbor, "rust"), BoundBy::LaunchSize);
}

/// With `MAGE_BLESS` set the page is written again.
#[test]
fn the_page_says_what_bounds_each_case() {
    let page = hand_made().markdown();
    let path = fixture().with_file_name("counters.md");
    if std::env::var_os("MAGE_BLESS").is_some() {
        store::write_bytes(&path, page.as_bytes()).unwrap();
    }
    assert_eq!(page, store::read_text(&path).unwrap());
    for words in [
        "| Matrix multiplication | PyTorch | FP32 arithmetic |",
        "|  | Rust | shared memory |",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

/// Every path of a number in `value`.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_owned()),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                numbers(item, &format!("{path}/{i}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                numbers(field, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

fn check(value: &Value) -> Result<(), String> {
    let counters: Counters =
        serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    counters.check().map_err(|invalid| invalid.to_string())
}

#[test]
fn a_changed_derived_number_is_found_and_named() {
    let value = serde_json::to_value(hand_made()).unwrap();
    let mut paths = Vec::new();
    numbers(&value, "", &mut paths);
    let derived = [
        "/position/",
        "/totals/",
        "/bound/",
        "/measured/",
        "/theoretical/",
        "/rate",
    ];
    let mut tried = 0;
    for path in &paths {
        if !derived.iter().any(|part| path.contains(part)) {
            continue;
        }
        let mut changed = value.clone();
        let number = changed.pointer_mut(path).unwrap();
        *number = Value::from(number.as_f64().unwrap() * 1.001 + 1e-3);
        let refusal = check(&changed).expect_err(path);
        assert!(
            refusal.contains("derived from the counters"),
            "{path}: {refusal}"
        );
        tried += 1;
    }
    assert!(tried > 500, "{tried}");
}

#[test]
fn negative_and_missing_numbers_and_reasons_are_refused() {
    let value = serde_json::to_value(hand_made()).unwrap();
    for (path, put, expected) in [
        (
            "/cases/0/kernels/0/memory/l2_bytes",
            Value::from(-1.0),
            "at least 0",
        ),
        (
            "/cases/0/kernels/0/duration_us",
            Value::from(0.0),
            "duration_us: found 0, expected a finite time above 0",
        ),
        (
            "/cases/0/kernels/0/busy_percent/dram",
            Value::from(151.0),
            "a percentage of a peak",
        ),
        (
            "/cases/0/kernels/0/stall_shares/barrier",
            Value::from(0.5),
            "shares that add up to 1",
        ),
        (
            "/cases/0/kernels/0/memory/l2_bytes",
            serde_json::json!({"absent": " "}),
            "with a reason",
        ),
        (
            "/cases/0/kernels/0/memory/l2_bytes",
            Value::Null,
            "did not match any variant",
        ),
        (
            "/cases/0/kernels",
            serde_json::json!([]),
            "cases[0].kernels: found none",
        ),
        ("/cases", serde_json::json!([]), "cases: found none"),
        (
            "/cases/2/kernels/0/kernel_name",
            Value::from("other"),
            "the variant's, \"hand_made_tiled\"",
        ),
        (
            "/cases/1/implementation",
            Value::from("python"),
            "matmul python twice",
        ),
        ("/schema_version", Value::from("2.0"), "schema_version"),
        (
            "/limits/probes/0/duration_us",
            Value::from(-2.0),
            "limits.probes[0].duration_us",
        ),
    ] {
        let mut changed = value.clone();
        *changed.pointer_mut(path).unwrap() = put;
        let refusal = check(&changed).expect_err(path);
        assert!(refusal.contains(expected), "{path}: {refusal}");
    }
}

#[test]
fn an_absent_counter_makes_what_follows_absent_with_its_reason() {
    let mut counters = hand_made();
    counters.cases[0].kernels[0].memory.dram_read_bytes = Reading::absent("not permitted");
    let counters = derive(counters);
    let case = &counters.cases[0];
    let expected = Reading::absent("not permitted");
    assert_eq!(case.position.dram_intensity, expected);
    assert_eq!(case.position.roof_operations_per_s, expected);
    assert_eq!(case.totals.memory.dram_read_bytes, expected);
    assert!(case.position.fp32_share.value().is_some());
    // A kernel that moved no DRAM bytes has no intensity, and that is said.
    let mut counters = hand_made();
    counters.cases[0].kernels[0].memory.dram_read_bytes = at(0.0);
    counters.cases[0].kernels[0].memory.dram_write_bytes = at(0.0);
    let position = derive(counters).cases[0].position.clone();
    assert_eq!(position.dram_intensity, Reading::absent("no DRAM bytes"));
}
