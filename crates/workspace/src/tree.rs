//! The source tree's state under version control.

use mage_evidence::artifact::{SourceTree, TreeState};
use mage_evidence::hash::{sha256_hex, sha256_of_named};
use std::path::Path;
use std::process::Command;

/// What the programs themselves write: not source, so a run does not find the tree changed by the one before.
const OUTPUTS: [&str; 8] = [
    ":(exclude)artifacts",
    ":(exclude)docs/assets",
    ":(exclude)docs/claims",
    ":(exclude)docs/experiments",
    ":(exclude)docs/index.*",
    ":(exclude)docs/ladder",
    ":(exclude)docs/structure",
    ":(exclude)README.md",
];

/// State of the tree at `root`: clean, dirty (tracked files differ), untracked (only unknown files), or
/// unknown where git or its data is absent. Ignored files and what the programs write do not count.
pub fn source_tree(root: &Path) -> SourceTree {
    read(root).unwrap_or(SourceTree {
        state: TreeState::Unknown,
        commit: None,
        difference_sha256: None,
    })
}

fn read(root: &Path) -> Option<SourceTree> {
    let commit = git(root, &["rev-parse", "--verify", "HEAD"])?;
    let commit = String::from_utf8(commit).ok()?.trim().to_string();
    let status = ["status", "--porcelain", "--untracked-files=all", "--", "."];
    let status = git(root, &[&status, OUTPUTS.as_slice()].concat())?;
    let status = String::from_utf8_lossy(&status).into_owned();
    let state = if status.lines().any(|line| !line.starts_with("??")) {
        TreeState::Dirty
    } else if status.is_empty() {
        TreeState::Clean
    } else {
        TreeState::Untracked
    };
    let unknown: Vec<&str> = status
        .lines()
        .filter_map(|line| line.strip_prefix("?? "))
        .collect();
    let difference_sha256 = match state {
        TreeState::Untracked => Some(contents(root, &unknown)),
        TreeState::Dirty => {
            let difference = ["diff", "--binary", "HEAD", "--", "."];
            let difference = git(root, &[&difference, OUTPUTS.as_slice()].concat())?;
            Some(sha256_hex(&difference))
        }
        _ => None,
    };
    Some(SourceTree {
        state,
        commit: Some(commit),
        difference_sha256,
    })
}

/// Names and contents of files, as one hash; one that cannot be read counts as empty.
fn contents(root: &Path, names: &[&str]) -> String {
    let files: Vec<(&str, Vec<u8>)> = names
        .iter()
        .map(|name| (*name, std::fs::read(root.join(name)).unwrap_or_default()))
        .collect();
    sha256_of_named(files.iter().map(|(name, bytes)| (*name, bytes.as_slice())))
}

fn git(root: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(root: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        git(root, &[&identity, arguments].concat()).expect("git runs");
    }

    #[test]
    fn each_state_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert_eq!(source_tree(root).state, TreeState::Unknown);
        run(root, &["init", "-q"]);
        assert_eq!(source_tree(root).state, TreeState::Unknown, "no commit yet");
        std::fs::write(root.join("a"), "1").unwrap();
        run(root, &["add", "a"]);
        run(root, &["commit", "-q", "-m", "a"]);
        let clean = source_tree(root);
        assert_eq!(clean.state, TreeState::Clean);
        assert_eq!(clean.commit.as_ref().map(String::len), Some(40));
        std::fs::create_dir_all(root.join("artifacts/x-kernels")).unwrap();
        std::fs::write(root.join("artifacts/x-kernels/run.json"), "{}").unwrap();
        assert_eq!(
            source_tree(root).state,
            TreeState::Clean,
            "an earlier run's output"
        );
        std::fs::write(root.join("b"), "1").unwrap();
        let untracked = source_tree(root);
        assert_eq!(untracked.state, TreeState::Untracked);
        std::fs::write(root.join("b"), "2").unwrap();
        assert_ne!(
            source_tree(root).difference_sha256,
            untracked.difference_sha256
        );
        std::fs::write(root.join("a"), "2").unwrap();
        let dirty = source_tree(root);
        assert_eq!(dirty.state, TreeState::Dirty);
        let first = dirty.difference_sha256.unwrap();
        std::fs::write(root.join("a"), "3").unwrap();
        assert_ne!(source_tree(root).difference_sha256.unwrap(), first);
    }
}
