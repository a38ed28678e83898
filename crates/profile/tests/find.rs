//! Finding the profiler in every place, and telling why one cannot be used.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::Workspace;
use mage_profile::find::{Importer, Places, Source, find_in};
use std::path::PathBuf;

const ANSWERS: &str =
    r#"echo "NVIDIA Nsight Systems version $(basename "$(dirname "$(dirname "$0")")")""#;

/// A root with an `nsys` at each of `places`.
fn machine(places: &[(&str, &str)]) -> (Workspace, Places) {
    let workspace = Workspace::new();
    for (place, body) in places {
        std::fs::create_dir_all(workspace.path(place).parent().unwrap()).unwrap();
        workspace.script(place, body);
    }
    let places = Places {
        root: workspace.directory.path().to_path_buf(),
        ..Places::default()
    };
    (workspace, places)
}

#[test]
fn the_newest_install_is_taken_first() {
    let systems = "opt/nvidia/nsight-systems/2025.10.1/bin/nsys";
    let older = "opt/nvidia/nsight-systems/2025.9.2/bin/nsys";
    let toolkit = "usr/local/cuda-12.9/bin/nsys";
    let compute = "opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64/nsys";
    let (workspace, places) = machine(&[
        (compute, ANSWERS),
        (toolkit, ANSWERS),
        (older, ANSWERS),
        (systems, ANSWERS),
    ]);
    for expected in [systems, older, toolkit, compute] {
        let found = find_in(&places).unwrap();
        assert_eq!(
            (found.path.clone(), found.source),
            (workspace.path(expected), Source::Place)
        );
        let line = found.to_string();
        assert!(
            line.starts_with("NVIDIA Nsight Systems version ") && line.contains("(install place)"),
            "{line}"
        );
        std::fs::remove_file(found.path).unwrap();
    }
    let none = find_in(&places).unwrap_err().to_string();
    assert!(
        none.contains("MAGE_NSYS") && none.contains("nsight-systems"),
        "{none}"
    );
}

#[test]
fn the_option_comes_before_the_variable_before_path_and_is_not_replaced() {
    let (workspace, mut places) = machine(&[
        ("a/nsys", ANSWERS),
        ("b/nsys", ANSWERS),
        ("c/nsys", ANSWERS),
        ("bad/nsys", "exit 1"),
    ]);
    let at = |name: &str| workspace.path(name);
    places.path =
        Some(std::env::join_paths([PathBuf::from("relative"), at("bad"), at("c")]).unwrap());
    let found = find_in(&places).unwrap();
    assert_eq!((found.path, found.source), (at("c/nsys"), Source::Path));
    places.variable = Some(at("b/nsys").into());
    assert_eq!(find_in(&places).unwrap().source, Source::Variable);
    places.given = Some(at("a/nsys"));
    assert_eq!(find_in(&places).unwrap().path, at("a/nsys"));
    places.given = Some(at("bad/nsys"));
    let error = find_in(&places).unwrap_err().to_string();
    assert!(
        error.contains("bad/nsys (--nsys): --version ended with exit status 1"),
        "{error}"
    );
    places.given = Some(at("none/nsys"));
    let error = find_in(&places).unwrap_err().to_string();
    assert!(error.contains("no such file"), "{error}");
}

#[test]
fn another_program_of_the_name_is_told_apart() {
    let (workspace, mut places) = machine(&[("a/nsys", "echo some other tool 1.0")]);
    places.given = Some(workspace.path("a/nsys"));
    let error = find_in(&places).unwrap_err().to_string();
    assert!(
        error.contains("does not name Nsight Systems; it said: some other tool 1.0"),
        "{error}"
    );
}

/// The importer of a real install is a program with libraries; a system program stands in for one.
#[test]
fn the_importer_is_looked_for_beside_the_program() {
    let (workspace, mut places) = machine(&[("s/target-linux-x64/nsys", ANSWERS)]);
    places.given = Some(workspace.path("s/target-linux-x64/nsys"));
    let found = find_in(&places).unwrap();
    assert!(matches!(&found.importer, Importer::Unknown(why) if why.contains("no QdstrmImporter")));
    let host = workspace.path("s/host-linux-x64");
    std::fs::create_dir_all(&host).unwrap();
    std::fs::copy("/bin/sh", host.join("QdstrmImporter")).unwrap();
    let found = find_in(&places).unwrap();
    match &found.importer {
        Importer::Starts(path) => assert_eq!(*path, host.join("QdstrmImporter")),
        Importer::Unknown(why) => assert!(why.starts_with("ldd: "), "{why}"),
        Importer::Lacks(..) => panic!("{found}"),
    }
}
