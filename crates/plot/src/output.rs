//! What was drawn, beside what is stored.

use anyhow::{Result, bail};
use mage_evidence::store;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One file that follows from evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Where it belongs, relative to the root.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Output {
    pub(crate) fn new(path: PathBuf, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            path,
            bytes: bytes.into(),
        }
    }
}

/// Stores `outputs` below `root`, each complete or not at all, and removes files in their directories
/// that no longer follow from the evidence. Files that are right already are left alone.
///
/// # Errors
/// Where the file system refuses.
pub fn write(root: &Path, outputs: &[Output]) -> Result<()> {
    for output in outputs {
        let path = root.join(&output.path);
        if std::fs::read(&path).ok().as_ref() != Some(&output.bytes) {
            store::write_bytes(&path, &output.bytes)?;
        }
    }
    for stale in stale(root, outputs)? {
        let path = root.join(stale);
        std::fs::remove_file(&path).map_err(store::io_error("remove", &path))?;
    }
    Ok(())
}

/// Compares `outputs` with what is stored below `root`.
///
/// # Errors
/// Names each file that differs, is missing or no longer follows from the evidence.
pub fn check(root: &Path, outputs: &[Output]) -> Result<()> {
    let mut wrong = Vec::new();
    for output in outputs {
        let shown = output.path.display();
        match std::fs::read(root.join(&output.path)) {
            Ok(bytes) if bytes == output.bytes => {}
            Ok(_) => wrong.push(format!("{shown}: differs from what the evidence gives")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                wrong.push(format!("{shown}: missing"));
            }
            Err(error) => wrong.push(format!("{shown}: cannot read: {error}")),
        }
    }
    for path in stale(root, outputs)? {
        let shown = path.display();
        wrong.push(format!("{shown}: stale, the evidence no longer gives it"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    bail!(
        "{}\nto draw them again: cargo xtask figures",
        wrong.join("\n")
    )
}

/// Files in the directories of `outputs` that are none of them, among those with an ending that an output there has.
/// Hidden files are not ours, nor are others directly in the site's directory.
fn stale(root: &Path, outputs: &[Output]) -> Result<Vec<PathBuf>> {
    let known: BTreeSet<&Path> = outputs.iter().map(|o| o.path.as_path()).collect();
    let kinds: BTreeSet<_> = known.iter().map(|p| (p.parent(), p.extension())).collect();
    let mut directories: BTreeSet<&Path> = known.iter().filter_map(|path| path.parent()).collect();
    directories.remove(Path::new("docs"));
    let mut found = Vec::new();
    for directory in directories {
        let full = root.join(directory);
        let entries = match std::fs::read_dir(&full) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(store::io_error("list", &full)(error).into()),
        };
        for entry in entries {
            let entry = entry.map_err(store::io_error("list", &full))?;
            let path = directory.join(entry.file_name());
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let ours = kinds.contains(&(path.parent(), path.extension()));
            if ours && !hidden && entry.path().is_file() && !known.contains(path.as_path()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
