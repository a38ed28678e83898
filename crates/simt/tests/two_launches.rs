//! The matrix products in two launches, of which the first splits A and B.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_evidence::operation::Operation::Matmul;
use mage_kernels::compare::{TOLERANCE, compare};
use mage_kernels::inputs::{Data, Inputs, SEED, generate};
use mage_kernels::reference::reference;
use mage_kernels::variants::{self, VARIANTS};
use mage_simt::{Counts, Launch, execute, kernel};
use std::num::NonZero;

const IDS: [&str; 2] = ["matmul_two_pass", "matmul_narrow"];

/// Checks a product against FP64, where the largest of a is so large.
fn check(id: &str, inputs: &Inputs, largest: f64) -> Counts {
    let execution = execute(variants::find(id).unwrap(), inputs).unwrap();
    let shape = Matmul.output_shape(&inputs.dims);
    let mut tolerance = TOLERANCE;
    tolerance.atol += largest * f64::from(inputs.dims[2]) * f64::from(f32::EPSILON);
    let compared = compare(
        &execution.output,
        &reference(inputs).unwrap(),
        &shape,
        tolerance,
    );
    compared.unwrap_or_else(|error| panic!("{id} {:?}: {error}", inputs.dims));
    execution.counts
}

/// The values of one of the arrays.
fn values<'a>(inputs: &'a mut Inputs, name: &str) -> &'a mut Vec<f32> {
    let array = inputs.arrays.iter_mut().find(|array| array.name == name);
    match &mut array.unwrap().data {
        Data::F32(values) => values,
        Data::U32(_) => panic!("{name} has floats"),
    }
}

#[test]
fn each_element_is_split_once_and_its_products_are_made_on_tensor_cores() {
    for (id, dims) in IDS.into_iter().zip([[256, 128, 64], [128, 256, 64]]) {
        let inputs = generate(Matmul, &dims, SEED).unwrap();
        let counts = check(id, &inputs, 1.0);
        let [m, n, k] = dims.map(u64::from);
        let first = &counts.before[0];
        assert_eq!(first.total.global_loads.bytes, 4 * (m + n) * k, "{id}");
        let flags = (m + n) / 128 * (k / 32);
        let stored = first.total.global_stores.bytes;
        assert_eq!(stored, 4 * ((m + n) * k + flags), "{id}");
        assert_eq!(first.total.products.operations, 0);
        assert_eq!(counts.total.products.operations, 3 * m * n * k, "{id}");
        assert_eq!(counts.total.fma.operations, 0, "none outside the domain");
    }
}

#[test]
fn a_value_outside_the_domain_has_its_tiles_computed_in_fp32() {
    // An element of A or of B lies beyond binary16 or below what its low half holds: the tiles that need it fall back.
    for (id, dims) in IDS.into_iter().zip([[128, 256, 64], [256, 128, 64]]) {
        let [m, n, k] = dims.map(u64::from);
        for (name, fallen) in [("a.bin", 128 * n * k), ("b.bin", m * 128 * k)] {
            let mut inputs = generate(Matmul, &dims, SEED).unwrap();
            *values(&mut inputs, name).last_mut().unwrap() = 1e5;
            let fma = check(id, &inputs, 1e5).total.fma.operations;
            assert_eq!(fma, fallen, "{id} {name}");
        }
        let mut inputs = generate(Matmul, &dims, SEED).unwrap();
        values(&mut inputs, "a.bin").fill(1e-6);
        let fma = check(id, &inputs, 1e-6).total.fma.operations;
        assert_eq!(fma, m * n * k, "{id}");
    }
}

#[test]
fn values_that_vanish_in_binary16_are_not_taken_for_zeros() {
    let dims = [128, 128, 64];
    for id in IDS {
        for value in [1e-15, 1e-42, f32::from_bits(1)] {
            let mut inputs = generate(Matmul, &dims, SEED).unwrap();
            values(&mut inputs, "a.bin").fill(value);
            let execution = execute(variants::find(id).unwrap(), &inputs).unwrap();
            let expected = reference(&inputs).unwrap();
            let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            // Half a step of FP32's least, or what FP32 loses in sums of 64.
            let allowed = (largest * 1e-5).max(64.0 * 1.5e-45);
            for (found, expected) in execution.output.iter().zip(&expected) {
                let error = (f64::from(*found) - expected).abs();
                assert!(error <= allowed, "{id} {value}: {found} for {expected}");
            }
        }
        for zero in [0.0, -0.0] {
            let mut inputs = generate(Matmul, &dims, SEED).unwrap();
            values(&mut inputs, "a.bin").fill(zero);
            let fma = check(id, &inputs, 1.0).total.fma.operations;
            assert_eq!(fma, 0, "{id}: zeros lie in the domain");
        }
    }
}

#[test]
fn the_second_launch_alone_reads_what_nothing_wrote() {
    let variant = variants::find("matmul_narrow").unwrap();
    let dims = [128, 128, 64];
    let shape = variant.launch(&dims);
    let mut launch = Launch::new(kernel(variant.id).unwrap(), shape.grid, shape.block)
        .shared(shape.dynamic_shared_bytes)
        .floats("a", &vec![1.0; 128 * 64])
        .floats("b", &vec![1.0; 64 * 128])
        .output("out", 128 * 128);
    for dim in dims {
        launch = launch.dim(dim);
    }
    let launch = launch.scratch("scratch", variant.scratch_bytes(&dims).unwrap() / 4);
    let error = launch.run(NonZero::<usize>::MIN).unwrap_err().to_string();
    let expected = "uninitialised: read of scratch[0], which nothing wrote, by thread (256, 0, 0) of block (0, 0, 0) \
                    at crates/kernels/device/src/parts/turns.rs:";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn every_launch_of_the_table_is_counted() {
    for variant in VARIANTS.iter().filter(|variant| variant.first.is_some()) {
        let dims = [128, 128, 64];
        let inputs = generate(Matmul, &dims, SEED).unwrap();
        let counts = execute(variant, &inputs).unwrap().counts;
        let before: Vec<_> = counts.before.iter().map(|c| (c.grid, c.block)).collect();
        let first = variant.first_launch(&dims).unwrap();
        assert_eq!(before, [(first.grid, first.block)], "{}", variant.id);
        assert!(IDS.contains(&variant.id), "{} is tested here", variant.id);
    }
}
