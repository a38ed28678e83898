//! The same bytes everywhere; written whole, checked by name.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use mage_plot::{articles, check, draw, index, write};
use std::process::{Command, Output};
use std::sync::LazyLock;
use support::Root;

const NAMESPACE: &str = "mage-002";

/// What every root of the same evidence gives.
static DRAWN: LazyLock<Vec<mage_plot::Output>> =
    LazyLock::new(|| draw(Root::with_everything().path(), NAMESPACE).unwrap());

fn run(root: &Root, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    // From below the root: the program finds the root itself.
    Command::new(env!("CARGO_BIN_EXE_mage-plot"))
        .current_dir(root.path().join("experiments/published"))
        .args(["--namespace", NAMESPACE])
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn the_same_bytes_from_any_directory_locale_and_time_zone() {
    let root = Root::with_everything();
    let environment = [
        ("LC_ALL", "de_DE.UTF-8"),
        ("LANG", "tr_TR.UTF-8"),
        ("TZ", "Asia/Tokyo"),
    ];
    let drawn = run(&root, &[], &environment);
    assert!(drawn.status.success(), "{drawn:?}");
    check(root.path(), &DRAWN).unwrap();
    // DRAWN has another root: no file names either.
    let place = root.path().to_string_lossy().into_owned();
    for output in DRAWN.iter() {
        let text = std::fs::read(root.path().join(&output.path)).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(&place), "{}", output.path.display());
    }
}

