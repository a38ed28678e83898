//! What the kernels do, counted on the CPU: the part of `docs/structure/<experiment>.json` that claims, figures and
//! pages read.

use crate::error::Invalid;
use crate::operation::Operation;
use crate::store::{self, StoreError};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Version of the file's schema that is read here.
const SCHEMA_VERSION: u32 = 1;

/// The counts of an experiment's kernels.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Counts {
    schema_version: u32,
    /// The experiment.
    pub experiment: String,
    /// Each variant: operations in the experiment's order, each from its general variant on.
    pub variants: Vec<Counted>,
    /// What was published about structure, beside what is counted.
    pub findings: Vec<Finding>,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Counted {
    /// The variant.
    pub variant: String,
    /// What it computes.
    pub operation: Operation,
    /// Whether it is the one that the experiment measures.
    pub measured: bool,
    /// The ratios that its counts give.
    pub structure: Structure,
}

/// Ratios of one variant.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Structure {
    /// The dims that it was counted at.
    pub dims: Vec<u32>,
    /// Fused multiply-adds of threads.
    pub multiply_adds: u64,
    /// Values read from shared memory for each of them; none without multiply-adds.
    #[serde(default)]
    pub shared_reads_per_multiply_add: Option<f64>,
    /// Values read from global memory for each of them; none without multiply-adds.
    #[serde(default)]
    pub global_reads_per_multiply_add: Option<f64>,
}

/// One published sentence beside what is counted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Finding {
    /// Number of the claim.
    pub claim: u32,
    /// The variant that it is about.
    pub variant: String,
    /// What was published.
    pub says: String,
    /// What is counted.
    pub counted: String,
    /// `reproduced`, `not_reproduced` or another word.
    pub verdict: String,
}

impl Counts {
    /// Where the counts of an experiment are below the root.
    pub fn path(experiment: &str) -> PathBuf {
        Path::new("docs/structure").join(format!("{experiment}.json"))
    }

    /// Reads the counts of an experiment below `root`; the inner error says why there are none.
    ///
    /// # Errors
    /// A file that is there and cannot be read, or is of another schema.
    pub fn read(root: &Path, experiment: &str) -> Result<Result<Self, String>, StoreError> {
        let path = Self::path(experiment);
        let full = root.join(&path);
        if !full.exists() {
            return Ok(Err(format!("the kernels of {experiment} are not counted")));
        }
        let counts: Self = store::read_json(&full)?;
        if counts.schema_version != SCHEMA_VERSION {
            let refused = Invalid::new(
                "schema_version",
                counts.schema_version,
                SCHEMA_VERSION.to_string(),
            );
            let help = format!("cargo xtask structure --experiment {experiment} --write");
            return Err(refused.help(help).in_file(&path).into());
        }
        Ok(Ok(counts))
    }

    /// What is counted of a claim's sentence about a variant.
    pub fn finding(&self, claim: u32, variant: &str, says: &str) -> Option<&Finding> {
        let of = |f: &&Finding| f.claim == claim && f.variant == variant && f.says == says;
        self.findings.iter().find(of)
    }
}
