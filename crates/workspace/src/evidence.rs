//! Reading a namespace's evidence, and the baseline that it may be compared with.

use crate::results as results_directory;
use mage_evidence::Invalid;
use mage_evidence::counters::{self, Counters};
use mage_evidence::experiment::Experiment;
use mage_evidence::ladder::{self, Ladder};
use mage_evidence::profiles::{self, Profiles};
use mage_evidence::results::{self, Results};
use mage_evidence::store::{self, StoreError};
use mage_evidence::summary::Summary;
use std::path::Path;

/// The checked evidence of a namespace.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Samples and checks.
    pub results: Results,
    /// Kernel rows, where the namespace has them.
    pub profiles: Option<Profiles>,
    /// Every variant beside its parent, where the namespace has a ladder.
    pub ladder: Option<Ladder>,
    /// Samples and kernel rows, reduced to what is shown.
    pub summary: Summary,
}

impl Evidence {
    /// Reads and checks `docs/assets/results/<namespace>` below `root`.
    ///
    /// # Errors
    /// [`StoreError`] naming the file and the field; where there is no such namespace, the known ones.
    pub fn read(root: &Path, namespace: &str) -> Result<Self, StoreError> {
        let directory = results_directory(root, namespace);
        if !directory.is_dir() {
            let known = match namespaces(root)? {
                names if names.is_empty() => "evidence; there is none yet".to_string(),
                names => format!("one of {}", names.join(", ")),
            };
            return Err(Invalid::new("namespace", format!("{namespace:?}"), known)
                .help("measure it, or name one that has evidence")
                .into());
        }
        let file = directory.join(results::FILE);
        let results: Results = store::read_json(&file)?;
        results.check().map_err(|e| e.in_file(&file))?;
        let named = results.provenance.as_ref().map(|p| p.namespace.as_str());
        same_namespace(named, namespace, &file)?;
        let file = directory.join(profiles::FILE);
        let profiles = match file.exists() {
            true => Some(read_profiles(&file, namespace, &results)?),
            false => None,
        };
        let summary = Summary::of(&results, profiles.as_ref()).map_err(|e| e.in_file(&file))?;
        let file = directory.join(ladder::FILE);
        let ladder = match file.exists() {
            true => Some(read_ladder(&file, namespace)?),
            false => None,
        };
        Ok(Self {
            results,
            profiles,
            ladder,
            summary,
        })
    }
}

/// The checked hardware counters of a namespace; none where it has none.
///
/// # Errors
/// [`StoreError`] naming the file and the field.
pub fn counters(root: &Path, namespace: &str) -> Result<Option<Counters>, StoreError> {
    let file = results_directory(root, namespace).join(counters::FILE);
    if !file.exists() {
        return Ok(None);
    }
    let counters: Counters = store::read_json(&file)?;
    counters.check().map_err(|e| e.in_file(&file))?;
    same_namespace(Some(&counters.provenance.namespace), namespace, &file)?;
    Ok(Some(counters))
}

/// Names of all namespaces with evidence below `root`, sorted.
///
/// # Errors
/// [`StoreError`] where the directory cannot be listed.
pub fn namespaces(root: &Path) -> Result<Vec<String>, StoreError> {
    let directory = results_directory(root, "");
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(store::io_error("list", &directory))? {
        let entry = entry.map_err(store::io_error("list", &directory))?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Names of the whole directories below `artifacts/` that begin with `prefix`, sorted.
///
/// # Errors
/// [`StoreError`] where the directory cannot be listed.
pub fn stored(root: &Path, prefix: &str) -> Result<Vec<String>, StoreError> {
    let artifacts = root.join("artifacts");
    let mut names = Vec::new();
    if artifacts.is_dir() {
        let entries = std::fs::read_dir(&artifacts).map_err(store::io_error("list", &artifacts))?;
        for entry in entries {
            let entry = entry.map_err(store::io_error("list", &artifacts))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let whole = entry.path().is_dir() && !name.ends_with(".partial");
            if whole && name.starts_with(prefix) {
                names.push(name);
            }
        }
    }
    names.sort();
    Ok(names)
}

/// The baseline of `experiment` for a namespace: the baseline's namespace of the same suffix where it has
/// evidence, else the baseline experiment's own. Never one that was measured on another GPU.
///
/// # Errors
/// [`StoreError`] where the baseline's evidence is wrong. The inner error says why there is none.
pub fn baseline(
    root: &Path,
    namespace: &str,
    experiment: &Experiment,
    gpu: &str,
) -> Result<Result<Summary, String>, StoreError> {
    let Some(name) = &experiment.baseline else {
        return Ok(Err("the experiment names no baseline".to_string()));
    };
    let suffixed = namespace
        .strip_prefix(&experiment.name)
        .map(|suffix| format!("{name}{suffix}"));
    let found = suffixed
        .into_iter()
        .chain([name.clone()])
        .find(|n| results_directory(root, n).join(results::FILE).exists());
    let Some(found) = found else {
        return Ok(Err(format!("there is no evidence of the baseline, {name}")));
    };
    let baseline = Evidence::read(root, &found)?.summary;
    if baseline.gpu != gpu {
        return Ok(Err(format!(
            "the baseline {found} was measured on another GPU, {}",
            baseline.gpu
        )));
    }
    Ok(Ok(Summary {
        namespace: found,
        ..baseline
    }))
}

fn read_profiles(file: &Path, namespace: &str, results: &Results) -> Result<Profiles, StoreError> {
    let profiles: Profiles = store::read_json(file)?;
    profiles.check().map_err(|e| e.in_file(file))?;
    let named = profiles.provenance.as_ref().map(|p| p.namespace.as_str());
    same_namespace(named, namespace, file)?;
    if profiles.experiment_id != results.experiment_id {
        return Err(Invalid::new(
            "experiment_id",
            format!("{:?}", profiles.experiment_id),
            format!("{:?}, as in {}", results.experiment_id, results::FILE),
        )
        .in_file(file)
        .into());
    }
    Ok(profiles)
}

fn read_ladder(file: &Path, namespace: &str) -> Result<Ladder, StoreError> {
    let ladder: Ladder = store::read_json(file)?;
    ladder.check().map_err(|e| e.in_file(file))?;
    same_namespace(Some(&ladder.provenance.namespace), namespace, file)?;
    Ok(ladder)
}

fn same_namespace(found: Option<&str>, expected: &str, file: &Path) -> Result<(), StoreError> {
    match found {
        Some(found) if found != expected => Err(Invalid::new(
            "provenance.namespace",
            format!("{found:?}"),
            format!("{expected:?}, the directory that the file is in"),
        )
        .in_file(file)
        .into()),
        _ => Ok(()),
    }
}
