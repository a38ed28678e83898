//! Reports made elsewhere: the real ones, the odd ones, and the hostile ones.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use mage_profile::import::{Format, Summary, from_csv, read};
use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

fn of(name: &str) -> Summary {
    read(&fixture(name), Format::Guess, 10, &[]).unwrap()
}

#[test]
fn the_real_export_gives_its_known_numbers() {
    let summary = of("h200-torch-sgemm.sqlite");
    assert_eq!(summary.kernel_time_us, 55.504);
    assert_eq!(summary.kernel_union_us, Some(55.504));
    assert_eq!(
        (summary.launches, summary.streams, summary.rows.len()),
        (1, Some(1), 10)
    );
    for row in &summary.rows {
        assert_eq!(
            (
                row.registers,
                row.static_shared_bytes,
                row.dynamic_shared_bytes
            ),
            (Some(224), Some(0), Some(18816))
        );
        assert_eq!((row.grid, row.block), (Some([8, 16, 1]), Some([128, 1, 1])));
        assert!(row.name.starts_with("sm80_xmma_gemm_f32f32"));
    }
}

/// Captures with one NVTX range an iteration; the profiler guesses in both that it lost something, and in
/// the second one that a process without CUDA should have had some.
#[test]
fn real_exports_with_ranges_are_attributed() {
    let rust = of("h200-rust-matmul-ranges.sqlite");
    assert_eq!((rust.kernel_time_us, rust.launches), (84.6651, 1));
    assert_eq!(rust.rows[0].name, "tiled_matmul_registers");
    assert_eq!(rust.rows[0].static_shared_bytes, Some(16384));
    let torch = of("h200-torch-neighbor-ranges.sqlite");
    assert_eq!((torch.kernel_time_us, torch.launches), (81.1867, 4));
    for summary in [rust, torch] {
        let guesses = summary.notes.iter().filter(|n| n.contains("might have"));
        assert!(guesses.count() > 0, "{:?}", summary.notes);
    }
}

#[test]
fn the_real_trace_agrees_but_for_rounded_bytes() {
    let summary = of("h200-torch-sgemm.cuda_gpu_trace.stdout");
    assert_eq!(
        (summary.source.as_str(), summary.launches),
        ("cuda_gpu_trace", 1)
    );
    assert_eq!(summary.kernel_time_us, 55.504);
    let exact = of("h200-torch-sgemm.sqlite");
    for (row, exact) in summary.rows.iter().zip(&exact.rows) {
        assert_eq!(
            (
                row.start_ns,
                row.total_ns,
                row.grid,
                row.block,
                row.registers,
                row.stream
            ),
            (
                exact.start_ns,
                exact.total_ns,
                exact.grid,
                exact.block,
                exact.registers,
                exact.stream
            )
        );
        assert_eq!(row.dynamic_shared_bytes, None);
    }
    assert!(
        summary
            .notes
            .iter()
            .any(|note| note.contains("import the SQLite export"))
    );
}

#[test]
fn summaries_are_read_by_column_and_unit() {
    for (name, us, launches) in [
        ("01_preamble.csv", 1.0, 2),
        ("04_grid_block_columns_2022.csv", 1.0, 2),
        ("05_nasty_names.csv", 1.0, 4),
        ("09_us_units.csv", 0.7, 1),
        ("12_crlf_bom.csv", 0.7, 1),
    ] {
        let summary = of(name);
        assert_eq!(
            (summary.kernel_time_us, summary.launches),
            (us, launches),
            "{name}"
        );
        assert_eq!(summary.source, "cuda_gpu_kern_sum");
    }
    let shapes = of("04_grid_block_columns_2022.csv");
    assert_eq!(shapes.rows[0].grid, Some([896, 1, 1]));
    assert_eq!(shapes.rows[1].block, Some([256, 1, 1]));
    let names: Vec<String> = of("05_nasty_names.csv")
        .rows
        .into_iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(names[1], "<unnamed>::k(const char *, \"quoted\" | pipe)");
    assert_eq!(names[3], "=1+cmd|x");
}

const HEADING: &str =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";
const ROW: &str = "100.0,7000,10,700.0,700.0,650,750,10.0,k\n";
const TRACE: &str = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (B),DymSMem (B),Strm,Name\n";

