//! Tensor-core products against FP64, and what feeds them.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_simt::Launch;
use mage_simt::gpu::{
    Accumulators, Columns, In, Out, barrier, cut_tf32, fence_async_shared, kernel, mma_f16,
    mma_tf32, shared, split_f16, split_tf32, thread_x,
};
use std::array::from_fn;
use std::num::NonZero;

/// Numbers without a pattern, from -1 to 1, of exponents down to -8.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f32 / (1u64 << 31) as f32
    };
    let scaled = |x: f32, e: f32| (2.0 * x - 1.0) * (-8.0 * e).floor().exp2();
    (0..count).map(|_| scaled(draw(), draw())).collect()
}

/// Each element of `c + a b` with the sum of the magnitudes of its terms, in FP64.
fn product<const K: usize>(a: &[f64], b: &[f64], c: &[f32]) -> Vec<(f64, f64)> {
    let element = |i: usize| {
        let (row, column) = (i / 8, i % 8);
        let terms = (0..K).map(|k| a[row * K + k] * b[k * 8 + column]);
        let terms = terms.chain([f64::from(c[i])]);
        terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()))
    };
    (0..128).map(element).collect()
}

/// Holds sums in FP32 of `K` products that are exact there against what they are: each addition rounds once.
fn compare<const K: usize>(found: &[f32], a: &[f64], b: &[f64], c: &[f32]) {
    for (i, (expected, size)) in product::<K>(a, b, c).into_iter().enumerate() {
        let error = (f64::from(found[i]) - expected).abs();
        let bound = K as f64 * 2f64.powi(-24) * size;
        assert!(
            error <= bound,
            "element {i}: {error:e}, expected up to {bound:e}"
        );
    }
}

fn run(launch: &Launch) -> Vec<f32> {
    launch.run(NonZero::<usize>::MIN).unwrap().outputs.remove(0)
}

kernel! {
    /// a (16,16), b (16,8), c and out (16,8); one warp. Operands are rounded to binary16.
    pub fn in_f16(a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>) {
        let (g, t) = (thread_x() / 4, thread_x() % 4);
        let pair_a = |row: u32, k: u32| split_f16(a.get(row * 16 + k), a.get(row * 16 + k + 1)).0;
        let pair_b = |k: u32| split_f16(b.get(k * 8 + g), b.get((k + 1) * 8 + g)).0;
        let place = |i: usize| (g + i as u32 / 2 * 8) * 8 + 2 * t + i as u32 % 2;
        let pairs = [pair_a(g, 2 * t), pair_a(g + 8, 2 * t), pair_a(g, 2 * t + 8), pair_a(g + 8, 2 * t + 8)];
        let mut d = from_fn(|i| c.get(place(i)));
        mma_f16(&mut d, pairs, [pair_b(2 * t), pair_b(2 * t + 8)]);
        for (i, d) in d.into_iter().enumerate() {
            out.set(place(i), d);
        }
    }
}

#[test]
fn products_in_binary16_are_those_of_the_rounded_operands() {
    for seed in 0..50 {
        let (a, b, c) = (
            numbers(256, seed),
            numbers(128, seed + 100),
            numbers(128, seed + 200),
        );
        let launch = Launch::new(in_f16(), [1; 3], [32, 1, 1])
            .floats("a", &a)
            .floats("b", &b)
            .floats("c", &c)
            .output("out", 128);
        let round = |values: &[f32]| {
            values
                .iter()
                .map(|&x| f64::from(as_f16(x)))
                .collect::<Vec<_>>()
        };
        compare::<16>(&run(&launch), &round(&a), &round(&b), &c);
    }
}

/// A value as binary16 keeps it.
fn as_f16(value: f32) -> f32 {
    let ulp = 2f64
        .powi(-24)
        .max(2f64.powi(f64::from(value).abs().log2().floor() as i32 - 10));
    ((f64::from(value) / ulp).round_ties_even() * ulp) as f32
}

kernel! {
    /// a (16,8), b (8,8), c and out (16,8); one warp.
    pub fn in_tf32(a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>) {
        let (g, t) = (thread_x() / 4, thread_x() % 4);
        let a_values = [(g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)].map(|(row, k)| a.get(row * 8 + k));
        let b_values = [t, t + 4].map(|k| b.get(k * 8 + g));
        let place = |i: usize| (g + i as u32 / 2 * 8) * 8 + 2 * t + i as u32 % 2;
        let d = mma_tf32(a_values, b_values, from_fn(|i| c.get(place(i))));
        for (i, d) in d.into_iter().enumerate() {
            out.set(place(i), d);
        }
    }
}

#[test]
fn products_in_tf32_read_the_upper_19_bits() {
    for seed in 0..50 {
        let (a, b, c) = (
            numbers(128, seed),
            numbers(64, seed + 100),
            numbers(128, seed + 200),
        );
        let launch = Launch::new(in_tf32(), [1; 3], [32, 1, 1])
            .floats("a", &a)
            .floats("b", &b)
            .floats("c", &c)
            .output("out", 128);
        let cut = |x: &f32| f64::from(f32::from_bits(x.to_bits() >> 13 << 13));
        let read = |values: &[f32]| values.iter().map(cut).collect::<Vec<_>>();
        compare::<8>(&run(&launch), &read(&a), &read(&b), &c);
    }
}

