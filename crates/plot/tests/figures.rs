//! What the figures of plausible evidence say: text alternatives, tables, whiskers.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/look.rs"]
mod look;
mod support;

use mage_evidence::operation::Operation;
use mage_plot::chart::Layout;
use mage_plot::data::Data;
use mage_plot::figures::{self, Figure};
use mage_plot::font::Fonts;
use mage_plot::palette::Theme;
use support::{Root, cases, evidence};

fn figures_of(root: &Root) -> Vec<Figure> {
    let fonts = Fonts::new().unwrap();
    let data = Data::read(root.path(), "mage-002", &fonts).unwrap();
    figures::all(&data).0
}

fn figure(root: &Root, name: &str) -> Figure {
    let found = figures_of(root).into_iter().find(|f| f.name() == name);
    found.unwrap_or_else(|| panic!("no figure {name}"))
}

fn svg(figure: &Figure, layout: Layout) -> String {
    figure
        .svg(&Fonts::new().unwrap(), layout, Theme::Light)
        .text
}

/// Number of whiskers: each is one path in paper and one in ink, with three moves.
fn whiskers(svg: &str) -> usize {
    let whisker = |line: &&str| line.matches('M').count() == 3 && line.contains("fill=\"none\"");
    svg.lines().filter(whisker).count() / 2
}

#[test]
fn every_figure_is_readable_at_both_widths() {
    for figure in figures_of(&Root::with_everything()) {
        for layout in [Layout::Desktop, Layout::Phone] {
            let what = format!("{} {layout:?}", figure.name());
            look::assert_readable(&svg(&figure, layout), &what);
        }
    }
}

#[test]
fn ids_of_all_figures_differ() {
    let mut seen = std::collections::BTreeSet::new();
    for figure in figures_of(&Root::with_everything()) {
        for layout in [Layout::Desktop, Layout::Phone] {
            let svg = svg(&figure, layout);
            for id in svg.split(" id=\"").skip(1) {
                let id = id.split('"').next().unwrap().to_string();
                assert!(seen.insert(id.clone()), "{id} twice");
            }
            assert!(svg.contains("role=\"img\" aria-labelledby=\""));
        }
    }
}

#[test]
fn text_alternatives_come_from_the_data() {
    let root = Root::with_everything();
    let all: Vec<String> = figures_of(&root)
        .iter()
        .map(|f| format!("{}\n{}", f.name(), f.frame.alternative.replace(". ", ".\n")))
        .collect();
    insta::assert_snapshot!("text_alternatives", all.join("\n\n"));
}

#[test]
fn tables_hold_the_plotted_numbers() {
    let root = Root::with_everything();
    let all: Vec<String> = figures_of(&root)
        .iter()
        .map(|f| format!("{}\n\n{}", f.table.caption, f.table.markdown()))
        .collect();
    insta::assert_snapshot!("tables", all.join("\n"));
}

#[test]
fn csv_keeps_every_digit() {
    let csv = figure(&Root::with_both(), "kernel-time")
        .table
        .csv()
        .unwrap();
    insta::assert_snapshot!("kernel_time_csv", csv);
}

#[test]
fn spans_have_whiskers_and_one_capture_has_none() {
    let root = Root::with_both();
    // 15 cases, and one in the key.
    let spans = figure(&root, "event-spans");
    assert_eq!(whiskers(&svg(&spans, Layout::Desktop)), 16);
    let words: String = spans.frame.notes.iter().map(|n| n.text.as_str()).collect();
    assert!(words.contains("Range of the 3 round means, not a confidence interval"));

    let times = figure(&root, "kernel-time");
    assert_eq!(whiskers(&svg(&times, Layout::Desktop)), 0);
    assert!(times.frame.notes.iter().all(|n| !n.text.contains("Range")));
}

#[test]
fn several_captures_give_whiskers() {
    let root = Root::with_both();
    let cases = cases("mage-002", |_, _| 1.0);
    root.store(
        "mage-002",
        &evidence("mage-002", "mage-002", "NVIDIA H200", &cases, 5),
    );
    let times = figure(&root, "kernel-time");
    assert_eq!(whiskers(&svg(&times, Layout::Desktop)), 16);
    let heads: Vec<&str> = times
        .table
        .columns
        .iter()
        .map(|c| c.head.as_str())
        .collect();
    assert!(heads.contains(&"Largest capture"), "{heads:?}");
    assert!(heads.contains(&"95% interval from"), "{heads:?}");
    let csv = times.table.csv().unwrap();
    let row = csv.lines().nth(1).unwrap();
    assert_eq!(row.split(',').count(), heads.len(), "{row}");
    // Rust now and the libraries have an interval; Rust before has one capture.
    let improvements = figure(&root, "improvements");
    assert_eq!(whiskers(&svg(&improvements, Layout::Desktop)), 16);
}

