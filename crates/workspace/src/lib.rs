//! Where the project's files are and what state they are in: the root, the source tree's hashes, the
//! state under version control, the time, directories that appear only when they are complete, and what all programs do
//! alike: standard output, progress and exit codes.

mod committed;
mod directory;
mod evidence;
pub mod exit;
pub mod output;
pub mod progress;
mod root;
mod source;
mod tree;

pub use committed::committed_sha256;
pub use directory::{NewDirectory, discard, remove_cut_writes};
pub use evidence::{Evidence, baseline, counters, namespaces, stored};
pub use root::{
    RootError, artifacts, compiled, counter_artifacts, counters_page, error_artifacts, figures,
    find_root, ladder_artifacts, ladder_page, pages, profile_artifacts, results,
};
pub use source::{binary_sha256, source_sha256};
pub use tree::source_tree;

use mage_evidence::artifact::Build;
use mage_evidence::store::StoreError;
use std::collections::BTreeMap;
use std::path::Path;

/// What is built, from what: to be read before a run writes anything.
///
/// # Errors
/// [`StoreError`] where a source file or the program cannot be read.
pub fn build(root: &Path, objects_sha256: BTreeMap<String, String>) -> Result<Build, StoreError> {
    Ok(Build {
        tree: source_tree(root),
        source_sha256: source_sha256(root)?,
        objects_sha256,
        binary_sha256: binary_sha256()?,
    })
}

/// The time now, RFC 3339 to the second, UTC.
pub fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

/// This process's command line, with every path outside the tree reduced to its last part: a record says
/// what was run, not where someone keeps it.
pub fn command_line(root: &Path) -> Vec<String> {
    std::env::args().map(|word| portable(root, &word)).collect()
}

/// One word of a command line as [`command_line`] records it.
pub fn portable(root: &Path, word: &str) -> String {
    let (flag, value) = match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (Some(flag), value),
        _ => (None, word),
    };
    let path = Path::new(value);
    let value = if !path.is_absolute() {
        value.to_string()
    } else if let Ok(inside) = path.strip_prefix(root) {
        inside.display().to_string()
    } else {
        let last = path.file_name().unwrap_or(path.as_os_str());
        last.to_string_lossy().into_owned()
    };
    flag.map_or(value.clone(), |flag| format!("{flag}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_command_lines_hold_no_path_of_a_machine() {
        let root = Path::new("/home/someone/mage");
        for (word, expected) in [
            (
                "/home/someone/mage/target/release/mage-harness",
                "target/release/mage-harness",
            ),
            ("/opt/secret/bin/python3", "python3"),
            ("--python=/opt/secret/bin/python3", "--python=python3"),
            ("--experiment", "--experiment"),
            ("--experiment=mage-001", "--experiment=mage-001"),
            ("target/out", "target/out"),
        ] {
            assert_eq!(portable(root, word), expected);
        }
    }

    #[test]
    fn the_time_is_utc_to_the_second() {
        let time = now();
        assert_eq!(time.len(), "2026-01-01T00:00:00Z".len());
        assert!(time.ends_with('Z'));
    }
}
