//! `xtask` as a program: exit codes of unknown names, and readers that go away.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Command, Output, Stdio};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments);
    command
}

/// What it says where nobody reads its standard output.
fn unread(arguments: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = program(arguments);
    command.stdout(writer).stderr(Stdio::piped());
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    for arguments in [
        &["diff", "mage-001", "mage-002"][..],
        &["verify", "mage-001"][..],
        &["claims", "--experiment", "mage-002", "--check"][..],
    ] {
        let output = unread(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}

/// Whatever the name is of: 2, and what there is in its place.
#[test]
fn an_unknown_name_is_wrong_usage() {
    for arguments in [
        &["reproduce", "--replay", "--experiment", "nowhere"][..],
        &[
            "reproduce",
            "--replay",
            "--experiment",
            "mage-001",
            "--namespace",
            "nowhere",
        ][..],
        &["figures", "--check", "--experiment", "nowhere"][..],
        &["verify", "nowhere"][..],
        &["diff", "nowhere", "mage-001"][..],
        &["diff", "mage-001", "nowhere"][..],
        &["claims", "--experiment", "nowhere"][..],
        &["structure", "--experiment", "nowhere"][..],
        &["calibrate", "--measure", "--experiment", "nowhere"][..],
        &[
            "counters",
            "measure",
            "--experiment",
            "nowhere",
            "--output",
            "target/nowhere",
        ][..],
    ] {
        let output = program(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains("found \"nowhere\", expected ")
                || said.contains("found nowhere, expected "),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn a_margin_below_zero_is_refused_by_its_range() {
    for margin in ["-1", "-1%"] {
        let output = program(&["diff", "mage-001", "mage-002", "--margin", margin])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let range = format!("found {margin:?}, expected percent from 0 to 100");
        assert!(said.contains(&range), "{said}");
    }
}
