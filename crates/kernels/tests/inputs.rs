//! Inputs against numpy, and every refusal of input files.
//!
//! `fixtures/*.numpy.json` were made once by numpy 2.4.6 on x86-64 Linux; `fixtures/inputs.sha256.json`
//! is as published.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the tests but not their helpers"
)]

use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::Operation;
use mage_kernels::inputs::{Data, Generator, Inputs, SEED, constant, generate};
use mage_kernels::suite::{DEFAULT, SMALL};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn fixture<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[derive(Deserialize)]
struct Published {
    seed: u64,
    sha256: BTreeMap<String, BTreeMap<String, String>>,
}

#[test]
fn default_inputs_have_the_published_hashes() {
    let published: Published = fixture("inputs.sha256.json");
    assert_eq!(published.seed, SEED);
    assert_eq!(
        published.sha256.values().map(BTreeMap::len).sum::<usize>(),
        13
    );
    for case in &DEFAULT {
        let inputs = case.inputs(SEED).unwrap();
        inputs
            .verify(&published.sha256[case.operation.name()])
            .unwrap();
    }
}

#[derive(Deserialize)]
struct SmallSuite {
    seed: u64,
    cases: BTreeMap<String, BTreeMap<String, SmallFile>>,
}

#[derive(Deserialize)]
struct SmallFile {
    sha256: String,
    elements: usize,
    first: Vec<f64>,
}

#[test]
fn small_suite_is_numpys() {
    let suite: SmallSuite = fixture("small_suite.numpy.json");
    assert_eq!((suite.seed, suite.cases.len()), (SEED, SMALL.len()));
    for case in &SMALL {
        let inputs = case.inputs(SEED).unwrap();
        inputs.validate().unwrap();
        let expected = &suite.cases[case.name];
        for array in &inputs.arrays {
            // To f32, as reading JSON may miss the last bit of an f64.
            let first: Vec<f32> = match &array.data {
                Data::F32(values) => values.iter().take(4).copied().collect(),
                Data::U32(values) => values.iter().take(4).map(|&v| v as f32).collect(),
            };
            let expected = &expected[array.name];
            let expected_first: Vec<f32> = expected.first.iter().map(|&v| v as f32).collect();
            assert_eq!(first, expected_first, "{} {}", case.name, array.name);
            assert_eq!(
                array.data.len(),
                expected.elements,
                "{} {}",
                case.name,
                array.name
            );
        }
        let hashes = expected
            .iter()
            .map(|(name, file)| (name.clone(), file.sha256.clone()));
        inputs.verify(&hashes.collect()).unwrap();
    }
}

#[derive(Deserialize)]
struct Streams {
    streams: Vec<Stream>,
}

/// What one seed gives. From `normal_2p20_f32_sha256` on, one generator draws everything in order.
#[derive(Deserialize)]
struct Stream {
    seed: u64,
    raw: Vec<u64>,
    normal_2p20_f32_sha256: String,
    integers: Vec<Integers>,
    normal_after: Vec<f64>,
    integers_after: Vec<u32>,
}

#[derive(Deserialize)]
struct Integers {
    below: u32,
    dtype: String,
    count: usize,
    first: Vec<u32>,
    u32_sha256: String,
}

#[test]
fn streams_are_numpys() {
    for stream in fixture::<Streams>("streams.numpy.json").streams {
        let seed = stream.seed;
        let mut raw = Generator::new(seed);
        assert_eq!(
            stream.raw,
            [raw.next_u64(), raw.next_u64(), raw.next_u64()],
            "seed {seed}"
        );

        let mut generator = Generator::new(seed);
        let normal = Data::F32((0..1 << 20).map(|_| generator.normal_quarter()).collect());
        assert_eq!(
            normal.sha256(),
            stream.normal_2p20_f32_sha256,
            "seed {seed}"
        );
        let Data::F32(values) = normal else {
            unreachable!()
        };
        // The tail begins at 3.6542 standard deviations of 0.25.
        let tails = |sign: f32| values.iter().filter(|v| **v * sign > 0.9136).count();
        assert!(
            tails(1.0) > 50 && tails(-1.0) > 50,
            "a million draws reach both tails"
        );

        for draw in stream.integers {
            let drawn = (0..draw.count)
                .map(|_| generator.integer_below(draw.below))
                .collect();
            let drawn = Data::U32(drawn);
            let what = format!("seed {seed}, below {} as {}", draw.below, draw.dtype);
            let Data::U32(values) = &drawn else {
                unreachable!()
            };
            assert_eq!(values[..draw.first.len()], draw.first, "{what}");
            assert_eq!(drawn.sha256(), draw.u32_sha256, "{what}");
        }
        let after: Vec<f32> = (0..3).map(|_| generator.normal_quarter()).collect();
        let expected: Vec<f32> = stream.normal_after.iter().map(|&v| v as f32).collect();
        assert_eq!(after, expected, "seed {seed}");
        let after: Vec<u32> = (0..3).map(|_| generator.integer_below(1000)).collect();
        assert_eq!(after, stream.integers_after, "seed {seed}");
    }
}

#[test]
fn constant_fills_a_and_leaves_the_rest() {
    let drawn = generate(Operation::LayerNorm, &[2, 5], 3).unwrap();
    let filled = constant(Operation::LayerNorm, &[2, 5], 0.25, 3).unwrap();
    assert_eq!(filled.f32s("a.bin").unwrap(), [0.25; 10]);
    assert_eq!(filled.arrays[1..], drawn.arrays[1..]);
    assert!(constant(Operation::LayerNorm, &[2, 5], f32::NAN, 3).is_err());
    assert!(generate(Operation::LayerNorm, &[2], 3).is_err());
}

