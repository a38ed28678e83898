//! The workspace root and the places below it.

use std::path::{Path, PathBuf};

/// No workspace root was found.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: found no directory here or above that holds experiments/ and Cargo.lock, expected to run inside a checkout of mage; change into it and run again",
    start.display()
)]
pub struct RootError {
    start: PathBuf,
}

/// The nearest directory at or above the current one that holds `experiments/` and `Cargo.lock`.
///
/// # Errors
/// [`RootError`] where there is none.
pub fn find_root() -> Result<PathBuf, RootError> {
    let start = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    find_from(&start)
}

fn find_from(start: &Path) -> Result<PathBuf, RootError> {
    start
        .ancestors()
        .find(|d| d.join("experiments").is_dir() && d.join("Cargo.lock").is_file())
        .map(Path::to_path_buf)
        .ok_or_else(|| RootError {
            start: start.to_path_buf(),
        })
}

/// `artifacts/<ns>-kernels`, what the harness leaves.
pub fn artifacts(root: &Path, namespace: &str) -> PathBuf {
    root.join("artifacts").join(format!("{namespace}-kernels"))
}

/// `artifacts/<ns>-kernels-nsys`, what the profiler leaves.
pub fn profile_artifacts(root: &Path, namespace: &str) -> PathBuf {
    root.join("artifacts")
        .join(format!("{namespace}-kernels-nsys"))
}

/// `artifacts/<ns>-errors`, errors against FP64.
pub fn error_artifacts(root: &Path, namespace: &str) -> PathBuf {
    root.join("artifacts").join(format!("{namespace}-errors"))
}

/// `target/compiled/<ns>`, what the compilers of PyTorch and Triton made in a run, for its captures.
pub fn compiled(root: &Path, namespace: &str) -> PathBuf {
    root.join("target/compiled").join(namespace)
}

/// `artifacts/<ns>-kernels-ncu`, what the profiler leaves of hardware counters.
pub fn counter_artifacts(root: &Path, namespace: &str) -> PathBuf {
    root.join("artifacts")
        .join(format!("{namespace}-kernels-ncu"))
}

/// `artifacts/<ns>-ladder`, what the profiler leaves of every variant.
pub fn ladder_artifacts(root: &Path, namespace: &str) -> PathBuf {
    root.join("artifacts").join(format!("{namespace}-ladder"))
}

/// `docs/ladder/<ns>.md`, the ladder told from the evidence.
pub fn ladder_page(root: &Path, namespace: &str) -> PathBuf {
    root.join("docs/ladder").join(format!("{namespace}.md"))
}

/// `docs/counters/<ns>.md`, what bounds each case.
pub fn counters_page(root: &Path, namespace: &str) -> PathBuf {
    root.join("docs/counters").join(format!("{namespace}.md"))
}

/// `docs/assets/results/<ns>`, the evidence.
pub fn results(root: &Path, namespace: &str) -> PathBuf {
    root.join("docs/assets/results").join(namespace)
}

/// `docs/assets/figures/<ns>`, the figures.
pub fn figures(root: &Path, namespace: &str) -> PathBuf {
    root.join("docs/assets/figures").join(namespace)
}

/// `docs/experiments/<ns>`, the field note.
pub fn pages(root: &Path, namespace: &str) -> PathBuf {
    root.join("docs/experiments").join(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found_from_below_and_missed_outside() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("mage");
        let below = root.join("crates/plot");
        std::fs::create_dir_all(&below).unwrap();
        std::fs::create_dir_all(root.join("experiments")).unwrap();
        std::fs::write(root.join("Cargo.lock"), "").unwrap();
        assert_eq!(find_from(&below).unwrap(), root);
        let error = find_from(directory.path()).unwrap_err().to_string();
        assert!(error.contains("checkout of mage"), "{error}");
    }
}
