//! Pictures to look at: `cargo test -p mage-plot --test preview -- --ignored`, then target/preview/.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/six.rs"]
mod six;
mod support;

use indexmap::IndexMap;
use mage_plot::chart::Layout;
use mage_plot::data::Data;
use mage_plot::font::Fonts;
use mage_plot::palette::Theme;
use mage_plot::{figures, png};
use std::path::{Path, PathBuf};
use support::{Root, evidence, same, values};

fn out() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/preview")
}

fn pictures(root: &Root, what: &str) {
    let fonts = Fonts::new().unwrap();
    let data = Data::read(root.path(), "mage-002", &fonts).unwrap();
    let directory = out().join(what);
    std::fs::create_dir_all(&directory).unwrap();
    for figure in &figures::all(&data).0 {
        for (layout, width) in [(Layout::Desktop, "desktop"), (Layout::Phone, "phone")] {
            for (theme, name) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
                let svg = figure.svg(&fonts, layout, theme);
                let file = format!("{}.{width}.{name}", figure.name());
                let picture = png::render(&svg.text).unwrap();
                std::fs::write(directory.join(format!("{file}.png")), picture).unwrap();
                std::fs::write(directory.join(format!("{file}.svg")), svg.text).unwrap();
            }
        }
    }
    // A root to try the program on.
    let kept = directory.join("root");
    for file in root.files() {
        mage_evidence::store::write_bytes(
            &kept.join(&file),
            &std::fs::read(root.path().join(&file)).unwrap(),
        )
        .unwrap();
    }
    if let Some(ladder) = &data.ladder {
        let page = kept.join("docs/ladder/mage-002.md");
        mage_evidence::store::write_bytes(&page, ladder.markdown().as_bytes()).unwrap();
    }
    mage_plot::write(&kept, &mage_plot::draw(&kept, "mage-002").unwrap()).unwrap();
    // And the site, for `MAGE_SITE=.../docs/ npm run look`.
    let namespaces = ["mage-002".to_string()];
    let mut site = mage_plot::index(&kept, &namespaces).unwrap();
    site.extend(mage_plot::articles(&kept, &namespaces).unwrap());
    mage_plot::write(&kept, &site).unwrap();
}

#[test]
#[ignore = "writes pictures for the eye"]
fn preview() {
    pictures(&Root::with_everything(), "plain");

    let long = "n".repeat(200);
    let names = [
        "python",
        "triton",
        "rust",
        "<b>|\"x\"</b>",
        &long,
        "שלום",
        "q",
        "r",
        "s",
        "t",
        "u",
        "v",
        "w",
        "x",
    ];
    let all = names.iter().enumerate().map(|(i, name)| {
        let us = 0.001 * 3.3_f64.powi(i as i32);
        (name.to_string(), values(us, us, 1 + i as u32 % 4))
    });
    let all: IndexMap<_, _> = all.collect();
    let hard = Root::with_both();
    hard.store(
        "mage-002",
        &evidence("mage-002", "mage-002", "NVIDIA H200", &same(&all), 3),
    );
    pictures(&hard, "hard");

    pictures(&six::root(), "six");

    let one = [("rust".to_string(), values(7.0, 5.0, 1))]
        .into_iter()
        .collect();
    let alone = Root::with_both();
    alone.store(
        "mage-002",
        &evidence("mage-002", "mage-002", "NVIDIA H200", &same(&one)[..1], 1),
    );
    pictures(&alone, "alone");
}
