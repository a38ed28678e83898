//! Every variant: right against the FP64 reference, and the same run after run.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_evidence::operation::Operation;
use mage_kernels::compare::{TOLERANCE, compare};
use mage_kernels::inputs::{Inputs, SEED, generate};
use mage_kernels::reference::reference;
use mage_kernels::suite::{default_case, small};
use mage_kernels::variants::{self, Status, VARIANTS, Variant};
use mage_simt::{CAPABILITY, Error, Execution, Line, Structure, execute, execute_on, kernel};
use std::collections::BTreeSet;
use std::num::NonZero;

/// Dims that each variant takes that runs here, small ones with tails where it takes those.
const DIMS: &[(&str, &[u32])] = &[
    ("tiled_matmul", &[35, 50, 41]),
    ("tiled_matmul_registers", &[128, 64, 96]),
    ("tiled_matmul_8x4", &[128, 192, 64]),
    ("matmul_ffma_128x64", &[128, 64, 48]),
    ("matmul_ffma_halves", &[128, 64, 160]),
    ("matmul_mma_f16x3", &[128, 64, 128]),
    ("matmul_wgmma_f16x3", &[128, 64, 128]),
    ("matmul_wgmma_f16x3_cluster", &[128, 128, 512]),
    ("matmul_wgmma_f16x3_stream", &[256, 128, 512]),
    ("matmul_two_pass", &[128, 128, 448]),
    ("matmul_narrow", &[128, 256, 320]),
    ("bias_gelu", &[7, 150]),
    ("bias_gelu_bulk", &[32, 768]),
    ("bias_gelu_few", &[25, 400]),
    ("bias_gelu_full", &[25, 400]),
    ("bias_gelu_loop", &[24, 768]),
    ("bias_gelu_once", &[16, 100]),
    ("bias_gelu_order", &[11, 400]),
    ("bias_gelu_pair", &[6, 100]),
    ("bias_gelu_quad", &[7, 148]),
    ("bias_gelu_row", &[7, 148]),
    ("bias_gelu_rows", &[16, 100]),
    ("bias_gelu_share", &[6, 100]),
    ("bias_gelu_stream", &[25, 400]),
    ("bias_gelu_two", &[7, 148]),
    ("bias_gelu_wave", &[16, 100]),
    ("bias_gelu_whole", &[24, 768]),
    ("copy_bulk", &[32, 768]),
    ("copy_full", &[25, 400]),
    ("copy_pair", &[6, 100]),
    ("copy_rows", &[16, 100]),
    ("copy_two", &[7, 148]),
    ("copy_whole", &[24, 768]),
    ("copy_wide", &[32, 768]),
    ("layer_norm", &[5, 700]),
    ("layer_norm_warp", &[13, 404]),
    ("layer_norm_tile", &[13, 404]),
    ("layer_norm_columns", &[16, 768]),
    ("layer_norm_exact", &[9, 768]),
    ("layer_norm_merge", &[9, 768]),
    ("layer_norm_once", &[13, 404]),
    ("layer_norm_pair", &[16, 768]),
    ("layer_norm_four", &[8, 768]),
    ("layer_norm_shared", &[32, 768]),
    ("layer_norm_single", &[16, 768]),
    ("layer_norm_swift", &[32, 768]),
    ("layer_norm_two", &[4, 768]),
    ("layer_norm_wide", &[33, 404]),
    ("multiply_resident", &[1, 768]),
    ("triangle", &[11, 6]),
    ("triangle_tile", &[16, 32]),
    ("triangle_staged", &[32, 8]),
    ("triangle_tf32", &[32, 8]),
    ("triangle_wide", &[32, 8]),
    ("triangle_sector", &[32, 16]),
    ("triangle_ring", &[32, 16]),
    ("triangle_box", &[128, 16]),
    ("triangle_masked", &[128, 16]),
    ("triangle_async", &[160, 16]),
    ("triangle_groups", &[160, 16]),
    ("triangle_halves", &[160, 16]),
    ("triangle_octet", &[64, 8]),
    ("triangle_stagger", &[64, 16]),
    ("copy_halves", &[160, 16]),
    ("triangle_cluster", &[128, 16]),
    ("copy_ring", &[32, 16]),
    ("neighbor", &[37, 9, 222]),
    ("neighbor_block", &[37, 12, 222]),
    ("read_edges", &[37, 12, 222]),
    ("neighbor_direct", &[37, 12, 222]),
    ("neighbor_half", &[37, 12, 222]),
    ("neighbor_warp", &[37, 12, 222]),
];

/// The variants that run here.
fn runnable() -> impl Iterator<Item = &'static Variant> {
    VARIANTS
        .iter()
        .filter(|variant| kernel(variant.id).is_some())
}

fn inputs(variant: &Variant) -> Inputs {
    let (_, dims) = DIMS.iter().find(|(id, _)| *id == variant.id).unwrap();
    generate(variant.operation, dims, SEED).unwrap()
}

fn check(variant: &Variant, inputs: &Inputs) -> Execution {
    let execution = execute(variant, inputs).unwrap_or_else(|error| panic!("{error}"));
    if variant.status == Status::Twin {
        return execution; // computes nothing
    }
    let expected = reference(inputs).unwrap();
    let shape = inputs.operation.output_shape(&inputs.dims);
    compare(&execution.output, &expected, &shape, TOLERANCE)
        .unwrap_or_else(|error| panic!("{} {:?}: {error}", variant.id, inputs.dims));
    execution
}