#[test]
fn a_name_may_hold_a_new_line_and_other_units_are_scaled() {
    let text = format!("{HEADING}100.0,7000,10,700.0,700.0,650,750,10.0,\"two\nlines\"\n");
    let summary = from_csv(text.as_bytes(), 10).unwrap();
    assert_eq!(summary.rows[0].name, "two\nlines");
    for (unit, total, average) in [
        ("ms", "0.007", "0.0007"),
        ("s", "0.000007000", "0.000000700"),
        ("us", "7.000", "0.700"),
    ] {
        let heading = HEADING.replace("(ns)", &format!("({unit})"));
        let text = format!("{heading}100.0,{total},10,{average},0,0,0,0,k\n");
        let summary = from_csv(text.as_bytes(), 10).unwrap();
        assert_eq!(summary.kernel_time_us, 0.7, "{unit}");
        assert!(summary.notes[0].contains(&format!("printed in {unit}")));
    }
}

#[test]
fn a_trace_may_be_out_of_order_on_two_streams_with_fills() {
    let text = format!(
        "{TRACE}900,200,3,1,1,1,32,1,1,16,0,64,8,b\n0,100,1,1,1,1,32,1,1,16,0,64,7,a\n50,30,2,,,,,,,,,,7,[CUDA memset]\n850,100,4,1,1,1,32,1,1,16,0,64,7,a\n300,200,5,1,1,1,32,1,1,16,0,64,8,b\n"
    );
    let summary = from_csv(text.as_bytes(), 2).unwrap();
    assert_eq!((summary.launches, summary.streams), (2, Some(2)));
    assert_eq!(
        (summary.kernel_time_us, summary.kernel_union_us),
        (0.3, Some(0.275))
    );
    let starts: Vec<_> = summary
        .rows
        .iter()
        .map(|row| row.start_ns.unwrap())
        .collect();
    assert_eq!(starts, [0, 300, 850, 900]);
    assert_eq!(summary.rows[0].dynamic_shared_bytes, Some(64));
    for words in ["1 copies and fills", "counts what overlaps more than once"] {
        assert!(
            summary.notes.iter().any(|note| note.contains(words)),
            "{:?}",
            summary.notes
        );
    }
}

/// Hostile texts, and what the message must say.
#[test]
fn texts_that_cannot_be_believed_are_refused() {
    let other_heading = |heading: &str| format!("{heading}\n{ROW}");
    for (text, expected) in [
        (String::new(), "no table"),
        ("\u{feff}\r\n".to_string(), "no table"),
        (HEADING.to_string(), "a heading without kernels"),
        ("Processing [x.sqlite] with [y.py]...\nSKIPPED: x.sqlite does not contain CUDA kernel data.\n".to_string(), "SKIPPED: x.sqlite does not contain CUDA kernel data."),
        ("WARNING: Existing SQLite export found: x.sqlite\n  File is older than input file: x.nsys-rep\n".to_string(), "--force-export=true"),
        ("ERROR: Report could not be loaded\n".to_string(), "ERROR: Report"),
        (format!("who knows\n{HEADING}{ROW}"), "line 1: found \"who knows\""),
        // Cut
        (format!("{HEADING}{}", ROW.trim_end()), "a last line without its end"),
        (format!("{HEADING}{ROW}100.0,70\n"), "2 cells, expected 9"),
        (format!("{HEADING}100.0,7000,10,700.0,700.0,650,750,10.0,\"gemm(a\n"), "a quote that is never closed"),
        // Long rows, two tables
        (format!("{HEADING}100.0,7000,10,700.0,700.0,650,750,10.0,gemm(a, b)\n"), "10 cells, expected 9"),
        (format!("{HEADING}{ROW}\nProcessing [x] with [y]...\n{TRACE}"), "1 cells, expected 9"),
        // Values
        (format!("{HEADING}{}", ROW.replace("7000", "99999999999999999999")), "Total Time (ns): found \"99999999999999999999\""),
        (format!("{HEADING}{}", ROW.replace("7000", "-7000")), "found \"-7000\""),
        (format!("{HEADING}{}", ROW.replace("7000", "0")), "at least 1 ns"),
        (format!("{HEADING}{}", ROW.replace("7000", "nan")), "found \"nan\""),
        (format!("{HEADING}{}", ROW.replace(",10,", ",0,")), "Instances: found \"0\""),
        (format!("{HEADING}{}", ROW.replace(",10,", ",4294967296,")), "Instances: found \"4294967296\""),
        (format!("{HEADING}{}", ROW.replace(",10,", ",20,")), "Avg (ns): found \"700.0\""),
        (format!("{HEADING}{}", ROW.replace(",k", ",")), "a kernel's name"),
        (format!("{TRACE}0,100,1,0,1,1,32,1,1,16,0,64,7,a\n"), "GrdX: found \"0\""),
        (format!("{TRACE}0,100,1,,,,,,,,,,7,a\n"), "GrdX: found \"\""),
        (format!("{TRACE}0,100,1,1,1,1,32,1,1,x,0,64,7,a\n"), "Reg/Trd: found \"x\""),
        // Headings of other reports, or none that says a unit
        (other_heading("Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"), "the heading of cuda_gpu_trace"),
        (other_heading("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),Category,Name"), "the heading of cuda_gpu_trace"),
        (other_heading("Time (%),Total Time,Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"), "a time in (ns), (us), (ms) or (s)"),
        (other_heading("Total Time (ns),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"), "each column once"),
        // Not as often as there are iterations
        (format!("{HEADING}{}", ROW.replace("7000,10,700.0", "7700,11,700.0")), "11 kernels in 10 iterations"),
        (format!("{HEADING}60.0,4200,6,700.0,0,0,0,0,tuned\n40.0,2800,4,700.0,0,0,0,0,other\n"), "\"tuned\" 6 times in 10 iterations"),
    ] {
        let error = from_csv(text.as_bytes(), 10).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
    let error = from_csv(b"\xff\xfeT\0i\0m\0e\0", 10)
        .unwrap_err()
        .to_string();
    assert!(error.contains("not UTF-8"), "{error}");
}

/// A database with a view or a virtual table where the kernels should be.
#[test]
fn databases_cannot_bring_code() {
    for sql in [
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i + 1 AS end FROM n",
        "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end)",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a?b#c%20.sqlite");
        common::make_database(&path, "gelu", "rust", &[("k", 1000)]);
        assert_eq!(
            read(&path, Format::Guess, 4, &[]).unwrap().kernel_time_us,
            1.0
        );
        common::change(&path, sql);
        let error = read(&path, Format::Guess, 4, &[]).unwrap_err().to_string();
        assert!(error.contains("CUPTI_ACTIVITY_KIND_KERNEL"), "{error}");
        let left = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(left, 1, "nothing appears beside the database");
    }
}

#[test]
fn ranges_are_used_where_a_report_has_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.sqlite");
    common::make_database(&path, "gelu", "rust", &[("k", 1000), ("l", 500)]);
    let summary = read(&path, Format::Guess, 4, &[]).unwrap();
    assert_eq!((summary.kernel_time_us, summary.launches), (1.5, 2));
    assert_eq!(summary.rows[2].iteration, Some(1));
    let error = read(&path, Format::Guess, 2, &[]).unwrap_err().to_string();
    assert!(
        error.contains("each of 0 to 1 once") && error.contains("x.sqlite"),
        "{error}"
    );
    common::change(&path, "UPDATE NVTX_EVENTS SET text = 'step'");
    let summary = read(&path, Format::Guess, 2, &[]).unwrap();
    assert_eq!((summary.kernel_time_us, summary.launches), (3.0, 4));
    let error = read(&path, Format::Guess, 3, &[]).unwrap_err().to_string();
    assert!(error.contains("4 times in 3 iterations"), "{error}");
}