#[test]
fn controls_are_operations_whose_kernel_is_the_same() {
    let table = figure(&Root::with_both(), "improvements")
        .table
        .csv()
        .unwrap();
    for (operation, status) in [
        ("Matrix multiplication", "rewritten"),
        ("Bias + GELU", "control"),
        ("LayerNorm", "rewritten"),
        ("Triangle contraction", "control"),
        ("Neighbor aggregation", "control"),
    ] {
        let line = table.lines().find(|l| l.starts_with(operation)).unwrap();
        assert!(line.ends_with(status), "{line}");
    }
}

#[test]
fn a_baseline_that_does_not_compare_is_left_out_with_its_reason() {
    let reason = |root: &Root| {
        let fonts = Fonts::new().unwrap();
        let data = Data::read(root.path(), "mage-002", &fonts).unwrap();
        let (_, left_out) = figures::all(&data);
        left_out
            .into_iter()
            .find(|l| l.name == "improvements")
            .unwrap()
            .reason
    };
    let root = Root::new();
    let now = cases("mage-002", |_, _| 1.0);
    root.store(
        "mage-002",
        &evidence("mage-002", "mage-002", "NVIDIA H200", &now, 1),
    );
    assert_eq!(
        reason(&root),
        "there is no evidence of the baseline, mage-001"
    );

    let before = cases("mage-001", |_, _| 1.0);
    root.store(
        "mage-001",
        &evidence("mage-001", "mage-001", "NVIDIA A100", &before, 1),
    );
    assert!(reason(&root).contains("another GPU, NVIDIA A100"));

    std::fs::remove_file(root.profiles_file("mage-001")).unwrap();
    root.store(
        "mage-001",
        &evidence("mage-001", "mage-001", "NVIDIA H200", &before, 1),
    );
    std::fs::remove_file(root.profiles_file("mage-001")).unwrap();
    assert!(reason(&root).contains("no operation has a Rust kernel time"));
}

#[test]
fn a_second_machine_has_its_own_baseline() {
    let root = Root::with_both();
    for name in ["mage-001", "mage-002"] {
        let cases = cases(name, |_, _| 2.0);
        let namespace = format!("{name}-b");
        root.store(
            &namespace,
            &evidence(&namespace, name, "NVIDIA B200", &cases, 1),
        );
    }
    let fonts = Fonts::new().unwrap();
    let data = Data::read(root.path(), "mage-002-b", &fonts).unwrap();
    assert_eq!(data.baseline.unwrap().namespace, "mage-001-b");
}

#[test]
fn without_captures_only_spans_are_drawn() {
    let root = Root::with_both();
    std::fs::remove_file(root.profiles_file("mage-002")).unwrap();
    let names: Vec<&str> = figures_of(&root).iter().map(Figure::name).collect();
    assert_eq!(names, ["event-spans", "samples"]);
    let outputs = mage_plot::draw(root.path(), "mage-002").unwrap();
    let page = outputs
        .iter()
        .find(|o| o.path.ends_with("index.html"))
        .unwrap();
    let html = String::from_utf8(page.bytes.clone()).unwrap();
    assert!(html.contains(
        "<em>Time inside the kernels</em> is left out: the namespace has no profiler captures."
    ));
}

#[test]
fn a_missing_capture_is_said_and_not_drawn_as_zero() {
    let root = Root::with_both();
    let cases = cases("mage-002", |_, _| 1.0);
    let mut evidence = evidence("mage-002", "mage-002", "NVIDIA H200", &cases, 1);
    let missing = |c: &mage_evidence::profiles::CaptureResults| {
        c.operation == Operation::Gelu && c.language == "triton"
    };
    evidence.profiles.captures.retain(|c| !missing(c));
    root.store("mage-002", &evidence);
    let times = figure(&root, "kernel-time");
    assert!(
        times
            .table
            .markdown()
            .contains("| Bias + GELU | 15.8 | — | 11.0 |")
    );
    assert!(!times.frame.alternative.contains("GELU: Triton"));
    look::assert_readable(&svg(&times, Layout::Phone), "missing capture");
}
