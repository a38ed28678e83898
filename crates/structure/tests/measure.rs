//! The whole way from command lines to stored counters, with a played `ncu`.

#![cfg(unix)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_evidence::artifact::{Build, Device, SourceTree, TreeState};
use mage_evidence::experiment::Experiment;
use mage_kernels::objects::objects;
use mage_profile::ncu::Ncu;
use mage_structure::counters::measure::{Bench, measure};
use mage_structure::counters::stored;
use mage_structure::report::selection;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Reads its own command line as `ncu` does and writes a table with the launch that the variant asks for.
const NCU: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        --log-file) log=$2 ;;
        --metrics) metrics=$2 ;;
        --variant) variant=$2 ;;
        --launch-skip) skip=$2 ;;
        --warmup) test "$2" = "$skip" || exit 3 ;;
    esac
    shift
done
case "$metrics" in *REFUSED*)
    echo "==PROF== Connected to process 1 (/home/someone/mage-harness)" >"$log"
    echo "==ERROR== Failed to find metric REFUSED" >>"$log"
    exit 1 ;;
esac
value=7
case "$metrics" in *per_opcode) value="7 (FFMA: 7)" ;; esac
case $variant in
    tiled_matmul) grid="64, 64, 1" block="16, 16, 1" ;;
    tiled_matmul_registers) grid="16, 16, 1" ;;
    tiled_matmul_8x4) grid="16, 8, 1" ;;
    bias_gelu) grid="12288, 1, 1" ;;
    layer_norm) grid="4096, 1, 1" ;;
    layer_norm_*) grid="512, 1, 1" ;;
    triangle) grid="2048, 1, 1" ;;
    neighbor) grid="1024, 1, 1" ;;
esac
names=$(echo "$metrics" | sed 's/,/","/g')
blanks=$(echo "$metrics" | sed 's/[^,]*/inst/g; s/,/","/g')
values=$(echo "$metrics" | sed "s/[^,]*/$value/g; s/,/\",\"/g")
{
    echo '"ID","Kernel Name","Block Size","Grid Size","'"$names"'"'
    echo '"","","","","'"$blanks"'"'
    echo '"0","'"$variant"'","('"${block:-256, 1, 1}"')","('"$grid"')","'"$values"'"'
} >"$log"
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Measures mage-002 with a played `ncu` that does not know a metric.
fn run(directory: &Path, unknown: &str) -> anyhow::Result<PathBuf> {
    let path = directory.join("ncu");
    std::fs::write(&path, NCU.replace("REFUSED", unknown)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let harness = directory.join("mage-harness");
    std::fs::write(&harness, "harness").unwrap();
    let ncu = Ncu {
        path,
        version: "Version 2025.3.1.0".into(),
    };
    let bench = Bench {
        root: &root(),
        ncu: &ncu,
        harness: &harness,
        inputs: Path::new("target/inputs"),
    };
    let device = Device {
        name: "NVIDIA GeForce RTX 4090".into(),
        compute_capability: "8.9".into(),
        multiprocessors: 128,
        memory_bytes: 1 << 34,
        l2_bytes: 1 << 26,
        max_sm_clock_mhz: 3105,
        max_memory_clock_mhz: 10501,
        memory_bus_bits: 384,
        driver: "580.159.04".into(),
        cuda_driver: "13.0".into(),
        uuid: None,
    };
    let build = Build {
        tree: SourceTree {
            state: TreeState::Unknown,
            commit: None,
            difference_sha256: None,
        },
        source_sha256: Default::default(),
        objects_sha256: objects()
            .iter()
            .map(|o| (o.file_name(), o.sha256()))
            .collect(),
        binary_sha256: String::new(),
    };
    let experiment = Experiment::load(&root(), "mage-002").unwrap();
    measure(&experiment, &bench, device, build, &directory.join("raw"))
}

#[test]
fn every_variant_is_measured_and_imported() {
    let directory = tempfile::tempdir().unwrap();
    let raw = run(directory.path(), "no-such-metric").unwrap();
    let kept = stored::import(directory.path(), &raw, None).unwrap();
    assert!(kept.ends_with("artifacts/structure-rtx-4090"));
    let stored = stored::all(directory.path()).unwrap().remove(0);
    let ids: Vec<&str> = stored
        .run
        .launches
        .iter()
        .map(|l| l.variant.as_str())
        .collect();
    let experiment = Experiment::load(&root(), "mage-002").unwrap();
    let selection = selection(&experiment, None).unwrap();
    let expected: Vec<&str> = selection.iter().map(|(_, variant)| variant.id).collect();
    assert_eq!(ids, expected);
    let registers = &stored.counters["tiled_matmul_registers"];
    assert_eq!(registers["sass__inst_executed_per_opcode[FFMA]"], 7);
    let launch = &stored.run.launches[2];
    assert!(launch.readings.iter().all(|read| read.failed.is_none()));
    // The command is recorded without a path of the machine.
    let command = launch.readings[0].command.join(" ");
    assert!(
        command.starts_with("ncu --log-file tiled_matmul_8x4.core.csv"),
        "{command}"
    );
    assert!(
        command.contains(" mage-harness capture --experiment mage-002"),
        "{command}"
    );
}

#[test]
fn an_unknown_counter_costs_its_group_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let raw = run(directory.path(), "smsp__sass_l1tex").unwrap();
    stored::import(directory.path(), &raw, None).unwrap();
    let stored = stored::all(directory.path()).unwrap().remove(0);
    let failed: Vec<_> = stored.run.launches[0]
        .readings
        .iter()
        .map(|r| r.failed.clone())
        .collect();
    let reason = "Failed to find metric smsp__sass_l1tex".to_owned();
    assert_eq!(failed, [None, None, Some(reason)]);
}

#[test]
fn a_required_counter_that_is_unknown_stops_and_says_what_ncu_said() {
    let directory = tempfile::tempdir().unwrap();
    let error = run(directory.path(), "launch__registers")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "tiled_matmul: the counters of group core cannot be read: Failed to find metric launch__registers"
    );
    assert!(!directory.path().join("raw").exists());
}
