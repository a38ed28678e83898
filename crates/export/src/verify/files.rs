//! Every file accounted for: what the evidence names is there and has its hash, and nothing else is.

use super::finding::altered;
use super::{ARTIFACTS, Kind, Places, Proved, RESULTS, Report};
use mage_evidence::calibration::PREFIX as STUDY;
use mage_evidence::{hash, store};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// What the harness writes beside its records and git does not keep: regenerated, checked where present.
const INPUTS: &str = "inputs";
/// What the profiler may keep for its user: never published.
const REPORTS: &str = "reports";
const PARTIAL: &str = ".partial";

/// The JSON of a namespace's files, by path from the root, and what became of them.
#[derive(Debug, Default)]
pub struct Read {
    /// Parsed files.
    pub json: BTreeMap<PathBuf, Value>,
    /// Whether an artifact is missing or not what was recorded.
    pub artifacts_altered: bool,
}

impl Read {
    /// The JSON of a file that was read.
    pub fn get(&self, path: &Path) -> Option<&Value> {
        self.json.get(path)
    }
}

/// Names in a directory below `root`, and whether each is a directory; none where it does not exist.
pub fn entries(root: &Path, directory: &Path) -> anyhow::Result<Vec<(String, bool)>> {
    let full = root.join(directory);
    if !full.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&full).map_err(store::io_error("list", &full))? {
        let entry = entry.map_err(store::io_error("list", &full))?;
        let kind = entry
            .file_type()
            .map_err(store::io_error("look at", &full))?;
        names.push((
            entry.file_name().to_string_lossy().into_owned(),
            kind.is_dir(),
        ));
    }
    names.sort();
    Ok(names)
}

/// Start of the name of a directory of hardware counters of variants, which are no namespace's.
pub const COUNTERS: &str = "structure-";

/// The namespace whose artifacts a directory of this name holds.
pub fn namespace_of(directory: &str) -> Option<&str> {
    directory
        .strip_suffix("-kernels-nsys")
        .or_else(|| directory.strip_suffix("-errors"))
        .or_else(|| directory.strip_suffix("-kernels-ncu"))
        .or_else(|| directory.strip_suffix("-kernels"))
        .or_else(|| directory.strip_suffix("-ladder"))
}

/// Finds what lies beside the namespaces.
pub fn beside(root: &Path, report: &mut Report) -> anyhow::Result<()> {
    for (name, is_directory) in entries(root, Path::new(ARTIFACTS))? {
        let path = Path::new(ARTIFACTS).join(&name);
        if name.ends_with(PARTIAL) && is_directory {
            report.notes.push(format!(
                "{}: an unfinished run, not looked at",
                path.display()
            ));
        } else if is_directory && (name.starts_with(COUNTERS) || name.starts_with(STUDY)) {
            // No namespace's: `beside` looks at them.
        } else if !is_directory || namespace_of(&name).is_none() {
            report.add(
                Kind::Extra,
                path,
                "found something that is no namespace's artifacts (<ns>-kernels, <ns>-kernels-nsys, <ns>-kernels-ncu, <ns>-ladder, <ns>-errors), no study's (calibration-*) and no counters (structure-*), expected none; remove it",
            );
        }
    }
    for (name, is_directory) in entries(root, Path::new(RESULTS))? {
        if !is_directory {
            report.add(
                Kind::Extra,
                Path::new(RESULTS).join(name),
                "found a file, expected only directories of namespaces; remove it",
            );
        }
    }
    Ok(())
}

