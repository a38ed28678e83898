//! Recorded hashes of sources against the tree here and against the recorded commit.

use super::{Kind, Proved, Report};
use mage_evidence::artifact::{SourceTree, TreeState};
use mage_evidence::hash::sha256_hex;
use std::collections::BTreeMap;
use std::path::Path;

/// Where the recorded tree was exactly a commit that git has here, every source it names has that commit's
/// hash, or the record is wrong. Otherwise a source can only be compared with the tree here, which may have
/// moved on: what differs is then said, not refused.
pub fn check(
    root: &Path,
    file: &Path,
    sources: &BTreeMap<String, String>,
    tree: &SourceTree,
    proved: &mut Proved,
    report: &mut Report,
) {
    let elsewhere: BTreeMap<&String, &String> = sources
        .iter()
        .filter(|(path, hash)| !is_here(root, path, hash))
        .collect();
    proved.sources += sources.len() - elsewhere.len();
    if elsewhere.is_empty() {
        return;
    }
    let committed = tree.commit.as_deref().and_then(|commit| {
        mage_workspace::committed_sha256(root, commit, elsewhere.keys().map(|path| path.as_str()))
    });
    let Some(committed) = committed else {
        report.notes.push(format!(
            "{}: {} of {} sources are no longer as recorded, and the commit they were recorded at is not here to ask",
            file.display(),
            elsewhere.len(),
            sources.len()
        ));
        return;
    };
    let exact = [TreeState::Clean, TreeState::Untracked].contains(&tree.state);
    let mut unknown = 0;
    for (path, hash) in elsewhere {
        match committed.get(path) {
            Some(Some(of_commit)) if of_commit == hash => proved.sources += 1,
            Some(Some(of_commit)) if exact => report.add(
                Kind::Inconsistent,
                file,
                format!(
                    "source_sha256.{path}: found {hash}, expected {of_commit} as commit {} has it",
                    tree.commit.as_deref().unwrap_or_default()
                ),
            ),
            _ => unknown += 1,
        }
    }
    if unknown > 0 {
        report.notes.push(format!(
            "{}: {unknown} sources are neither in the tree here nor in the recorded commit as recorded",
            file.display()
        ));
    }
}

fn is_here(root: &Path, path: &str, hash: &str) -> bool {
    !super::files::is_outside(path)
        && std::fs::read(root.join(path)).is_ok_and(|bytes| sha256_hex(&bytes) == hash)
}
