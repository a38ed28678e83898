//! Claims as data, and their judgement by evidence: reproduced, not reproduced, or not testable here.
//!
//! A claim stands in `experiments/claims/<experiment>.toml` with the figure that was published for it, so
//! that the same claim is judged on any machine, each figure beside the other.

mod judge;
mod show;
mod statistic;

pub use judge::{Judged, JudgedPart, Outcome, Verdicts, judge};
pub use statistic::{Field, Of, Statistic};

use crate::error::Invalid;
use crate::store::{self, StoreError};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// All claims about an experiment. Unknown keys are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The experiment.
    pub experiment: String,
    /// The experiment that it is compared with.
    pub baseline: String,
    /// The GPU that the published figures are of.
    pub gpu: String,
    /// The claims, by number.
    pub claims: Vec<Claim>,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its number, counted from 1.
    pub number: u32,
    /// What is claimed, in one sentence of Markdown.
    pub statement: String,
    /// What can be judged of it, each by itself.
    pub parts: Vec<Part>,
}

/// One thing that can be judged.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Which number of the evidence.
    pub statistic: Statistic,
    /// The figure that was published, in the words of the statistic.
    pub published: String,
    /// When it is reproduced.
    pub bound: Bound,
}

/// When a part of a claim is reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Bound {
    /// The figure is the published one.
    AsPublished,
    /// The comparison's verdict is faster.
    Falls,
    /// The change is at most this many percent either way.
    Within {
        /// The bound.
        percent: f64,
    },
    /// The ratio is above 1 by more than the noise floor.
    AboveOne,
    /// The ratio is within this many percent of 1.
    Level {
        /// The bound.
        percent: f64,
    },
    /// The statistic says whether it holds.
    Holds,
}

impl Claims {
    /// Where the claims about an experiment are below `root`.
    pub fn path(root: &Path, experiment: &str) -> PathBuf {
        root.join("experiments/claims")
            .join(format!("{experiment}.toml"))
    }

    /// Reads and checks a file of claims.
    ///
    /// # Errors
    /// [`StoreError`] naming the file and the field.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let text = store::read_text(path)?;
        let claims = Self::parse(&text).map_err(|invalid| invalid.in_file(path))?;
        if path.file_stem().and_then(|s| s.to_str()) != Some(&claims.experiment) {
            return Err(Invalid::new(
                "experiment",
                format!("{:?}", claims.experiment),
                "the file's own name without .toml",
            )
            .in_file(path)
            .into());
        }
        Ok(claims)
    }

    /// Parses and checks the text of a file of claims.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let claims: Self = toml::from_str(text).map_err(|error| {
            Invalid::new(
                "",
                error.to_string().trim_end(),
                "claims as experiments/claims/mage-002.toml describes them",
            )
        })?;
        for (i, claim) in claims.claims.iter().enumerate() {
            let place = format!("claims[{i}]");
            if claim.number as usize != i + 1 {
                return Err(Invalid::new(
                    format!("{place}.number"),
                    claim.number,
                    format!("{}: claims are counted from 1", i + 1),
                ));
            }
            if claim.parts.is_empty() {
                return Err(Invalid::new(
                    format!("{place}.parts"),
                    "none",
                    "at least one",
                ));
            }
            for (k, part) in claim.parts.iter().enumerate() {
                if !part.statistic.takes(&part.bound) {
                    return Err(Invalid::new(
                        format!("{place}.parts[{k}].bound"),
                        format!("{:?}", part.bound),
                        "a bound that this kind of statistic has",
                    ));
                }
            }
        }
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
experiment = "x"
baseline = "y"
gpu = "G"
[[claims]]
number = 1
statement = "S."
[[claims.parts]]
statistic = { kind = "checks" }
published = "45 of 45"
bound = { kind = "as_published" }
"#;

    #[test]
    fn bad_claims_name_the_field() {
        Claims::parse(GOOD).unwrap();
        for (from, to, expected) in [
            ("number = 1", "number = 2", "claims[0].number: found 2"),
            ("\"as_published\"", "\"falls\"", "claims[0].parts[0].bound"),
            ("\"as_published\"", "\"rises\"", "rises"),
            ("\"checks\"", "\"cheques\"", "cheques"),
            ("statement", "statment", "statment"),
        ] {
            let error = Claims::parse(&GOOD.replacen(from, to, 1))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{from} -> {to}: {error}");
        }
    }
}