/// Reads the evidence and every artifact that it names, compares their hashes, and finds what is not named.
pub fn account(
    root: &Path,
    places: &Places,
    proved: &mut Proved,
    report: &mut Report,
) -> anyhow::Result<Read> {
    let mut read = Read::default();
    let mut pairs = vec![
        (&places.results_file, &places.events),
        (&places.profiles_file, &places.captures),
    ];
    // Counters, a ladder and errors may be absent, but not the evidence without the artifacts, nor they without it.
    for (evidence, artifacts) in [
        (&places.counters_file, &places.counted),
        (&places.ladder_file, &places.ladder),
        (&places.errors_file, &places.errors),
    ] {
        if root.join(evidence).exists() || root.join(artifacts).exists() {
            pairs.push((evidence, artifacts));
        }
    }
    let known: Vec<&PathBuf> = pairs.iter().map(|(evidence, _)| *evidence).collect();
    for (evidence, artifacts) in pairs {
        let hashes = match evidence == &places.errors_file {
            true => "/artifacts_sha256",
            false => "/provenance/artifacts_sha256",
        };
        artifacts_of(root, evidence, hashes, artifacts, &mut read, proved, report)?;
    }
    if let Some(directory) = places.results_file.parent() {
        for (path, plain) in walk(root, directory)? {
            if !known.contains(&&path) {
                report.add(Kind::Extra, path, "found a file that is no evidence, expected the evidence files alone; remove it");
            } else if !plain {
                report.add(Kind::NotAFile, path, "found a link, expected a plain file");
            }
        }
    }
    Ok(read)
}

/// Reads an evidence file, compares the hashes of the artifacts that it names at the JSON pointer `hashes`, and finds
/// what it does not name.
pub fn artifacts_of(
    root: &Path,
    evidence: &Path,
    hashes: &str,
    artifacts: &Path,
    read: &mut Read,
    proved: &mut Proved,
    report: &mut Report,
) -> anyhow::Result<()> {
    let named = named(root, evidence, hashes, read, report);
    for (name, expected) in named.iter().flatten() {
        if is_outside(name) {
            report.add(
                Kind::Path,
                evidence,
                format!(
                    "artifacts_sha256: found {name:?}, expected a path below the artifact directory"
                ),
            );
            continue;
        }
        let path = artifacts.join(name);
        artifact(root, evidence, &path, expected, read, proved, report);
    }
    match &named {
        Some(named) => extra(root, artifacts, named, report),
        None => Ok(()),
    }
}

/// Reads an evidence file; the artifacts it names with their hashes, where it can be read that far.
fn named(
    root: &Path,
    evidence: &Path,
    hashes: &str,
    read: &mut Read,
    report: &mut Report,
) -> Option<BTreeMap<String, String>> {
    let bytes = match store::read_bytes(&root.join(evidence)) {
        Ok(bytes) => bytes,
        Err(_) if !root.join(evidence).exists() => {
            report.add(
                Kind::Missing,
                evidence,
                "found no such file, expected the evidence made from the artifacts; run mage-export --namespace, or cargo xtask calibrate",
            );
            return None;
        }
        Err(error) => {
            report.add(Kind::Unreadable, evidence, error.to_string());
            return None;
        }
    };
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) => {
            let kind = match error.is_eof() {
                true => Kind::Truncated,
                false => Kind::Altered,
            };
            report.add(kind, evidence, format!("found no JSON ({error}), expected evidence; run mage-export, or restore the file"));
            return None;
        }
    };
    let artifacts = value
        .pointer(hashes)
        .and_then(Value::as_object)
        .map(|hashes| {
            hashes
                .iter()
                .map(|(name, hash)| (name.clone(), hash.as_str().unwrap_or("").to_string()))
                .collect()
        });
    if artifacts.is_none() {
        report.add(
            Kind::Altered,
            evidence,
            "artifacts_sha256: found nothing, expected the SHA-256 of each artifact; make it again, or restore the file",
        );
    }
    read.json.insert(evidence.to_path_buf(), value);
    artifacts
}

