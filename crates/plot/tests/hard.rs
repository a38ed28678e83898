//! Names, counts and values that break careless drawings.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/look.rs"]
mod look;
#[path = "support/six.rs"]
mod six;
mod support;

use indexmap::IndexMap;
use mage_evidence::operation::Operation;
use mage_evidence::published::Values;
use mage_plot::chart::frame::Frame;
use mage_plot::chart::ladder::{self, Ladder};
use mage_plot::chart::roofline::{self, Roof, Roofline};
use mage_plot::chart::runs::{self, Runs};
use mage_plot::chart::{Chart, Layout};
use mage_plot::data::Data;
use mage_plot::figures;
use mage_plot::font::Fonts;
use mage_plot::palette::{self, Ink, Theme};
use support::{Root, evidence, values};

/// Draws everything of evidence whose operations all have these values, and looks at it.
fn look_at(what: &str, all: &IndexMap<String, Values>, captures: u32) -> Root {
    let root = Root::with_both();
    let cases = support::same(all);
    root.store(
        "mage-002",
        &evidence("mage-002", "mage-002", "NVIDIA H200", &cases, captures),
    );
    let fonts = Fonts::new().unwrap();
    let data = Data::read(root.path(), "mage-002", &fonts).unwrap();
    let (figures, _) = figures::all(&data);
    assert!(!figures.is_empty());
    for figure in &figures {
        for layout in [Layout::Desktop, Layout::Phone] {
            let svg = figure.svg(&fonts, layout, Theme::Dark);
            look::assert_readable(&svg.text, &format!("{what}: {} {layout:?}", figure.name()));
        }
    }
    root
}

fn page(root: &Root) -> String {
    let outputs = mage_plot::draw(root.path(), "mage-002").unwrap();
    let page = outputs.into_iter().find(|o| o.path.ends_with("index.html"));
    String::from_utf8(page.unwrap().bytes).unwrap()
}

fn values_of(root: &Root) -> String {
    mage_plot::values(root.path(), "mage-002")
        .unwrap()
        .to_string()
}

fn named(names: &[&str]) -> IndexMap<String, Values> {
    let value = |i: usize| values(10.0 + i as f64, 5.0 + i as f64, 1 + (i % 3) as u32);
    names
        .iter()
        .enumerate()
        .map(|(i, n)| (n.to_string(), value(i)))
        .collect()
}

