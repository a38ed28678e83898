//! Hashes of everything that the programs are made from.

use mage_evidence::hash::sha256_hex;
use mage_evidence::store::{StoreError, io_error, read_bytes};
use std::collections::BTreeMap;
use std::path::Path;

/// Directories and files below the root that hold sources.
const PLACES: [&str; 6] = [
    "Cargo.lock",
    "Cargo.toml",
    ".cargo",
    "crates",
    "experiments",
    "xtask",
];
/// Kinds of file that are sources.
const KINDS: [&str; 7] = ["rs", "toml", "lock", "py", "ptx", "json", "txt"];
/// Directories whose content is not: build products, test data.
const SKIPPED: [&str; 4] = ["target", "__pycache__", "tests", "snapshots"];

/// SHA-256 of every source file, by path from `root` with forward slashes.
///
/// # Errors
/// [`StoreError`] naming the file or directory that cannot be read.
pub fn source_sha256(root: &Path) -> Result<BTreeMap<String, String>, StoreError> {
    let mut hashes = BTreeMap::new();
    for place in PLACES {
        let path = root.join(place);
        if path.exists() {
            visit(root, &path, &mut hashes)?;
        }
    }
    Ok(hashes)
}

fn visit(
    root: &Path,
    path: &Path,
    hashes: &mut BTreeMap<String, String>,
) -> Result<(), StoreError> {
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    if path.is_dir() {
        if SKIPPED.contains(&name) {
            return Ok(());
        }
        for entry in std::fs::read_dir(path).map_err(io_error("list", path))? {
            let entry = entry.map_err(io_error("list", path))?;
            visit(root, &entry.path(), hashes)?;
        }
        return Ok(());
    }
    let kind = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if KINDS.contains(&kind) {
        let inside = path.strip_prefix(root).unwrap_or(path);
        let key = inside.to_string_lossy().replace('\\', "/");
        hashes.insert(key, sha256_hex(&read_bytes(path)?));
    }
    Ok(())
}

/// SHA-256 of the running program.
///
/// # Errors
/// [`StoreError`] where it cannot be found or read.
pub fn binary_sha256() -> Result<String, StoreError> {
    let path = std::env::current_exe().map_err(io_error("find", Path::new("the own program")))?;
    Ok(sha256_hex(&read_bytes(&path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_hashed_and_products_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        write("Cargo.lock");
        write("crates/a/src/lib.rs");
        write("crates/a/target/debug/b.rs");
        write("crates/a/python/__pycache__/c.py");
        write("crates/a/notes.md");
        write("docs/d.rs");
        let hashes = source_sha256(directory.path()).unwrap();
        let files: Vec<&String> = hashes.keys().collect();
        assert_eq!(files, ["Cargo.lock", "crates/a/src/lib.rs"]);
        assert_eq!(hashes["Cargo.lock"], sha256_hex(b"x"));
    }
}