#[test]
fn the_small_suite_passes_with_every_variant() {
    for case in small() {
        let inputs = case.inputs(SEED).unwrap();
        let mut run = BTreeSet::new();
        for requested in variants::of(case.operation) {
            let variant = variants::dispatch(requested, case.dims, CAPABILITY);
            if kernel(variant.id).is_some() && run.insert(variant.id) {
                check(variant, &inputs);
            }
        }
    }
}

#[test]
#[ignore = "some minutes with --release"]
fn the_default_suite_passes_with_every_variant() {
    for variant in runnable() {
        let inputs = default_case(variant.operation).inputs(SEED).unwrap();
        check(variant, &inputs);
    }
}

#[test]
fn every_variant_passes_at_dims_of_its_own() {
    for variant in runnable() {
        let inputs = inputs(variant);
        variant.takes(&inputs.dims).unwrap();
        let counts = check(variant, &inputs).counts;
        assert_eq!(
            counts.shared_bytes,
            variant.static_shared_bytes + variant.dynamic_shared_bytes,
            "shared bytes of {}",
            variant.id
        );
        let first = variant.first.as_ref().map(|f| f.static_shared_bytes);
        let before = counts.before.iter().map(|c| c.shared_bytes);
        assert!(before.eq(first), "shared bytes before {}", variant.id);
        let file = format!("crates/kernels/device/src/variants/{}.rs", variant.id);
        let parts = "crates/kernels/device/src/parts/";
        let known = |line: &Line| line.file == file || line.file.starts_with(parts);
        assert!(counts.lines.iter().all(known), "{}", variant.id);
    }
}

#[test]
fn a_run_is_the_same_on_any_number_of_threads() {
    for variant in runnable() {
        let inputs = inputs(variant);
        let run = |threads| execute_on(NonZero::new(threads).unwrap(), variant, &inputs).unwrap();
        let alone = run(1);
        let bits = |run: &Execution| run.output.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for threads in [2, 7] {
            let again = run(threads);
            assert_eq!(bits(&again), bits(&alone), "{} on {threads}", variant.id);
            assert_eq!(again.counts, alone.counts, "{} on {threads}", variant.id);
        }
    }
}

#[test]
fn counts_pass_through_json() {
    let variant = variants::find("layer_norm").unwrap();
    let inputs = inputs(variant);
    let counts = execute(variant, &inputs).unwrap().counts;
    let text = serde_json::to_string(&counts).unwrap();
    assert_eq!(
        serde_json::from_str::<mage_simt::Counts>(&text).unwrap(),
        counts
    );
    let structure = Structure::of(variant, &inputs.dims, &counts);
    let text = serde_json::to_string(&structure).unwrap();
    assert_eq!(serde_json::from_str::<Structure>(&text).unwrap(), structure);
}

#[test]
fn what_cannot_run_is_refused() {
    let registers = variants::find("tiled_matmul_registers").unwrap();
    let odd = generate(Operation::Matmul, &[64, 64, 48], SEED).unwrap();
    assert_eq!(
        execute(registers, &odd).unwrap_err().to_string(),
        "tiled_matmul_registers takes k a multiple of 32, not 48"
    );
    let gelu = generate(Operation::Gelu, &[1, 1], SEED).unwrap();
    assert!(matches!(execute(registers, &gelu), Err(Error::Launch(_))));
    let mut short = generate(Operation::Gelu, &[1, 2], SEED).unwrap();
    short.dims = vec![2, 2];
    let gelu = variants::find("bias_gelu").unwrap();
    assert!(matches!(execute(gelu, &short), Err(Error::Inputs(_))));
}

/// The ids that the list of modules names for the device alone.
fn device_only() -> BTreeSet<&'static str> {
    include_str!("../../kernels/device/src/variants/mod.rs")
        .lines()
        .filter_map(|line| {
            line.strip_prefix("#[cfg(all(target_arch = \"nvptx64\", variant = \"")?
                .strip_suffix("\"))]")
        })
        .collect()
}

#[test]
fn every_variant_runs_or_is_device_only() {
    let mut refused = BTreeSet::new();
    for variant in VARIANTS {
        if kernel(variant.id).is_none() {
            let dims = default_case(variant.operation).dims;
            let inputs = generate(variant.operation, dims, SEED).unwrap();
            let error = execute(variant, &inputs).unwrap_err();
            assert!(matches!(&error, Error::DeviceOnly { variant: id, .. } if id == variant.id));
            let named = format!("device only: {} uses ", variant.id);
            let message = error.to_string();
            assert!(message.starts_with(&named), "{message}");
            assert!(!message.ends_with("an instruction that is not emulated"));
            refused.insert(variant.id);
        }
    }
    assert_eq!(refused, device_only());
    for variant in VARIANTS.iter().filter(|v| v.introduced != "limit-001") {
        assert!(kernel(variant.id).is_some(), "{}", variant.id);
    }
    let first = VARIANTS.iter().filter(|v| v.introduced != "limit-001");
    assert_eq!(first.count(), 9);
    assert!(kernel("no_such_variant").is_none());
}