#[test]
fn a_value_is_the_sum_of_its_halves() {
    for x in numbers(2000, 7) {
        let (high, low) = split_tf32(x);
        assert_eq!(f64::from(high), tf32(x), "{x}");
        assert_eq!(high + low, x);
        let (high, low) = cut_tf32(x);
        assert_eq!(high.to_bits(), x.to_bits() >> 13 << 13);
        assert_eq!(high + low, x);
    }
}

/// The nearest value of 11 significant bits, of two as near the one farther from zero.
fn tf32(x: f32) -> f64 {
    let x = f64::from(x);
    let ulp = 2f64.powi(x.abs().log2().floor() as i32 - 10);
    (x / ulp).round() * ulp
}

shared! {
    /// Four matrices of eight rows of a quad each.
    fn rows() -> Shared<u32, 128>, aligned 128;
}

kernel! {
    /// out (4,8,4): matrix, row, pair of columns.
    pub fn four_matrices(out: Out<f32>) {
        let (rows, lane) = (rows(), thread_x());
        for i in 0..4 {
            rows.set(4 * lane + i, (100 * lane + i) as f32 as u32);
        }
        barrier();
        // Lane l names the row l % 8 of matrix l / 8: here in the order of the quads.
        let words = rows.matrices(lane);
        for (matrix, word) in words.into_iter().enumerate() {
            out.set(matrix as u32 * 32 + lane, word as f32);
        }
    }
}

#[test]
fn lanes_share_out_matrices() {
    let launch = Launch::new(four_matrices(), [1; 3], [32, 1, 1]).output("out", 128);
    let found = run(&launch);
    for (i, value) in found.into_iter().enumerate() {
        let (matrix, row, pair) = (i / 32, i % 32 / 4, i % 4);
        assert_eq!(value, (100 * (8 * matrix + row) + pair) as f32);
    }
}

shared! {
    /// 128 columns of 64 values of binary16, in the order of the 128-byte swizzle.
    fn columns() -> Shared<u32, 4096>, aligned 1024;
}

kernel! {
    /// a (64,16), b (16, columns), out (64, columns); one warpgroup. b stands at the third step of 16 of its rows.
    pub fn of_warpgroup(a: In<f32>, b: In<f32>, out: Out<f32>, width: u32) {
        let (words, thread) = (columns(), thread_x());
        for word in (thread..32 * width).step_by(128) {
            let (column, quad, i) = (word / 32, word / 4 % 8, word % 4);
            let k = 8 * (quad ^ (column % 8)) + 2 * i;
            let value = |k: u32| if k / 16 == 2 { b.get(k % 16 * width + column) } else { f32::NAN };
            words.set(word, split_f16(value(k), value(k + 1)).0);
        }
        fence_async_shared();
        barrier();
        let (g, t) = (thread % 32 / 4, thread % 4);
        let row = thread / 32 * 16 + g;
        let pair = |row: u32, k: u32| split_f16(a.get(row * 16 + k), a.get(row * 16 + k + 1)).0;
        let mut pairs = [[pair(row, 2 * t), pair(row + 8, 2 * t), pair(row, 2 * t + 8), pair(row + 8, 2 * t + 8)]; 4];
        let mut low = pairs;
        let at = Columns::swizzled(words, 0).along_k(2);
        let set = |value: usize, sum: f32| {
            let (j, h, i) = (value as u32 / 4, value as u32 / 2 % 2, value as u32 % 2);
            out.set((row + 8 * h) * width + 8 * j + 2 * t + i, sum);
        };
        // The product, and once more on top of it.
        if width == 64 {
            let mut sums = Accumulators::<32>::ZERO;
            sums.fence(&mut [&mut pairs, &mut low]);
            sums.multiply::<false>(pairs[0], at);
            sums.multiply::<true>(pairs[0], at);
            sums.commit();
            sums.wait(&mut [&mut pairs, &mut low]);
            sums.0.into_iter().enumerate().for_each(|(i, sum)| set(i, sum));
        } else {
            let mut sums = Accumulators::<64>::ZERO;
            sums.fence(&mut [&mut pairs, &mut low]);
            sums.multiply::<false>(pairs[0], at);
            sums.multiply::<true>(pairs[0], at);
            sums.commit();
            sums.wait(&mut [&mut pairs, &mut low]);
            sums.0.into_iter().enumerate().for_each(|(i, sum)| set(i, sum));
        }
    }
}

#[test]
fn products_of_a_warpgroup_are_those_of_the_rounded_operands() {
    for (seed, width) in [(1, 64), (2, 64), (3, 128), (4, 128)] {
        let (a, b) = (numbers(64 * 16, seed), numbers(16 * width, seed + 100));
        let launch = Launch::new(of_warpgroup(), [1; 3], [128, 1, 1])
            .floats("a", &a)
            .floats("b", &b)
            .output("out", 64 * width)
            .dim(width as u32);
        let found = run(&launch);
        for (i, found) in found.into_iter().enumerate() {
            let terms = (0..16).map(|k| {
                let (a, b) = (a[i / width * 16 + k], b[k * width + i % width]);
                f64::from(as_f16(a)) * f64::from(as_f16(b))
            });
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            let error = (f64::from(found) - 2.0 * sum).abs();
            let bound = 17.0 * 2f64.powi(-24) * 2.0 * size;
            assert!(
                error <= bound,
                "element {i}: {error:e}, expected up to {bound:e}"
            );
        }
    }
}