#[test]
fn twenty_implementations() {
    let names: Vec<String> = (1..=20).map(|i| format!("implementation-{i:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    look_at("twenty", &named(&names), 3);
}

#[test]
fn one_implementation() {
    look_at("rust alone", &named(&["rust"]), 1);
    look_at("other alone", &named(&["other"]), 1);
}

#[test]
fn names_with_markup_quotes_length_and_direction() {
    let long = "n".repeat(200);
    let wide = "W".repeat(200);
    let names = [
        "python",
        "rust",
        "<script>alert(1)</script>",
        "a|b \"quoted\" 'single' & more",
        "{{body}} `code` *star* [x](y)",
        &long,
        &wide,
        "שלום עולם",
        "مرحبا",
        "a\u{202e}b",
        "日本語",
        "",
    ];
    let html = page(&look_at("names", &named(&names), 1));
    assert_eq!(html.matches("<script").count(), 2, "markup stays text");
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(html.contains("<bdi>שלום עולם</bdi>"));
    assert!(html.contains("{{body}}"), "a name is no template");
}

#[test]
fn values_from_a_nanosecond_to_ten_milliseconds() {
    let times = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0];
    let names = ["python", "triton", "rust", "a", "b", "c", "d", "e"];
    let all = names
        .iter()
        .zip(times)
        .map(|(n, t)| (n.to_string(), values(t, t, 1)));
    let values = values_of(&look_at("magnitudes", &all.collect(), 3));
    assert!(values.contains("10,000 µs") && values.contains("0.001 µs"));
}

#[test]
fn a_bar_three_hundred_times_its_neighbour() {
    let mut all = named(&["python", "triton", "rust"]);
    all["rust"] = values(3000.0, 1500.0, 40);
    look_at("slow", &all, 1);
}

#[test]
fn identical_samples() {
    let mut all = named(&["python", "triton", "rust"]);
    for v in all.values_mut() {
        *v = Values {
            event: 7.0,
            event_min: 7.0,
            event_max: 7.0,
            kernel: 5.0,
            launches: 1,
        };
    }
    let values = values_of(&look_at("identical", &all, 2));
    assert!(values.contains("have the same event span"));
}

/// Six implementations of which one runs a single operation: each reason stands in every figure of times, on the
/// page, in its tables and among the values.
#[test]
fn six_implementations_of_which_some_are_unavailable() {
    let root = six::root();
    let fonts = Fonts::new().unwrap();
    let data = Data::read(root.path(), "mage-002", &fonts).unwrap();
    let mut swatches: Vec<_> = data.series.iter().map(|s| s.swatch).collect();
    swatches.sort();
    swatches.dedup();
    assert_eq!(swatches.len(), six::NAMES.len(), "each has its own");
    let (all, left_out) = figures::all(&data);
    assert_eq!(left_out, []);
    for figure in &all {
        for layout in [Layout::Desktop, Layout::Phone] {
            let svg = figure.svg(&fonts, layout, Theme::Light);
            look::assert_readable(&svg.text, &format!("six: {} {layout:?}", figure.name()));
        }
        assert!(!figure.frame.alternative.contains("NaN"));
        let times = [
            "kernel-time",
            "event-spans",
            "launches",
            "both-views",
            "samples",
            "improvements",
        ];
        let words: String = figure.frame.notes.iter().map(|n| n.text.as_str()).collect();
        if times.contains(&figure.name()) {
            let first = "cuSPARSE is unavailable for matrix multiplication, bias + GELU, LayerNorm and triangle \
                         contraction (“cuSPARSE has no routine for it";
            assert!(words.contains(first), "{}: {words}", figure.name());
            assert!(words.contains(six::TOO_WIDE), "{}: {words}", figure.name());
        }
    }
    let table = all[0].table.markdown();
    assert!(
        table.contains("| Matrix multiplication | cuSPARSE | unavailable | — |"),
        "{table}"
    );
    let csv = all[0].table.csv().unwrap();
    assert!(csv.contains("\nMatrix multiplication,cuSPARSE,,"), "{csv}");

    let html = page(&root);
    assert!(html.contains("<h3>Unavailable here</h3>"));
    assert!(html.contains(six::NO_ROUTINE) && html.contains(six::TOO_WIDE));
    let values = mage_plot::values(root.path(), "mage-002").unwrap();
    assert_eq!(values["unavailable"][0]["implementation"], "Triton (tuned)");
    assert_eq!(values["unavailable"][1]["operations"][3], "triangle");
    assert_eq!(values["unavailable"][1]["reason"], six::NO_ROUTINE);
}

/// Of dozens of variants the figure of a namespace shows the way to the measured one; the ladder's page shows all.
#[test]
fn a_ladder_of_dozens_of_variants() {
    let root = six::root();
    let fonts = Fonts::new().unwrap();
    let data = Data::read(root.path(), "mage-002", &fonts).unwrap();
    let measured = data.ladder.as_ref().unwrap();
    let steps = |op: Operation| &measured.operation(op).unwrap().steps;
    let all: usize = measured.operations.iter().map(|op| op.steps.len()).sum();
    assert!(all > 100, "{all}");

    let figure = figures::all(&data).0;
    let figure = figure.iter().find(|f| f.name() == "kernel-ladder").unwrap();
    assert_eq!(figure.table.rows.len(), all, "the table has every variant");
    let words: String = figure.frame.notes.iter().map(|n| n.text.as_str()).collect();
    assert!(words.contains(&format!("of {all} variants")), "{words}");
    let told = &figure.frame.alternative;
    // The measured variant, where it was made from, and its twin; not what was tried beside it.
    for shown in ["matmul_split", "tiled_matmul", "copy_full"] {
        assert!(told.contains(shown), "{shown}: {told}");
    }
    assert!(
        !told.contains("matmul_tall") && !told.contains("_registers_07"),
        "{told}"
    );

    let each = figures::ladders(&data);
    assert_eq!(each.len(), measured.operations.len());
    for (figure, op) in each.iter().zip(&measured.operations) {
        assert_eq!(figure.table.rows.len(), op.steps.len());
        for step in steps(op.operation) {
            assert!(figure.frame.alternative.contains(&step.variant.id));
        }
        for layout in [Layout::Desktop, Layout::Phone] {
            let svg = figure.svg(&fonts, layout, Theme::Light);
            look::assert_readable(&svg.text, &format!("{} {layout:?}", figure.name()));
        }
    }
}

/// A twin that measures a rate can take a hundred times as long as the kernels: beside it they would have no length.
#[test]
fn a_twin_that_takes_longer_than_every_kernel_sets_no_scale() {
    let root = six::root();
    let mut data = Data::read(root.path(), "mage-002", &Fonts::new().unwrap()).unwrap();
    let operations = &mut data.ladder.as_mut().unwrap().operations;
    let steps = operations.iter_mut().flat_map(|op| &mut op.steps);
    let mut twins = steps.filter(|step| step.variant.id == "copy_full");
    twins.next().unwrap().kernel_time.as_mut().unwrap().mean_us = 405_000.0;
    let each = figures::ladders(&data);
    let gelu = each.iter().find(|f| f.name() == "ladder-gelu").unwrap();
    assert!(!gelu.frame.alternative.contains("copy_full"));
    let notes: String = gelu.frame.notes.iter().map(|n| n.text.as_str()).collect();
    assert!(notes.contains("copy_full, a twin of 405,000"), "{notes}");
    let measured = data.ladder.as_ref().unwrap();
    let steps = &measured.operation(Operation::Gelu).unwrap().steps;
    assert_eq!(gelu.table.rows.len(), steps.len());
}

/// What runs nothing at all has no bar and is named all the same.
#[test]
fn what_runs_nothing_is_named() {
    let root = Root::with_both();
    let cases = support::same(&named(&["python", "rust"]));
    let mut evidence = evidence("mage-002", "mage-002", "NVIDIA H200", &cases, 1);
    for op in &mut evidence.results.results {
        op.unavailable
            .insert("cusparse".into(), "there is <none> here".into());
    }
    root.store("mage-002", &evidence);
    let html = page(&root);
    assert!(html.contains("neighbor aggregation (“there is &lt;none&gt; here”)"));
}

/// Who is shortest where is told from the numbers; what is within the bound of the shortest is level with it.
#[test]
fn what_came_out_is_told_from_the_numbers() {
    let told = |captures: u32, times: [f64; 3]| {
        let root = Root::with_both();
        let names = ["python", "triton", "rust"];
        let all = names.iter().zip(times);
        let all: IndexMap<_, _> = all
            .map(|(n, us)| (n.to_string(), values(us * 2.0, us, 1)))
            .collect();
        let mut cases = support::same(&all);
        cases.truncate(2);
        cases[1].values["rust"] = values(2.0, 1.0, 1);
        root.store(
            "mage-002",
            &evidence("mage-002", "mage-002", "NVIDIA H200", &cases, captures),
        );
        let values = mage_plot::values(root.path(), "mage-002").unwrap();
        let told = values["came_out"].as_array().unwrap().clone();
        let all =
            figures::all(&Data::read(root.path(), "mage-002", &Fonts::new().unwrap()).unwrap()).0;
        let alternative = all[0].frame.alternative.clone();
        (told, alternative, page(&root))
    };
    // One capture each: 3.2%. 13.3% of a span.
    let (single, alternative, page) = told(1, [10.0, 10.31, 10.33]);
    assert_eq!(
        single[0],
        "Shortest kernel time: PyTorch and Triton, level within 3.2%, for matrix multiplication (10.0 and 10.3\u{a0}µs); \
         Rust for bias + GELU (1.00\u{a0}µs)."
    );
    assert_eq!(
        single[1],
        "Shortest event span: PyTorch, Triton and Rust, level within 13.3%, for matrix multiplication (20.0, 20.6 and \
         20.7\u{a0}µs); Rust for bias + GELU (2.00\u{a0}µs)."
    );
    assert!(
        single[2]
            .as_str()
            .unwrap()
            .starts_with("Against mage-001: "),
        "{single:?}"
    );
    assert!(alternative.contains(
        "PyTorch has the shortest kernel time, 10.0 µs; Triton 10.3 µs (level), Rust 10.3 µs."
    ));
    assert!(page.contains("<div class=\"came-out\">\n<p>Shortest kernel time: PyTorch and Triton"));
    // Three captures have an interval of their own: 3%.
    let (several, ..) = told(3, [10.0, 10.31, 10.33]);
    assert_eq!(
        several[0],
        "Shortest kernel time: PyTorch for matrix multiplication (10.0\u{a0}µs); Rust for bias + GELU (1.00\u{a0}µs)."
    );
}

/// Draws a chart alone, in both layouts and themes, and looks at it.
fn look_at_chart(what: &str, chart: &dyn Chart) -> Vec<String> {
    let fonts = Fonts::new().unwrap();
    let mut drawn = Vec::new();
    let frame = Frame {
        name: "hard",
        title: "A hard case".to_string(),
        subtitle: "Hand-made values".to_string(),
        notes: Vec::new(),
        source: "no evidence".to_string(),
        alternative: "A hard case.".to_string(),
    };
    for layout in [Layout::Desktop, Layout::Phone] {
        for theme in [Theme::Light, Theme::Dark] {
            let svg = frame.draw(&fonts, chart, layout, theme);
            look::assert_readable(&svg.text, &format!("{what}, {layout:?}"));
            drawn.push(svg.text);
        }
    }
    drawn
}

/// Names keep off every dot and off each other with the committed counters, and with six implementations.
#[test]
fn names_on_rooflines_are_clear() {
    let fonts = Fonts::new().unwrap();
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let six = six::root();
    let roots = [
        (repository.as_path(), "mage-001"),
        (repository.as_path(), "mage-002"),
        (six.path(), "mage-002"),
    ];
    for (root, namespace) in roots {
        let data = Data::read(root, namespace, &fonts).unwrap();
        let all = figures::all(&data).0;
        let figure = all.iter().find(|f| f.name() == "roofline").unwrap();
        for layout in [Layout::Desktop, Layout::Phone] {
            let svg = figure.svg(&fonts, layout, Theme::Light).text;
            let what = format!("{}, {namespace}, {layout:?}", root.display());
            look::assert_readable(&svg, &what);
            look::assert_dots_are_clear(&svg, &what);
        }
    }
}

/// A place among FP32 operations is no measure of what runs on the tensor cores: the figure says whose it is.
#[test]
fn arithmetic_on_tensor_cores_is_named() {
    let fonts = Fonts::new().unwrap();
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (namespace, who) in [
        ("mage-002", None),
        (
            "limit-001",
            Some("of Triton (tuned) and Rust in matrix multiplication and triangle contraction,"),
        ),
    ] {
        let data = Data::read(&repository, namespace, &fonts).unwrap();
        let all = figures::all(&data).0;
        let figure = all.iter().find(|f| f.name() == "roofline").unwrap();
        let notes = figure.frame.notes.iter();
        let found: Vec<&str> = notes
            .map(|note| note.text.as_str())
            .filter(|text| text.contains("tensor cores"))
            .collect();
        match who {
            None => assert!(found.is_empty(), "{found:?}"),
            Some(who) => assert!(found.len() == 1 && found[0].contains(who), "{found:?}"),
        }
    }
}

fn point(label: &str, intensity: f64, rate: f64) -> roofline::Point {
    roofline::Point {
        label: label.to_string(),
        ink: Ink::Hue(2),
        hollow: false,
        intensity,
        rate,
    }
}

#[test]
fn rooflines_of_many_far_and_equal_points() {
    let roof = Roof {
        bytes_per_s: 4e12,
        operations_per_s: 5e13,
    };
    let long = "n".repeat(200);
    let equal: Vec<_> = (0..20)
        .map(|_| point("the same place", 10.0, 1e13))
        .collect();
    let far = vec![
        point(&long, 1e-6, 1e3),
        point("near the roof", 12.5, 4.9e13),
        point(&long, 1e6, 5e13),
    ];
    for points in [equal, far, Vec::new(), vec![point("above", 1.0, 9e13)]] {
        let panel = |title: &str| roofline::Panel {
            title: title.to_string(),
            note: "rows 1, width 1".to_string(),
            points: points.clone(),
            absent: vec![format!("Not on it: {long}, no FP32 operations.")],
        };
        for count in [1, 2, 5] {
            let chart = Roofline {
                roof,
                promised: Some(roof),
                panels: vec![panel("Matrix multiplication"); count],
            };
            let what = format!("{count} rooflines of {}", points.len());
            for svg in look_at_chart(&what, &chart) {
                look::assert_dots_are_clear(&svg, &what);
            }
        }
    }
}

#[test]
fn ladders_of_long_names_failures_and_far_times() {
    let long = "n".repeat(200);
    let step = |label: &str, value: Option<f64>, detail: &str| ladder::Step {
        label: label.to_string(),
        strong: value.is_some(),
        detail: detail.to_string(),
        bars: vec![ladder::Bar {
            swatch: palette::swatch("rust", 0),
            value,
            range: value.map(|v| (v * 0.9, v * 1.1)),
            shown: value.map_or("failed its check".to_string(), |v| format!("{v}")),
        }],
    };
    let words = "What changed, in many words. ".repeat(20);
    let steps = vec![
        step(&long, Some(10_000.0), &words),
        step("short", Some(0.001), ""),
        step("failed", None, &long),
    ];
    let section = |steps| ladder::Section {
        title: "Matrix multiplication".to_string(),
        note: "m 1, n 1, k 1".to_string(),
        steps,
    };
    let none = vec![step("nothing measured", None, "")];
    look_at_chart(
        "ladder",
        &Ladder {
            sections: vec![section(steps), section(none)],
        },
    );
}

#[test]
fn runs_of_identical_single_and_wild_samples() {
    let cell = |samples: Vec<f64>, rounds: usize| runs::Cell {
        label: "n".repeat(200),
        shown: "10,000 µs".to_string(),
        ink: Ink::Hue(0),
        rounds: vec![
            runs::Round {
                samples,
                median: 1.0
            };
            rounds
        ],
    };
    let wild: Vec<f64> = (0..100).map(|i| 10_f64.powi(i % 13 - 6)).collect();
    let section = |cells| runs::Section {
        title: "Matrix multiplication".to_string(),
        note: "m 1, n 1, k 1".to_string(),
        cells,
    };
    let chart = Runs {
        sections: vec![
            section(vec![cell(vec![1.0; 100], 3), cell(vec![1.0], 1)]),
            section(vec![cell(wild, 30); 20]),
        ],
    };
    assert!(chart.beyond() > 0);
    look_at_chart("runs", &chart);

    // Five cells stand in lines of three and two: the lines of the scale end with the cells.
    let five = Runs {
        sections: vec![section(vec![cell(vec![1.0; 9], 3); 5])],
    };
    let desktop = &look_at_chart("five runs", &five)[0];
    let mut ends: IndexMap<&str, std::collections::BTreeSet<&str>> = IndexMap::new();
    for path in desktop.split("<path d=\"M").skip(1) {
        if let Some((from, to)) = path.split('"').next().unwrap().split_once('L') {
            let [from, to] = [from, to].map(|at| at.split(' ').next().unwrap());
            ends.entry(from).or_default().insert(to);
        }
    }
    assert!(ends.values().any(|ends| ends.len() == 2), "{ends:?}");
}

/// Nothing asks for a font: text is outlines, and the renderer knows no font at all.
#[test]
fn no_font_on_the_system() {
    let root = Root::with_everything();
    let fonts = Fonts::new().unwrap();
    let data = Data::read(root.path(), "mage-002", &fonts).unwrap();
    for figure in figures::all(&data).0 {
        let svg = figure.svg(&fonts, Layout::Phone, Theme::Light).text;
        for asks in ["<text", "<tspan", "font-family", "@font-face"] {
            assert!(!svg.contains(asks), "{}: {asks}", figure.name());
        }
    }
}

/// Files as the original project wrote them: no schema version, no provenance, no kernel of `rust`.
#[test]
fn evidence_from_an_older_schema() {
    let root = Root::with_both();
    let cases = support::cases("mage-002", |_, _| 1.0);
    let mut old = evidence("mage-002", "mage-002", "NVIDIA H200", &cases, 1);
    old.results.schema_version = None;
    old.results.provenance = None;
    old.profiles.schema_version = None;
    let rounds = old.results.results.iter_mut().flat_map(|op| &mut op.rounds);
    for case in rounds.flat_map(|round| round.implementations.values_mut()) {
        case.kernel = None;
        case.correctness.max_abs_error_fp64 = None;
        case.correctness.max_error_share = None;
    }
    root.store("mage-002", &old);
    let html = page(&root);
    assert!(html.contains("45 of 45") && html.contains("What changed since mage-001"));
    assert!(html.contains("Recorded by one side alone"));
}
