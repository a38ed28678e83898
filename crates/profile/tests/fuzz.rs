//! Both readers on arbitrary and on damaged input: no panic, and never a time of zero.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use mage_profile::import::{Format, Summary, from_csv, read};
use mage_profile::ncu::{self, Number};
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

static SQLITE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.sqlite");
    common::make_database(&path, "gelu", "rust", &[("k", 1000)]);
    std::fs::read(path).unwrap()
});
const REAL: &[u8] = include_bytes!("fixtures/h200-torch-sgemm.sqlite");
const TRACE: &[u8] = include_bytes!("fixtures/h200-torch-sgemm.cuda_gpu_trace.stdout");
const NAMES: &[u8] = include_bytes!("fixtures/05_nasty_names.csv");

/// A table of `ncu`, hand-made.
const COUNTERS: &str = "==PROF== Connected\n\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"a.sum\",\"b.pct\"\n\"\",\"\",\"\",\"\",\"byte\",\"%\"\n\"0\",\"void k<a, \"\"b\"\">(int)\",\"(32, 1, 1)\",\"(8, 2, 1)\",\"1,234,567\",\"12.5\"\n";

/// Whatever is accepted has at least one kernel an iteration and a time above zero.
fn believable(summary: &Summary) {
    assert!(summary.kernel_time_us > 0.0 && summary.kernel_time_us.is_finite());
    assert!(summary.launches >= 1);
    assert!(!summary.rows.is_empty());
    let kernels: u64 = summary.rows.iter().map(|row| row.count).sum();
    assert_eq!(
        kernels,
        u64::from(summary.launches) * u64::from(summary.iterations)
    );
    assert!(summary.rows.iter().all(|row| row.total_ns > 0));
    mage_evidence::store::to_json(summary).unwrap();
}

fn read_bytes(bytes: &[u8], iterations: u32) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.sqlite");
    std::fs::write(&path, bytes).unwrap();
    if let Ok(summary) = read(Path::new(&path), Format::Guess, iterations, &[]) {
        believable(&summary);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// Places, each as a share of the length, and the byte put there.
fn edits() -> impl Strategy<Value = Vec<(f64, u8)>> {
    prop::collection::vec((0.0..1.0, any::<u8>()), 1..8)
}

fn edited(bytes: &[u8], edits: &[(f64, u8)], end: f64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (place, byte) in edits {
        let place = (*place * bytes.len() as f64) as usize;
        bytes[place] = *byte;
    }
    if end < 0.3 {
        bytes.truncate((end / 0.3 * bytes.len() as f64) as usize);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in ".*", iterations in 1u32..20) {
        if let Ok(summary) = from_csv(text.as_bytes(), iterations) {
            believable(&summary);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = from_csv(&bytes, 10);
    }

    #[test]
    fn any_rows_below_a_known_heading_are_read_or_refused(
        rows in prop::collection::vec(prop::collection::vec("[0-9.,\"\n a-]{0,12}", 9), 0..6),
        iterations in 1u32..4,
    ) {
        let mut text = "Time (%),Total Time (us),Instances,Avg (us),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n".to_string();
        for row in rows {
            text.push_str(&row.join(","));
            text.push('\n');
        }
        if let Ok(summary) = from_csv(text.as_bytes(), iterations) {
            believable(&summary);
        }
    }

    #[test]
    fn a_damaged_text_is_read_or_refused(edits in edits(), end in 0.0..1.0, trace in any::<bool>()) {
        let bytes = edited(if trace { TRACE } else { NAMES }, &edits, end);
        if let Ok(summary) = from_csv(&bytes, 10) {
            believable(&summary);
        }
    }

    #[test]
    fn a_damaged_database_is_read_or_refused(edits in edits(), end in 0.0..1.0, real in any::<bool>()) {
        match real {
            true => read_bytes(&edited(REAL, &edits, end), 10),
            false => read_bytes(&edited(&SQLITE, &edits, end), common::ITERATIONS),
        }
    }

    #[test]
    fn a_damaged_table_of_counters_is_read_or_refused(edits in edits(), end in 0.0..1.0) {
        let bytes = edited(COUNTERS.as_bytes(), &edits, end);
        let Ok(rows) = ncu::rows(&String::from_utf8_lossy(&bytes)) else { return Ok(()) };
        for row in rows {
            prop_assert!(!row.name.is_empty());
            for cell in row.cells.values() {
                let _ = ncu::number(&cell.text, &cell.unit);
            }
        }
    }

    #[test]
    fn a_number_with_separators_is_that_number(value in 0u64..1 << 53) {
        let digits = value.to_string();
        let head = digits.len() % 3;
        let mut groups: Vec<&str> = digits.as_bytes()[head..].chunks(3).map(|g| std::str::from_utf8(g).unwrap()).collect();
        if head > 0 {
            groups.insert(0, &digits[..head]);
        }
        prop_assert_eq!(ncu::number(&groups.join(","), "byte"), Ok(Number::Read(value as f64, "byte".into())));
    }

    #[test]
    fn any_cell_is_a_number_none_or_refused_and_never_a_silent_zero(text in "[0-9.,eEna/ -]{0,12}", unit in "[KMGTa-z/%]{0,12}") {
        if let Ok(Number::Read(value, _)) = ncu::number(&text, &unit) {
            prop_assert!(value.is_finite() && value >= 0.0);
            let significant = text.split(['e', 'E']).next().unwrap_or_default();
            let zero = !significant.contains(|c: char| c.is_ascii_digit() && c != '0');
            prop_assert!(zero || value > 0.0 || text.contains(['e', 'E']), "{}: {}", text, value);
        }
    }

    #[test]
    fn any_database_after_the_magic_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut file = mage_profile::sqlite::MAGIC.to_vec();
        file.extend(bytes);
        read_bytes(&file, 10);
    }
}