fn graph() -> Inputs {
    generate(Operation::Neighbor, &[7, 9, 23], SEED).unwrap()
}

#[test]
fn files_round_trip_and_are_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    for operation in Operation::ALL {
        let inputs = generate(operation, &vec![3; operation.dim_names().len()], 1).unwrap();
        inputs.write(dir.path()).unwrap();
        inputs.write(dir.path()).unwrap();
        let read = Inputs::read(dir.path(), operation, &inputs.dims).unwrap();
        assert_eq!(read, inputs);
        for array in &inputs.arrays {
            let bytes = fs::read(dir.path().join(operation.name()).join(array.name)).unwrap();
            assert_eq!(sha256_hex(&bytes), inputs.sha256()[array.name]);
        }
    }
    let other = generate(Operation::Gelu, &[3, 3], 2).unwrap();
    let error = other.write(dir.path()).unwrap_err().to_string();
    for part in [
        "gelu/a.bin",
        &other.sha256()["a.bin"],
        "other inputs stand there",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let first = generate(Operation::Gelu, &[3, 3], 1).unwrap();
    assert_eq!(
        Inputs::read(dir.path(), Operation::Gelu, &[3, 3]).unwrap(),
        first
    );
    let left = fs::read_dir(dir.path().join("gelu")).unwrap().count();
    assert_eq!(left, 2, "no temporary file is left");
}

#[test]
fn files_of_wrong_length_or_missing_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let read = || {
        Inputs::read(dir.path(), Operation::Gelu, &[3, 5])
            .unwrap_err()
            .to_string()
    };
    assert!(
        read().contains("gelu/a.bin") && read().contains("expected 60 bytes"),
        "{}",
        read()
    );
    generate(Operation::Gelu, &[3, 5], 1)
        .unwrap()
        .write(dir.path())
        .unwrap();
    fs::write(dir.path().join("gelu/b.bin"), [0; 19]).unwrap();
    for part in ["gelu/b.bin", "found 19 bytes", "expected 20 bytes"] {
        assert!(read().contains(part), "{}", read());
    }
}

/// Writes the graph with `word` at `element` of `file` and returns the refusal.
fn refusal(file: &str, element: usize, word: [u8; 4]) -> String {
    let dir = tempfile::tempdir().unwrap();
    graph().write(dir.path()).unwrap();
    let path = dir.path().join("neighbor").join(file);
    let mut bytes = fs::read(&path).unwrap();
    bytes[element * 4..][..4].copy_from_slice(&word);
    fs::write(&path, bytes).unwrap();
    let error = Inputs::read(dir.path(), Operation::Neighbor, &[7, 9, 23]).unwrap_err();
    assert_eq!(error.file.as_deref(), Some(path.as_path()));
    error.to_string()
}

#[test]
fn wrong_values_are_refused_where_they_stand() {
    let f32_word = f32::to_le_bytes;
    let u32_word = u32::to_le_bytes;
    let cases = [
        (
            "a.bin",
            17,
            f32_word(f32::NAN),
            "element 17: found NaN, expected a finite number",
        ),
        (
            "b.bin",
            22,
            f32_word(f32::NEG_INFINITY),
            "element 22: found -inf",
        ),
        (
            "rowptr.bin",
            0,
            u32_word(1),
            "element 0: found 1, expected 0",
        ),
        (
            "rowptr.bin",
            7,
            u32_word(24),
            "element 7: found 24, expected 23, the number of edges",
        ),
        (
            "rowptr.bin",
            2,
            u32_word(0),
            "element 2: found 0, expected at least",
        ),
        (
            "rowptr.bin",
            3,
            u32_word(u32::MAX),
            "the row start before it",
        ),
        (
            "indices.bin",
            5,
            u32_word(7),
            "element 5: found 7, expected below 7, the number of nodes",
        ),
    ];
    for (file, element, word, expected) in cases {
        let error = refusal(file, element, word);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn changed_inputs_are_refused() {
    let change = |change: fn(&mut Inputs)| {
        let mut inputs = graph();
        change(&mut inputs);
        inputs.validate().unwrap_err().to_string()
    };
    assert!(change(|i| i.dims[2] = 24).contains("b.bin: elements: found 23 of F32, expected 24"));
    assert!(change(|i| i.arrays.swap(0, 1)).contains("arrays: found b.bin, a.bin"));
    assert!(change(|i| i.arrays[0].data = Data::U32(vec![0; 63])).contains("63 of U32"));
    assert!(change(|i| i.dims.truncate(1)).contains("dims"));
    assert!(graph().f32s("rowptr.bin").is_err() && graph().u32s("a.bin").is_err());
    assert!(
        graph()
            .f32s("c.bin")
            .unwrap_err()
            .to_string()
            .contains("a.bin, b.bin")
    );
}

#[test]
fn verify_names_the_file_and_both_hashes() {
    let inputs = graph();
    let mut expected = inputs.sha256();
    inputs.verify(&expected).unwrap();
    let right = expected
        .insert("indices.bin".into(), "0".repeat(64))
        .unwrap();
    let error = inputs.verify(&expected).unwrap_err().to_string();
    for part in ["neighbor/indices.bin", &right, &"0".repeat(64)] {
        assert!(error.contains(part), "{error}");
    }
    expected.remove("indices.bin");
    assert!(
        inputs
            .verify(&expected)
            .unwrap_err()
            .to_string()
            .contains("expected no such file")
    );
    expected = inputs.sha256();
    expected.insert("c.bin".into(), right);
    let error = inputs.verify(&expected).unwrap_err().to_string();
    assert!(
        error.contains("c.bin") && error.contains("found no such file"),
        "{error}"
    );
}
