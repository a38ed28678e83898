//! `mage-harness` as a program: exit codes, and readers that go away.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use mage_kernels::launch::{Absent, Gpu};
use std::process::{Command, Output, Stdio};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mage-harness"));
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
        &["variants"][..],
        &[
            "check",
            "--device",
            "cpu",
            "--suite",
            "small",
            "--variants",
            "bias_gelu",
        ],
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
        &["run", "--experiment", "nowhere"][..],
        &[
            "run",
            "--experiment",
            "mage-001",
            "--implementations",
            "nowhere",
            "--namespace",
            "none",
        ][..],
        &["ab", "--op", "gelu", "--a", "nowhere", "--b", "bias_gelu"][..],
        &["ab", "--op", "gelu", "--a", "bias_gelu", "--b", "nowhere"][..],
        &[
            "ab",
            "--op",
            "gelu",
            "--a",
            "bias_gelu",
            "--b",
            "bias_gelu",
            "--experiment",
            "nowhere",
        ][..],
        &["check", "--device", "cpu", "--variants", "nowhere"][..],
        &["check", "--implementations", "nowhere"][..],
        &["errors", "--experiment", "nowhere"][..],
        &[
            "inputs",
            "--experiment",
            "nowhere",
            "--output",
            "target/nowhere",
        ][..],
        &[
            "capture",
            "--experiment",
            "mage-001",
            "--op",
            "gelu",
            "--implementation",
            "nowhere",
            "--inputs",
            "x",
        ][..],
        &[
            "capture",
            "--experiment",
            "mage-001",
            "--op",
            "gelu",
            "--implementation",
            "rust",
            "--variant",
            "nowhere",
            "--inputs",
            "x",
        ][..],
        &["ladder", "--experiment", "nowhere", "--inputs", "x"][..],
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

/// Every verb that measures says the same where there is nothing to measure with, and says it first: another name would
/// not help.
#[test]
fn without_a_gpu_there_is_nothing_to_judge() {
    if !matches!(Gpu::open(), Err(Absent::NoDriver | Absent::NoDevice)) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let taken = directory.path().to_str().unwrap();
    let output = directory.path().join("run");
    let output = output.to_str().unwrap();
    for arguments in [
        &[
            "run",
            "--experiment",
            "mage-001",
            "--namespace",
            "none",
            "--output",
            output,
        ][..],
        &["run", "--experiment", "mage-001", "--output", taken],
        &[
            "run",
            "--experiment",
            "mage-001",
            "--output",
            output,
            "--resume",
        ],
        &["errors", "--experiment", "mage-001", "--output", taken],
        &["check", "--implementations", "rust"],
        &[
            "ab",
            "--op",
            "gelu",
            "--a",
            "bias_gelu",
            "--b",
            "bias_gelu_quad",
        ],
        &[
            "errors",
            "--experiment",
            "mage-001",
            "--namespace",
            "none",
            "--output",
            output,
        ],
    ] {
        let output = program(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        assert!(said.contains("NVIDIA"), "{arguments:?}: {said}");
    }
}
