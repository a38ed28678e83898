//! `mage-profile` as a program: exit codes, and a reader that goes away.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::Workspace;
use std::process::{Command, Output, Stdio};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mage-profile"));
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

/// Whatever the name is of: 2, and what there is in its place.
#[test]
fn an_unknown_name_is_wrong_usage() {
    for arguments in [
        &["run", "--experiment", "nowhere", "--inputs", "x"][..],
        &["ladder", "--experiment", "nowhere", "--inputs", "x"][..],
        &["counters", "--experiment", "nowhere", "--inputs", "x"][..],
        &[
            "run",
            "--experiment",
            "mage-001",
            "--implementations",
            "nowhere",
            "--inputs",
            "x",
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
fn a_reader_that_goes_away_ends_it_quietly() {
    let workspace = Workspace::new();
    let nsys = workspace.path("nsys");
    let output = unread(&["find", "--nsys", nsys.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""));
}

/// As a machine without a GPU: there is nothing to measure with.
#[test]
fn without_a_profiler_there_is_nothing_to_judge() {
    let workspace = Workspace::new();
    let inputs = workspace.path("inputs");
    let harness = workspace.path("mage-harness");
    for (verb, flag) in [
        ("run", "--nsys"),
        ("ladder", "--nsys"),
        ("counters", "--ncu"),
    ] {
        let output = program(&[verb, "--experiment", "x-1", flag, "/no/such/profiler"])
            .current_dir(workspace.directory.path())
            .args((verb == "ladder").then_some("--captures=2"))
            .arg("--inputs")
            .arg(&inputs)
            .arg("--harness")
            .arg(&harness)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{verb}: {said}");
    }
    let output = program(&["find", "--nsys", "/no/such/profiler"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
}
