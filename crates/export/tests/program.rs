//! `mage-export` as a program: the exit code of an unknown name, and a reader that goes away.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Command, Output, Stdio};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mage-export"));
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
        &["--namespace", "mage-001", "--check"][..],
        &["--namespace", "mage-002", "--check"],
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
        &["--namespace", "nowhere"][..],
        &["--namespace", "nowhere", "--check"][..],
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
