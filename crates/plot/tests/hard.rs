//! Names, counts and values that break careless drawings.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/look.rs"]
mod look;
mod support;

use indexmap::IndexMap;
use mage_evidence::published::Values;
use mage_plot::chart::Layout;
use mage_plot::data::Data;
use mage_plot::figures;
use mage_plot::font::Fonts;
use mage_plot::palette::Theme;
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
