//! Finding an `ncu` that answers.

use crate::child;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The environment variable that names the program.
pub const VARIABLE: &str = "MAGE_NCU";

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
    let path = std::path::absolute(path).ok()?;
    let answer = child::ask(&path, &[OsStr::new("--version")]).ok()?;
    let version = answer
        .stdout
        .lines()
        .find(|line| line.starts_with("Version "))?;
    answer.status.success().then(|| Ncu {
        version: version.trim().to_owned(),
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