fn program(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mage-profile"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_program_prints_text_json_or_one_line_and_3() {
    let real = fixture("h200-torch-sgemm.sqlite");
    let (code, stdout, stderr) = program(&["import", real.to_str().unwrap(), "--iterations", "10"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for words in ["55.504 us, 1 launch an iteration", "224", "18816"] {
        assert!(stdout.contains(words), "{stdout}");
    }
    let (_, stdout, _) = program(&[
        "import",
        real.to_str().unwrap(),
        "--iterations",
        "10",
        "--json",
    ]);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["kernel_time_us"], 55.504);
    assert_eq!(json["launches"], 1);
    assert_eq!(json["rows"][9]["dynamic_shared_bytes"], 18816);

    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_string()
    };
    let half = std::fs::read(&real).unwrap();
    for (file, words) in [
        (write("empty.sqlite", b""), "no SQLite header"),
        (
            write("half.sqlite", &half[..half.len() / 2]),
            "half.sqlite: ",
        ),
        (write("line\nbreak.csv", b"x\n"), "line\\nbreak.csv"),
        (write("x.nsys-rep", b"x\n"), "nsys export --type sqlite"),
        (
            directory
                .path()
                .join("absent.csv")
                .to_str()
                .unwrap()
                .to_string(),
            "absent.csv: ",
        ),
        (
            directory.path().to_str().unwrap().to_string(),
            "a file that can be read",
        ),
    ] {
        let (code, stdout, stderr) = program(&["import", &file, "--iterations", "10"]);
        assert_eq!((code, stdout.as_str()), (Some(3), ""), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
    let (code, _, _) = program(&["import", "x.csv", "--iterations", "0"]);
    assert_eq!(code, Some(2));
    let csv = write(
        "odd.sqlite",
        &std::fs::read(fixture("01_preamble.csv")).unwrap(),
    );
    let (code, stdout, _) = program(&["import", &csv, "--iterations", "10", "--from-csv"]);
    assert_eq!(code, Some(0), "{stdout}");
}
