//! The counts of an experiment's operations, each variant with its structure and the compiler's resources.

use crate::claims;
use crate::counters::compare::Comparison;
use anyhow::Context;
use mage_evidence::experiment::{Case, Experiment};
use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_kernels::inputs;
use mage_kernels::resources::{Resources, pins};
use mage_kernels::variants::{self, Variant};
use mage_simt::{Counts, Error, Finding, Structure, execute};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the report's schema.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that is counted of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The experiment whose dims and inputs these are.
    pub experiment: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// Version of the ptxas that reported the resources.
    pub ptxas: String,
    /// The architecture that they are for.
    pub arch: String,
    /// Each variant that was counted: the operations in the experiment's order, each from its general variant on.
    pub variants: Vec<Entry>,
    /// Each variant that was not, and why.
    pub left_out: Vec<LeftOut>,
    /// Claims 7 to 9 of the note.
    pub findings: Vec<Finding>,
    /// Against hardware counters, one a stored run.
    pub comparisons: Vec<Comparison>,
}

/// One variant, counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The variant.
    pub variant: String,
    /// What it computes.
    pub operation: Operation,
    /// Whether it is the one that the experiment measures.
    pub measured: bool,
    /// SHA-256 of its source file.
    pub source_sha256: String,
    /// What the compiler makes of it.
    pub resources: Resources,
    /// The ratios that its counts give.
    pub structure: Structure,
    /// Everything that was counted, in total and by line of source.
    pub counts: Counts,
}

/// One variant that was not counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// The variant.
    pub variant: String,
    /// Why, as a sentence without a full stop.
    pub reason: String,
}

/// The cases of an experiment, or the one of `only`, each with all variants of its operation.
///
/// # Errors
/// The experiment has no such operation.
pub fn selection(
    experiment: &Experiment,
    only: Option<Operation>,
) -> anyhow::Result<Vec<(&Case, &'static Variant)>> {
    if let Some(operation) = only {
        experiment.case(operation).with_context(|| {
            let known: Vec<&str> = experiment
                .operations
                .iter()
                .map(|c| c.name.name())
                .collect();
            let known = known.join(", ");
            format!("--op: found {operation}, expected one of the experiment's: {known}")
        })?;
    }
    let cases = experiment.operations.iter();
    let cases = cases.filter(|case| only.is_none_or(|operation| operation == case.name));
    Ok(cases
        .flat_map(|case| variants::of(case.name).map(move |variant| (case, variant)))
        .filter(|(_, variant)| belongs(experiment, variant))
        .collect())
}

/// Whether a variant was made for the experiment, or for the baseline that it is compared with.
fn belongs(experiment: &Experiment, variant: &Variant) -> bool {
    let made_for = variant.introduced;
    made_for == experiment.name || experiment.baseline.as_deref() == Some(made_for)
}

/// Counts one variant at a case's dims, on all cores.
///
/// # Errors
/// Inputs or a source that cannot be read, and a fault of the kernel. A variant that cannot be counted is no
/// error: it is [`LeftOut`].
pub fn count(
    root: &Path,
    experiment: &Experiment,
    case: &Case,
    variant: &'static Variant,
) -> anyhow::Result<Result<Entry, LeftOut>> {
    let left_out = |reason: String| {
        Ok(Err(LeftOut {
            variant: variant.id.to_owned(),
            reason,
        }))
    };
    if let Err(reason) = variant.takes(&case.dims) {
        return left_out(reason);
    }
    let inputs = inputs::generate(case.name, &case.dims, experiment.seed)?;
    inputs.verify(&case.sha256)?;
    let counts = match execute(variant, &inputs) {
        Ok(execution) => execution.counts,
        Err(reason @ Error::DeviceOnly { .. }) => return left_out(reason.to_string()),
        Err(fault) => return Err(fault).with_context(|| variant.id),
    };
    let resources = pins().objects.get(variant.id).copied();
    Ok(Ok(Entry {
        variant: variant.id.to_owned(),
        operation: case.name,
        measured: case.variant == variant.id,
        source_sha256: source_sha256(root, variant.id)?,
        resources: resources.with_context(|| format!("{} is not pinned", variant.id))?,
        structure: Structure::of(variant, &case.dims, &counts),
        counts,
    }))
}

/// SHA-256 of a variant's source file.
///
/// # Errors
/// The file cannot be read.
pub fn source_sha256(root: &Path, id: &str) -> anyhow::Result<String> {
    let path = root.join(format!("crates/kernels/device/src/variants/{id}.rs"));
    Ok(sha256_hex(&store::read_bytes(&path)?))
}

impl Report {
    /// The report of these variants.
    pub fn new(
        experiment: &Experiment,
        variants: Vec<Entry>,
        left_out: Vec<LeftOut>,
        comparisons: Vec<Comparison>,
    ) -> Self {
        let pins = pins();
        let structures: Vec<Structure> = variants.iter().map(|e| e.structure.clone()).collect();
        Self {
            schema_version: SCHEMA_VERSION,
            experiment: experiment.name.clone(),
            seed: experiment.seed,
            findings: claims::findings(&structures, &pins),
            ptxas: pins.ptxas,
            arch: pins.arch,
            variants,
            left_out,
            comparisons,
        }
    }

    /// The entry of a variant.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.variants.iter().find(|entry| entry.variant == id)
    }
}