#[test]
fn check_names_what_differs_is_missing_or_stale_and_write_mends_it() {
    let root = Root::with_everything();
    let outputs = &*DRAWN;
    write(root.path(), outputs).unwrap();
    check(root.path(), outputs).unwrap();

    let at = |file: &str| root.path().join(file);
    let figures = "docs/assets/figures/mage-002";
    std::fs::write(at("docs/experiments/mage-002/index.md"), "changed").unwrap();
    std::fs::remove_file(at(&format!("{figures}/launches.svg"))).unwrap();
    std::fs::write(at(&format!("{figures}/old.svg")), "old").unwrap();
    let error = check(root.path(), outputs).unwrap_err().to_string();
    insta::assert_snapshot!(error, @r"
    docs/assets/figures/mage-002/launches.svg: missing
    docs/experiments/mage-002/index.md: differs from what the evidence gives
    docs/assets/figures/mage-002/old.svg: stale, the evidence no longer gives it
    to draw them again: cargo xtask figures
    ");
    let checked = run(&root, &["--check"], &[]);
    assert!(!checked.status.success());
    assert!(String::from_utf8_lossy(&checked.stderr).contains("launches.svg: missing"));

    write(root.path(), outputs).unwrap();
    check(root.path(), outputs).unwrap();
    assert!(!at(&format!("{figures}/old.svg")).exists());
}

#[test]
fn json_has_the_plotted_values_and_what_was_left_out() {
    let root = Root::with_everything();
    let printed = run(&root, &["--json"], &[]);
    assert!(printed.status.success(), "{printed:?}");
    let values: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(values["namespace"], NAMESPACE);
    assert_eq!(values["left_out"], serde_json::json!([]));
    assert_eq!(values["figures"][0]["figure"], "kernel-time");
    assert_eq!(
        values["figures"][0]["values"][0]["Operation"],
        "Matrix multiplication"
    );
    assert!(values["figures"][0]["values"][0]["PyTorch (µs)"].is_f64());
    let figures = values["figures"].as_array().unwrap();
    let samples = figures.iter().find(|f| f["figure"] == "samples").unwrap();
    assert!(samples["plotted"][0]["rounds_us"][2][3].is_f64());

    std::fs::remove_file(root.profiles_file(NAMESPACE)).unwrap();
    let printed = run(&root, &["--json"], &[]);
    let values: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(values["left_out"][0]["figure"], "kernel-time");
    assert_eq!(
        values["left_out"][0]["reason"],
        "the namespace has no profiler captures"
    );
    assert!(
        !root.path().join("docs/assets/figures").exists(),
        "nothing is written"
    );
}

/// Addresses that a page refers to.
fn addresses(html: &str) -> Vec<String> {
    let mut found = Vec::new();
    for attribute in [" href=\"", " src=\"", " srcset=\""] {
        for rest in html.split(attribute).skip(1) {
            let address = rest.split('"').next().unwrap();
            if !address.starts_with("data:") && !address.starts_with('#') {
                found.push(address.to_string());
            }
        }
    }
    found
}

#[test]
fn pages_refer_only_to_files_that_are_drawn() {
    let root = Root::with_everything();
    let namespaces = ["mage-001", NAMESPACE].map(str::to_string);
    write(root.path(), &draw(root.path(), "mage-001").unwrap()).unwrap();
    write(root.path(), &DRAWN).unwrap();
    let kept = root.path().join("docs/notes.md");
    std::fs::write(&kept, "someone's own").unwrap();
    let index = index(root.path(), &namespaces).unwrap();
    write(root.path(), &index).unwrap();
    check(root.path(), &index).unwrap();
    assert!(kept.exists(), "only what is ours is removed from the site");

    for (page, least) in [
        ("docs/index.html", 4),
        ("docs/experiments/mage-001/index.html", 30),
        ("docs/experiments/mage-002/index.html", 50),
    ] {
        let page = root.path().join(page);
        let found = addresses(&std::fs::read_to_string(&page).unwrap());
        assert!(found.len() >= least, "{}", found.len());
        for address in found {
            assert!(page.with_file_name(&address).exists(), "{address}");
        }
    }
}

/// Pages that are committed as Markdown are pages of the site; links lead both ways, and a ladder has its figures.
#[test]
fn pages_beside_a_namespace_are_html_and_linked_both_ways() {
    let root = Root::with_everything();
    let at = |path: &str| root.path().join(path);
    let words = "# A title\n\nWords, and [more](mage-002.md).\n\n## Matrix multiplication, 1024 x 1024 x 1024\n";
    for page in [
        "claims/mage-002",
        "ladder/mage-002",
        "structure/mage-002",
        "calibration/h200",
    ] {
        let path = at(&format!("docs/{page}.md"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, words).unwrap();
    }
    let namespaces = ["mage-001", NAMESPACE].map(str::to_string);
    for namespace in &namespaces {
        write(root.path(), &draw(root.path(), namespace).unwrap()).unwrap();
    }
    let all = || {
        let mut all = index(root.path(), &namespaces).unwrap();
        all.extend(articles(root.path(), &namespaces).unwrap());
        all
    };
    write(root.path(), &all()).unwrap();
    check(root.path(), &all()).unwrap();

    let text = |path: &str| std::fs::read_to_string(at(path)).unwrap();
    let page = "docs/experiments/mage-002/index.html";
    for (kind, stem) in [
        ("claims", NAMESPACE),
        ("ladder", NAMESPACE),
        ("structure", NAMESPACE),
        ("calibration", "h200"),
    ] {
        let address = format!("href=\"../../{kind}/{stem}.html\"");
        assert!(text(page).contains(&address), "{address}");
        assert!(
            text("docs/index.html").contains(&format!("href=\"{kind}/{stem}.html\"")),
            "{kind}"
        );
        let article = text(&format!("docs/{kind}/{stem}.html"));
        for back in ["../index.html", "../experiments/mage-002/index.html"] {
            assert!(
                article.contains(&format!("href=\"{back}\"")),
                "{kind}: {back}"
            );
        }
        let file = at(&format!("docs/{kind}/{stem}.html"));
        for address in addresses(&article) {
            // In this test all are named alike.
            if address != "mage-002.html" {
                assert!(file.with_file_name(&address).exists(), "{kind}: {address}");
            }
        }
        let figure = article.contains("../assets/figures/mage-002/ladder-matmul.svg");
        assert_eq!(figure, kind == "ladder", "{kind}");
    }
    // Of another namespace, and of none.
    assert!(!text("docs/experiments/mage-001/index.html").contains("claims/"));
    assert!(text("docs/calibration/h200.html").contains("experiments/mage-001/index.html"));
    assert!(!text("docs/claims/mage-002.html").contains("experiments/mage-001/index.html"));

    std::fs::write(at("docs/claims/kept.json"), "someone's own").unwrap();
    std::fs::write(at("docs/claims/old.html"), "stale").unwrap();
    let error = check(root.path(), &all()).unwrap_err().to_string();
    assert!(error.starts_with("docs/claims/old.html: stale"), "{error}");
}

#[test]
fn the_page_says_what_is_claimed_what_changed_and_how_to_do_it_again() {
    for ending in ["index.html", "index.md"] {
        let page = DRAWN.iter().find(|o| o.path.ends_with(ending)).unwrap();
        let text = String::from_utf8(page.bytes.clone()).unwrap();
        for part in [
            "Every full-output check passes.",
            "not testable here",
            "What changed since mage-001",
            "What moved",
            "Margin 3%",
            "25 warm-up calls",
            "1 capture a case",
            "cargo xtask reproduce --experiment mage-002",
            "SHA-256",
        ] {
            assert!(text.contains(part), "{ending}: {part}");
        }
        assert!(
            !text.contains("{{"),
            "{ending}: a place that nothing filled"
        );
    }
}

/// A reader of the Markdown has no head of links: the last line of every page leads back.
#[test]
fn every_markdown_page_leads_back() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut seen = 0;
    for directory in [
        "calibration",
        "claims",
        "counters",
        "errors",
        "ladder",
        "structure",
    ] {
        let Ok(files) = std::fs::read_dir(docs.join(directory)) else {
            continue;
        };
        for path in files.map(|file| file.unwrap().path()) {
            if path.extension().is_some_and(|ending| ending == "md") {
                let text = std::fs::read_to_string(&path).unwrap();
                let end = mage_evidence::ALL_RESULTS;
                assert!(text.ends_with(end), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 7, "{seen}");
}
