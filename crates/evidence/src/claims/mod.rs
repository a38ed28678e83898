//! Claims as data, and their judgement by evidence: reproduced, not reproduced, or not testable here.
//!
//! A claim stands in `experiments/claims/<experiment>.toml` with the figure that was published for it, so
//! that the same claim is judged on any machine, each figure beside the other. The goals of an experiment, set before
//! it was measured, are claims of the same form: met, not met, or not testable here.

mod judge;
mod own;
mod show;
mod statistic;

pub use judge::{Judged, JudgedPart, Outcome, Verdicts, judge};
pub use statistic::{Field, Of, Statistic};

use crate::diff::Quantity;
use crate::error::Invalid;
use crate::operation::Operation;
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
    /// The GPU that the published figures are of; none for goals.
    pub gpu: Option<String>,
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
    /// The time is at most this.
    AtMost {
        /// The bound, in microseconds.
        us: f64,
    },
}

/// Who claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The published note, with figures of its own GPU.
    Note,
    /// The experiment, as its goal.
    Goal,
}

impl By {
    /// The claimant, as a column is named.
    pub const fn column(self) -> &'static str {
        match self {
            Self::Note => "the note",
            Self::Goal => "the goal",
        }
    }

    /// What a list of the claims about an experiment is called.
    pub fn title(self, experiment: &str) -> String {
        match self {
            Self::Note => format!("The note's claims about {experiment}"),
            Self::Goal => format!("The goals of {experiment}"),
        }
    }

    /// What an outcome is called.
    pub const fn words(self, outcome: Outcome) -> &'static str {
        match (self, outcome) {
            (_, Outcome::NotTestable) => "not testable here",
            (Self::Note, Outcome::Reproduced) => "reproduced",
            (Self::Note, Outcome::NotReproduced) => "not reproduced",
            (Self::Goal, Outcome::Reproduced) => "met",
            (Self::Goal, Outcome::NotReproduced) => "not met",
        }
    }
}

impl Claims {
    /// Where the claims about an experiment are below `root`.
    pub fn path(root: &Path, experiment: &str) -> PathBuf {
        root.join("experiments/claims")
            .join(format!("{experiment}.toml"))
    }

    /// Who claims.
    pub const fn by(&self) -> By {
        match self.gpu {
            Some(_) => By::Note,
            None => By::Goal,
        }
    }

    /// The goal for a time of a case in microseconds, where there is one.
    pub fn target_us(
        &self,
        quantity: Quantity,
        operation: Operation,
        implementation: &str,
    ) -> Option<f64> {
        let asked = Statistic::Time {
            quantity,
            operation,
            implementation: implementation.into(),
        };
        let mut parts = self.claims.iter().flat_map(|claim| &claim.parts);
        parts.find_map(|part| match part.bound {
            Bound::AtMost { us } if part.statistic == asked => Some(us),
            _ => None,
        })
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
                if let Bound::AtMost { us } = part.bound
                    && part.published != format!("at most {us} us")
                {
                    return Err(Invalid::new(
                        format!("{place}.parts[{k}].published"),
                        format!("{:?}", part.published),
                        format!("\"at most {us} us\", as its bound"),
                    ));
                }
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
            (
                "{ kind = \"as_published\" }",
                "{ kind = \"at_most\", us = 4.2 }",
                "\"at most 4.2 us\"",
            ),
            ("statement", "statment", "statment"),
        ] {
            let error = Claims::parse(&GOOD.replacen(from, to, 1))
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{from} -> {to}: {error}");
        }
    }
}
