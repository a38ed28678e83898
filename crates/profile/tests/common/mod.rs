//! A workspace, a profiler and a target that play back what real ones do.

#![allow(dead_code)] // each test file uses its part
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_profile::run::Options;
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

pub const ITERATIONS: u32 = 4;

/// How the fake profiler behaves in `nsys profile`: runs the target, leaves a report.
pub const PROFILE: &str = r#""$@"; status=$?
echo "Generating '/tmp/nsys-report-1.qdstrm'"
echo report > "$out.nsys-rep"
exit $status"#;

/// And in `nsys export`: leaves the database that the test made for the case.
pub const EXPORT: &str = r#"cp "$dir/$case.sqlite" "$out""#;

/// A workspace with an experiment of two operations and three implementations, and programs in it.
pub struct Workspace {
    pub directory: TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let this = Self { directory };
        std::fs::create_dir_all(this.path("experiments")).unwrap();
        std::fs::create_dir_all(this.path("inputs")).unwrap();
        std::fs::write(this.path("Cargo.lock"), "").unwrap();
        std::fs::write(this.path("experiments/x-1.toml"), spec()).unwrap();
        this.script(
            "mage-harness",
            r#"env > "$0.env"
case "$*" in
*"--implementation rust"*) echo '{"gpu_uuid": "GPU-1", "kernel": "kernel"}';;
*) echo '{"gpu_uuid": "GPU-1"}';;
esac"#,
        );
        this.nsys(PROFILE, EXPORT);
        for operation in ["matmul", "gelu"] {
            for implementation in ["python", "triton", "rust"] {
                this.database(operation, implementation, &[("kernel", 1000)]);
            }
        }
        this
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes an executable script. The file is written by another process: a thread that forks
    /// meanwhile cannot hold it open, so it can be started at once.
    pub fn script(&self, name: &str, body: &str) {
        let text = self.path(&format!("{name}.text"));
        std::fs::write(&text, format!("#!/bin/sh\n{body}\n")).unwrap();
        let status = Command::new("install")
            .args(["-m", "755"])
            .args([&text, &self.path(name)])
            .status()
            .unwrap();
        assert!(status.success());
    }

    /// Writes the fake profiler. `$out` is the path after `-o`, `$dir` the workspace, `$case` the
    /// operation and implementation; in `profile`, `$@` is the target.
    pub fn nsys(&self, profile: &str, export: &str) {
        let dir = self.directory.path().display();
        self.script(
            "nsys",
            &format!(
                r#"dir='{dir}'
[ "$1" = --version ] && {{ echo "NVIDIA Nsight Systems version 2099.1.1.1-fake"; exit 0; }}
echo "$*" >> "$dir/log"
verb=$1
while [ "$1" != -o ]; do shift; done
out=$2; shift 2
base=$(basename "$out" .sqlite); case=${{base%-*-*}}
case $verb in
profile)
{profile}
;;
export)
{export}
;;
esac"#
            ),
        );
    }

    pub fn options(&self) -> Options {
        let mut options = Options::new(
            self.directory.path().to_path_buf(),
            "x-1".to_string(),
            self.path("inputs"),
            self.path("mage-harness"),
        );
        options.nsys = Some(self.path("nsys"));
        options.timeout = Duration::from_secs(20);
        options.grace = Duration::from_millis(300);
        options
    }

    /// Makes the export of one case: in every iteration the kernels given, by name and nanoseconds.
    pub fn database(&self, operation: &str, implementation: &str, kernels: &[(&str, i64)]) {
        let path = self.path(&format!("{operation}-{implementation}.sqlite"));
        let _ = std::fs::remove_file(&path);
        make_database(&path, operation, implementation, kernels);
    }

    /// Changes the export of one case.
    pub fn change(&self, case: &str, sql: &str) {
        change(&self.path(&format!("{case}.sqlite")), sql);
    }

    /// Private directories of all captures so far, from the fake's log.
    pub fn private_directories(&self) -> Vec<PathBuf> {
        let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        log.lines()
            .filter_map(|line| {
                let mut words = line.split(' ').skip_while(|word| *word != "-o");
                Some(Path::new(words.nth(1)?).parent()?.to_path_buf())
            })
            .collect()
    }

    /// No private directory, no published or partial profile.
    pub fn assert_nothing_left(&self) {
        for directory in self.private_directories() {
            assert!(!directory.exists(), "{} was left", directory.display());
        }
        let artifacts = self.path("artifacts");
        if artifacts.exists() {
            let left: Vec<_> = std::fs::read_dir(artifacts).unwrap().collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

/// Whether a process runs.
pub fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

/// Opens a database that need not outlive a power cut.
fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY;")
        .unwrap();
    connection
}

pub fn change(path: &Path, sql: &str) {
    let connection = open(path);
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

/// The export of one case: in every iteration the kernels given, by name and nanoseconds.
pub fn make_database(path: &Path, operation: &str, implementation: &str, kernels: &[(&str, i64)]) {
    let range = |iteration| format!("mage:{operation}:{implementation}:{iteration}");
    let ranges: Vec<(String, &[(&str, i64)])> =
        (0..ITERATIONS).map(|i| (range(i), kernels)).collect();
    make_ranges(path, &ranges);
}

/// The schema of Nsight Systems 2025, as far as it is read, with ranges one after the other, each with the kernels
/// that it launched.
pub fn make_ranges(path: &Path, ranges: &[(String, &[(&str, i64)])]) {
    let mut connection = open(path);
    connection
        .execute_batch(
            "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
             CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
             CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, graphNodeId INTEGER);
             CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);
             CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER);
             CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
             CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT);
             INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.22.1');
             INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, '', 'CudaDriverVersion', 1, '13000');
             INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 1, 'Number of CUDA events collected: 12', 1);
             INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaDeviceSynchronize_v3020');",
        )
        .unwrap();
    let (pid, tid) = (281_494_371_172_352_i64, 281_494_371_173_508_i64);
    let transaction = connection.transaction().unwrap();
    let mut correlation = 100;
    let mut names: Vec<&str> = Vec::new();
    for (place, (text, kernels)) in ranges.iter().enumerate() {
        let host = 1_000_000 + place as i64 * 100_000;
        transaction
            .execute(
                "INSERT INTO NVTX_EVENTS VALUES (?1, ?2, 59, NULL, ?3, ?4, NULL, 0)",
                params![host, host + 50_000, text, tid],
            )
            .unwrap();
        for (i, (name, ns)) in kernels.iter().enumerate() {
            let known = names.iter().position(|known| known == name);
            let id = 10 + known.unwrap_or(names.len()) as i64;
            if known.is_none() {
                names.push(name);
                transaction
                    .execute("INSERT INTO StringIds VALUES (?1, ?2)", params![id, name])
                    .unwrap();
            }
            correlation += 1;
            let call = host + 1000 * (i as i64 + 1);
            transaction
                .execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?2, 0, ?3, ?4, 1, 0, NULL)",
                    params![call, call + 500, tid, correlation],
                )
                .unwrap();
            // The device lags behind the host, beyond the range's end.
            let start = call + 70_000;
            transaction
                .execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?2, 0, 1, NULL, 7, ?3, ?4, ?5, ?5, ?5, 32, 8, 2, 1, 128, 1, 1, 1024, 512, NULL)",
                    params![start, start + ns, correlation, pid, id],
                )
                .unwrap();
        }
    }
    transaction.commit().unwrap();
    connection.close().unwrap();
}

fn spec() -> String {
    let digest = "0".repeat(64);
    format!(
        r#"
name = "x-1"
title = "T"
seed = 7
implementations = ["python", "triton", "rust"]
[protocol]
rounds = 3
iterations = 100
warmup = 2
captures = 1
capture_iterations = {ITERATIONS}
[tolerance]
rtol = 1e-4
atol = 1e-4
[words]
summary = ""
kernel_time = ""
event_span = ""
launches = ""
limits = ""
[[operations]]
name = "matmul"
dims = [17, 19, 23]
variant = "kernel"
sha256 = {{ "a.bin" = "{digest}", "b.bin" = "{digest}" }}
[[operations]]
name = "gelu"
dims = [3, 257]
variant = "kernel"
sha256 = {{ "a.bin" = "{digest}", "b.bin" = "{digest}" }}
"#
    )
}
