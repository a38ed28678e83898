//! Nsight Compute: where it is and how it is asked.

use super::metrics::Group;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The environment variable that names the program.
pub const VARIABLE: &str = "MAGE_NCU";

/// Calls before the one that is read.
pub const WARMUP: u32 = 5;

/// An `ncu` that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ncu {
    /// The program.
    pub path: PathBuf,
    /// Its version line, `Version 2025.3.1.0 (build ...)`.
    pub version: String,
}

/// Finds an `ncu`: `given`, else [`VARIABLE`], else the first one that answers of PATH, the CUDA toolkit and
/// its own install place. One that is named and does not answer is an error.
///
/// # Errors
/// What was tried, and what mends it.
pub fn find(given: Option<&Path>) -> Result<Ncu, String> {
    let variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_in(given, variable, &path, Path::new("/"))
}

fn find_in(
    given: Option<&Path>,
    variable: Option<OsString>,
    path: &OsString,
    root: &Path,
) -> Result<Ncu, String> {
    if let Some(named) = given.map(Path::to_path_buf).or(variable.map(PathBuf::from)) {
        let mend = "expected Nsight Compute's ncu";
        return ask(&named)
            .ok_or_else(|| format!("{}: does not answer --version, {mend}", named.display()));
    }
    let on_path = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    let mut places: Vec<PathBuf> = on_path.map(|directory| directory.join("ncu")).collect();
    places.push(root.join("usr/local/cuda/bin/ncu"));
    let installed = root.join("opt/nvidia/nsight-compute");
    let mut versions: Vec<PathBuf> = std::fs::read_dir(installed)
        .map(|entries| entries.flatten().map(|e| e.path().join("ncu")).collect())
        .unwrap_or_default();
    versions.sort();
    places.extend(versions.into_iter().rev());
    places
        .iter()
        .filter(|place| place.is_file())
        .find_map(|place| ask(place))
        .ok_or_else(|| {
            format!(
                "no Nsight Compute on PATH, in /usr/local/cuda or /opt/nvidia/nsight-compute; install it with the \
                 CUDA toolkit (package cuda-nsight-compute-13-0 of NVIDIA's repository), or name one in {VARIABLE}"
            )
        })
}

fn ask(path: &Path) -> Option<Ncu> {
    let output = Command::new(path).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().find(|line| line.starts_with("Version "))?;
    output.status.success().then(|| Ncu {
        path: path.to_path_buf(),
        version: version.trim().to_owned(),
    })
}

/// What is launched under `ncu`.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// `mage-harness`.
    pub harness: &'a Path,
    /// The experiment.
    pub experiment: &'a str,
    /// The operation.
    pub operation: &'a str,
    /// The variant.
    pub variant: &'a str,
    /// Directory of inputs.
    pub inputs: &'a Path,
}

/// The whole command line that reads a group of one variant into `file`: the launch after [`WARMUP`] others.
/// Clocks are left alone; no counter here depends on time.
pub fn command_line(ncu: &Path, group: &Group, file: &Path, target: &Target<'_>) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec![ncu.into(), "--log-file".into(), file.into()];
    let mut words = |words: &[&str]| line.extend(words.iter().map(OsString::from));
    words(&["--csv", "--page", "raw", "--print-units", "base"]);
    if group.instances {
        words(&["--print-metric-instances", "details"]);
    }
    words(&["--clock-control", "none"]);
    words(&["--launch-skip", &WARMUP.to_string(), "--launch-count", "1"]);
    words(&["--metrics", &group.metrics.join(",")]);
    line.push(target.harness.into());
    let mut words = |words: &[&str]| line.extend(words.iter().map(OsString::from));
    words(&["capture", "--experiment", target.experiment]);
    words(&["--op", target.operation, "--implementation", "rust"]);
    words(&["--variant", target.variant]);
    words(&["--iterations", "1", "--warmup", &WARMUP.to_string()]);
    words(&["--inputs"]);
    line.push(target.inputs.into());
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::metrics::GROUPS;

    #[test]
    fn the_command_line_asks_for_one_launch_after_the_warm_up() {
        let target = Target {
            harness: Path::new("target/release/mage-harness"),
            experiment: "mage-002",
            operation: "matmul",
            variant: "tiled_matmul_8x4",
            inputs: Path::new("target/inputs"),
        };
        let line = command_line(
            Path::new("ncu"),
            &GROUPS[1],
            Path::new("raw/x.csv"),
            &target,
        );
        let line: Vec<&str> = line.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            line.join(" "),
            "ncu --log-file raw/x.csv --csv --page raw --print-units base --print-metric-instances details \
             --clock-control none --launch-skip 5 --launch-count 1 --metrics sass__inst_executed_per_opcode \
             target/release/mage-harness capture --experiment mage-002 --op matmul --implementation rust \
             --variant tiled_matmul_8x4 --iterations 1 --warmup 5 --inputs target/inputs"
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_newest_that_answers_is_found_and_a_named_one_must_answer() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let install = |version: &str, script: &str| {
            let directory = root.path().join("opt/nvidia/nsight-compute").join(version);
            std::fs::create_dir_all(&directory).unwrap();
            let path = directory.join("ncu");
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let nothing = OsString::new();
        let error = find_in(None, None, &nothing, root.path()).unwrap_err();
        assert!(error.contains(VARIABLE), "{error}");
        install("2024.1", "echo Version 2024.1.0.0");
        install(
            "2025.3.1",
            "echo NVIDIA; echo 'Version 2025.3.1.0 (build 1)'",
        );
        let broken = install("2026.0", "exit 1");
        let found = find_in(None, None, &nothing, root.path()).unwrap();
        assert_eq!(found.version, "Version 2025.3.1.0 (build 1)");
        let error = find_in(Some(&broken), None, &nothing, root.path()).unwrap_err();
        assert!(error.contains("2026.0/ncu: does not answer"), "{error}");
    }
}
