//! The same bytes everywhere; written whole, checked by name.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use mage_plot::{check, draw, write};
use std::process::{Command, Output};
use std::sync::LazyLock;
use support::Root;

const NAMESPACE: &str = "mage-002";

/// What every root of the same evidence gives.
static DRAWN: LazyLock<Vec<mage_plot::Output>> =
    LazyLock::new(|| draw(Root::with_both().path(), NAMESPACE).unwrap());

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
    let root = Root::with_both();
    // From another directory, and twice.
    assert!(draw(root.path(), NAMESPACE).unwrap() == *DRAWN);

    let environment = [
        ("LC_ALL", "de_DE.UTF-8"),
        ("LANG", "tr_TR.UTF-8"),
        ("TZ", "Asia/Tokyo"),
    ];
    let drawn = run(&root, &[], &environment);
    assert!(drawn.status.success(), "{drawn:?}");
    check(root.path(), &DRAWN).unwrap();
    let checked = run(&root, &["--check"], &[("TZ", "UTC")]);
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn no_path_of_this_machine_is_in_any_file() {
    let root = Root::with_both();
    let place = root.path().to_string_lossy().into_owned();
    let outputs = draw(root.path(), NAMESPACE).unwrap();
    for output in &outputs {
        let text = String::from_utf8_lossy(&output.bytes);
        assert!(!text.contains(&place), "{}", output.path.display());
    }
}

#[test]
fn check_names_what_differs_is_missing_or_stale_and_write_mends_it() {
    let root = Root::with_both();
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
    let root = Root::with_both();
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
    assert!(
        !root.path().join("docs/assets/figures").exists(),
        "nothing is written"
    );
}

#[test]
fn the_page_refers_only_to_files_that_are_drawn() {
    let root = Root::with_both();
    let outputs = &*DRAWN;
    write(root.path(), outputs).unwrap();
    let page = root.path().join("docs/experiments/mage-002/index.html");
    let html = std::fs::read_to_string(&page).unwrap();
    let mut seen = 0;
    for attribute in [" href=\"", " src=\"", " srcset=\""] {
        for rest in html.split(attribute).skip(1) {
            let address = rest.split('"').next().unwrap();
            if address.starts_with("data:") {
                continue;
            }
            assert!(page.with_file_name(address).exists(), "{address}");
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen}");
}
