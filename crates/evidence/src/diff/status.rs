//! Whether a case's code changed between the sides: derived from hashes, never declared.

use super::Side;
use crate::operation::Operation;
use crate::results::Results;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What became of a case's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Other code runs.
    Rewritten,
    /// The same code runs on the same GPU and driver: what it moved is noise.
    Control,
    /// The same code, under another GPU or driver: neither rewritten nor a control.
    Environment,
    /// The sides do not record enough to say.
    Unknown,
    /// On side B alone.
    New,
    /// On side A alone.
    Removed,
}

/// What a status is derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Hashes of what ran.
    Hashes,
    /// Kernel rows: names, grids, blocks, registers, shared bytes. Weaker: other code can have the same.
    Rows,
    /// Which side has the case, or nothing.
    Presence,
}

/// A status and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The status.
    pub status: Status,
    /// What it is derived from.
    pub basis: Basis,
    /// In words.
    pub because: String,
}

impl Status {
    /// One word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rewritten => "rewritten",
            Self::Control => "control",
            Self::Environment => "environment",
            Self::Unknown => "unknown",
            Self::New => "new",
            Self::Removed => "removed",
        }
    }
}

impl Standing {
    fn new(status: Status, basis: Basis, because: impl Into<String>) -> Self {
        Self {
            status,
            basis,
            because: because.into(),
        }
    }

    /// The standing of a case.
    pub fn of(a: &Side, b: &Side, op: Operation, name: &str) -> Self {
        match (a.has(op, name), b.has(op, name)) {
            (true, false) => return Self::new(Status::Removed, Basis::Presence, "only in A"),
            (false, _) => return Self::new(Status::New, Basis::Presence, "only in B"),
            (true, true) => {}
        }
        let code = by_hashes(a, b, op, name)
            .or_else(|| by_rows(a, b, op, name))
            .unwrap_or_else(|| {
                Self::new(
                    Status::Unknown,
                    Basis::Presence,
                    "no hashes and no kernel rows on both sides",
                )
            });
        match (code.status, elsewhere(a, b)) {
            (Status::Control, Some(because)) => Self::new(
                Status::Environment,
                code.basis,
                format!("{}, but {because}", code.because),
            ),
            _ => code,
        }
    }
}

/// Why the same code need not run the same: the driver compiles PTX on, and the GPU is another.
pub(super) fn elsewhere(a: &Side, b: &Side) -> Option<String> {
    if a.gpu() != b.gpu() {
        return Some(format!("the GPU is {}, not {}", b.gpu(), a.gpu()));
    }
    match (a.driver(), b.driver()) {
        (Some(of_a), Some(of_b)) if of_a != of_b => {
            Some(format!("the driver is {of_b}, not {of_a}"))
        }
        _ => None,
    }
}

fn by_hashes(a: &Side, b: &Side, op: Operation, name: &str) -> Option<Standing> {
    let (of_a, of_b) = (a.results()?, b.results()?);
    match (a.variant(op, name), b.variant(op, name)) {
        (Some(x), Some(y)) if x != y => Some(Standing::new(
            Status::Rewritten,
            Basis::Hashes,
            format!("{x} became {y}"),
        )),
        (Some(variant), Some(_)) => by_objects(of_a, of_b, variant),
        (None, None) if name != "rust" => by_worker(of_a, of_b, op, name),
        _ => None,
    }
}

fn by_objects(a: &Results, b: &Results, variant: &str) -> Option<Standing> {
    let objects = |results: &Results| -> Option<BTreeMap<String, String>> {
        let all = &results.provenance.as_ref()?.objects_sha256;
        let of_variant: BTreeMap<_, _> = all
            .iter()
            .filter(|(file, _)| file.split('.').next() == Some(variant))
            .map(|(file, hash)| (file.clone(), hash.clone()))
            .collect();
        (!of_variant.is_empty()).then_some(of_variant)
    };
    let (of_a, of_b) = (objects(a)?, objects(b)?);
    Some(if of_a == of_b {
        Standing::new(
            Status::Control,
            Basis::Hashes,
            format!("the object of {variant} is the same"),
        )
    } else {
        Standing::new(
            Status::Rewritten,
            Basis::Hashes,
            format!("the object of {variant} changed"),
        )
    })
}

/// PyTorch and Triton: the worker's files and the packages are the code.
fn by_worker(a: &Results, b: &Results, op: Operation, name: &str) -> Option<Standing> {
    let (of_a, of_b) = (python_files(a, op, name)?, python_files(b, op, name)?);
    let versions = |results: &Results| {
        let packages = results
            .provenance
            .as_ref()
            .map(|p| p.python_packages.clone())
            .unwrap_or_default();
        (
            results.python.clone(),
            results.torch.clone(),
            results.triton.clone(),
            packages,
        )
    };
    let changed = if of_a != of_b {
        Some("the worker's sources changed")
    } else if versions(a) != versions(b) {
        Some("Python or its packages changed")
    } else {
        None
    };
    Some(match changed {
        Some(because) => Standing::new(Status::Rewritten, Basis::Hashes, because),
        None => Standing::new(
            Status::Control,
            Basis::Hashes,
            "worker sources and packages are the same",
        ),
    })
}

/// Hashes of the Python files that an implementation of an operation runs: the worker without the Triton
/// kernels of other operations, or all Python files of evidence that has no such worker.
fn python_files(results: &Results, op: Operation, name: &str) -> Option<BTreeMap<String, String>> {
    const WORKER: &str = "crates/harness/python/mage_worker/";
    const TRITON: &str = "crates/harness/python/mage_worker/triton_kernels/";
    let ours = results
        .source_sha256
        .keys()
        .any(|path| path.starts_with(WORKER));
    let takes_part = |path: &str| {
        let stem = Path::new(path).file_stem().and_then(|s| s.to_str());
        if !path.ends_with(".py") {
            false
        } else if path.starts_with(TRITON) {
            name.starts_with("triton") && [Some("__init__"), Some(op.name())].contains(&stem)
        } else {
            !ours || path.starts_with(WORKER)
        }
    };
    let files: BTreeMap<_, _> = results
        .source_sha256
        .iter()
        .filter(|(path, _)| takes_part(path))
        .map(|(path, hash)| (path.clone(), hash.clone()))
        .collect();
    (!files.is_empty()).then_some(files)
}

fn by_rows(a: &Side, b: &Side, op: Operation, name: &str) -> Option<Standing> {
    let launched = |side: &Side| {
        let kernels = side.kernels(op, name).ok().flatten()?;
        (!kernels.launched.is_empty()).then_some(kernels.launched)
    };
    let (of_a, of_b) = (launched(a)?, launched(b)?);
    Some(if of_a == of_b {
        Standing::new(
            Status::Control,
            Basis::Rows,
            "kernel names, shapes and resources are the same",
        )
    } else {
        Standing::new(
            Status::Rewritten,
            Basis::Rows,
            "kernel names, shapes or resources changed",
        )
    })
}
