//! What is beside the namespaces: A/A studies with their evidence, and hardware counters with their list of hashes.

use super::files::{self, COUNTERS, Read};
use super::{ARTIFACTS, Kind, Of, Proved, Report, again};
use crate::calibration::{self, DIRECTORY};
use mage_evidence::calibration::PREFIX as STUDY;
use mage_evidence::hash::is_sha256;
use mage_evidence::store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file of hashes in a directory of hardware counters, as `sha256sum` writes and checks it.
pub const SUMS: &str = "SHA256SUMS";

/// Verifies all of it.
///
/// # Errors
/// Where a directory cannot be listed.
pub fn check(root: &Path, report: &mut Report) -> anyhow::Result<()> {
    let mut pages = Vec::new();
    for name in calibration::names(root)? {
        pages.extend(study(root, &name, report)?);
    }
    for (path, plain) in files::walk(root, Path::new(DIRECTORY))? {
        if !pages.contains(&path) {
            let text = "found a file of no study below artifacts/, expected none; remove it";
            report.add(Kind::Extra, path, text);
        } else if !plain {
            report.add(Kind::NotAFile, path, "found a link, expected a plain file");
        }
    }
    for (name, is_directory) in files::entries(root, Path::new(ARTIFACTS))? {
        if is_directory && name.starts_with(COUNTERS) && !name.ends_with(".partial") {
            counters(root, &name, report)?;
        }
    }
    Ok(())
}

/// A study's artifacts, its evidence and its page; the paths of the latter two, and of the page as HTML, which
/// `cargo xtask figures --check` proves.
fn study(root: &Path, name: &str, report: &mut Report) -> anyhow::Result<[PathBuf; 3]> {
    let device = name.strip_prefix(STUDY).unwrap_or(name);
    let pages = ["json", "md", "html"].map(|e| Path::new(DIRECTORY).join(format!("{device}.{e}")));
    let artifacts = Path::new(ARTIFACTS).join(name);
    let mut read = Read::default();
    let mut proved = Proved {
        of: Of::Study,
        ..Proved::default()
    };
    files::artifacts_of(
        root,
        &pages[0],
        "/artifacts_sha256",
        &artifacts,
        &mut read,
        &mut proved,
        report,
    )?;
    let hint = "expected the page of the study; run cargo xtask calibrate";
    files::page(root, &pages[1], hint, report);
    let hint = "run cargo xtask calibrate, or restore the file";
    let made = || calibration::evidence(root, name);
    again(root, made, &artifacts, hint, &read, &mut proved, report);
    report.proved.insert(name.to_string(), proved);
    Ok(pages)
}

/// Hardware counters: every file is in the list with its hash. What the numbers say is proved by
/// `cargo xtask structure --check`.
fn counters(root: &Path, name: &str, report: &mut Report) -> anyhow::Result<()> {
    let directory = Path::new(ARTIFACTS).join(name);
    let list = directory.join(SUMS);
    let Ok(text) = store::read_text(&root.join(&list)) else {
        report.add(
            Kind::Missing,
            list,
            "found no readable list of hashes, expected one; run sha256sum over the other files, or restore it",
        );
        return Ok(());
    };
    let mut named = BTreeMap::new();
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let entry = line
            .strip_suffix('\n')
            .and_then(|line| line.split_once("  "));
        match entry {
            Some((hash, file)) if is_sha256(hash) && !files::is_outside(file) => {
                named.insert(file.to_string(), hash.to_string());
            }
            _ => {
                let text = format!(
                    "line {}: found {line:?}, expected a SHA-256, two spaces and a file's name; restore it",
                    i + 1
                );
                report.add(Kind::Altered, &list, text);
            }
        }
    }
    let mut read = Read::default();
    let mut proved = Proved {
        of: Of::Counters,
        ..Proved::default()
    };
    for (file, hash) in &named {
        let path = directory.join(file);
        files::artifact(root, &list, &path, hash, &mut read, &mut proved, report);
    }
    for (path, _) in files::walk(root, &directory)? {
        let inside = path.strip_prefix(&directory).unwrap_or(&path);
        let known = inside.to_str().is_some_and(|file| named.contains_key(file));
        if !known && path != list {
            let text = format!(
                "found a file that {} does not name, expected none; remove it",
                list.display()
            );
            report.add(Kind::Extra, path, text);
        }
    }
    report.proved.insert(name.to_string(), proved);
    Ok(())
}