pub fn artifact(
    root: &Path,
    evidence: &Path,
    path: &Path,
    expected: &str,
    read: &mut Read,
    proved: &mut Proved,
    report: &mut Report,
) {
    let as_recorded = format!("as {} says", evidence.display());
    let full = root.join(path);
    if full.symlink_metadata().is_ok_and(|m| !m.is_file()) {
        report.add(
            Kind::NotAFile,
            path,
            "found a link or a directory, expected a plain file",
        );
    }
    let Ok(bytes) = store::read_bytes(&full) else {
        read.artifacts_altered = true;
        report.add(
            Kind::Missing,
            path,
            format!(
                "found no readable file, expected SHA-256 {expected} {as_recorded}; restore it"
            ),
        );
        return;
    };
    let found = hash::sha256_hex(&bytes);
    if found == expected {
        proved.files += 1;
    } else {
        let (kind, text) = altered(&bytes, expected);
        report.add(
            kind,
            path,
            format!("{text} {as_recorded}; one of the two was changed: restore it"),
        );
        read.artifacts_altered = true;
    }
    if path.extension().is_some_and(|e| e == "json")
        && let Ok(value) = serde_json::from_slice(&bytes)
    {
        read.json.insert(path.to_path_buf(), value);
    }
}

/// Finds that a page which is made with evidence is not there; `expected` says what it is and what makes it.
pub fn page(root: &Path, path: &Path, expected: &str, report: &mut Report) {
    if !root.join(path).is_file() {
        let text = format!("found no such file, {expected}");
        report.add(Kind::Missing, path, text);
    }
}

/// Files of an artifact directory that the evidence does not name.
fn extra(
    root: &Path,
    artifacts: &Path,
    named: &BTreeMap<String, String>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let known: BTreeSet<PathBuf> = named.keys().map(|name| artifacts.join(name)).collect();
    for (path, _) in walk(root, artifacts)? {
        let first = path.strip_prefix(artifacts).ok().and_then(|inside| {
            let first = inside.components().next()?;
            Some(first.as_os_str().to_string_lossy().into_owned())
        });
        let aside = [Some(INPUTS), Some(REPORTS)].contains(&first.as_deref());
        if !aside && !known.contains(&path) {
            report.add(
                Kind::Extra,
                path,
                "found a file that the evidence does not name, expected none; remove it, or run mage-export",
            );
        }
    }
    Ok(())
}

/// Every file below a directory, relative to `root`, and whether it is a plain file; links are not followed.
pub fn walk(root: &Path, directory: &Path) -> anyhow::Result<Vec<(PathBuf, bool)>> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        let full = root.join(&directory);
        let is_directory = full.symlink_metadata().is_ok_and(|m| m.is_dir());
        if !is_directory {
            continue;
        }
        for entry in std::fs::read_dir(&full).map_err(store::io_error("list", &full))? {
            let entry = entry.map_err(store::io_error("list", &full))?;
            let kind = entry
                .file_type()
                .map_err(store::io_error("look at", &full))?;
            let path = directory.join(entry.file_name());
            match kind.is_dir() {
                true => open.push(path),
                false => found.push((path, kind.is_file())),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a recorded path leaves the directory that it is relative to.
pub fn is_outside(path: &str) -> bool {
    let windows = path.contains('\\') || path.as_bytes().get(1) == Some(&b':');
    windows
        || Path::new(path)
            .components()
            .any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_tree_are_told() {
        for inside in ["run.json", "samples/gelu.json", "./a", "a b"] {
            assert!(!is_outside(inside), "{inside}");
        }
        for outside in ["/etc/passwd", "../a", "a/../../b", "C:\\a", "a\\b", "C:/a"] {
            assert!(is_outside(outside), "{outside}");
        }
    }

    #[test]
    fn artifact_directories_name_their_namespace() {
        assert_eq!(namespace_of("mage-001-kernels"), Some("mage-001"));
        assert_eq!(namespace_of("mage-001-kernels-nsys"), Some("mage-001"));
        assert_eq!(namespace_of("mage-001-ladder"), Some("mage-001"));
        assert_eq!(namespace_of("mage-001-errors"), Some("mage-001"));
        assert_eq!(namespace_of("mage-001-kernels-ncu"), Some("mage-001"));
        assert_eq!(namespace_of("mage-001-kernels.partial"), None);
        assert_eq!(namespace_of("notes"), None);
    }
}
