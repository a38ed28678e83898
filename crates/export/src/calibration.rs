//! The evidence of A/A studies from their artifacts: `docs/calibration/<device>.json`, and the page beside it.

use crate::File;
use anyhow::{Context, bail};
use mage_evidence::artifact::Capture;
use mage_evidence::calibration::{Calibration, PREFIX, Process, Study, calibrate};
use mage_evidence::operation::Operation;
use mage_evidence::{hash, store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the evidence is, below the root.
pub const DIRECTORY: &str = "docs/calibration";

/// Names of all studies below `root`, sorted.
///
/// # Errors
/// Where the directory cannot be listed.
pub fn names(root: &Path) -> anyhow::Result<Vec<String>> {
    Ok(mage_workspace::stored(root, PREFIX)?)
}

/// The evidence of a study and its page, made from `artifacts/<name>`.
///
/// # Errors
/// Names the artifact that is missing, unknown, or not as the study says.
pub fn evidence(root: &Path, name: &str) -> anyhow::Result<Vec<File>> {
    let calibration = read(root, name)?;
    let device = calibration.device_name();
    let file = |extension: &str, text: String| File {
        path: PathBuf::from(DIRECTORY).join(format!("{device}.{extension}")),
        text,
    };
    Ok(vec![
        file("json", store::to_json(&calibration)?),
        file("md", calibration.markdown()),
    ])
}

/// What the artifacts of a study give.
fn read(root: &Path, name: &str) -> anyhow::Result<Calibration> {
    let directory = Path::new("artifacts").join(name);
    let mut sha256 = BTreeMap::new();
    let mut bytes = |file: String| -> anyhow::Result<(PathBuf, Vec<u8>)> {
        let path = directory.join(&file);
        let bytes = store::read_bytes(&root.join(&path))?;
        sha256.insert(file, hash::sha256_hex(&bytes));
        Ok((path, bytes))
    };
    let (path, text) = bytes("run.json".into())?;
    let study: Study = store::parse_json(&path, &text)?;
    study.check().map_err(|invalid| invalid.in_file(&path))?;
    let mut processes = Vec::new();
    for process in 1..=study.processes {
        let (path, text) = bytes(format!("spans/{process}.json"))?;
        let process: Process = store::parse_json(&path, &text)?;
        process
            .check(&study)
            .map_err(|invalid| invalid.in_file(&path))?;
        processes.push(process);
    }
    let operations: Vec<Operation> = processes[0].sessions.iter().map(|s| s.operation).collect();
    let mut captures: BTreeMap<Operation, Vec<Capture>> = BTreeMap::new();
    for operation in operations {
        for process in 1..=study.processes {
            let (path, text) = bytes(format!("captures/{operation}-{process}.json"))?;
            let capture: Capture = store::parse_json(&path, &text)?;
            let found = (
                capture.operation,
                capture.index,
                capture.requested_iterations,
            );
            let expected = (operation, process, study.capture_iterations);
            if found != expected {
                bail!(
                    "{}: found operation, index and iterations {found:?}, expected {expected:?}",
                    path.display()
                );
            }
            captures.entry(operation).or_default().push(capture);
        }
    }
    calibrate(name, &study, &processes, &captures, sha256)
        .with_context(|| directory.display().to_string())
}

/// Writes the evidence and pages of all studies below `root`; the paths, from the root.
///
/// # Errors
/// As [`evidence`], and where a file cannot be written.
pub fn write(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for name in names(root)? {
        let files = evidence(root, &name)?;
        crate::write(root, &files)?;
        written.extend(files.into_iter().map(|file| file.path));
    }
    Ok(written)
}
