//! What an implementation chose before anything was timed: one configuration among candidates.

use crate::error::Invalid;
use serde::{Deserialize, Serialize};

/// A configuration as plain data: what prepares the same code again.
pub type Config = serde_json::Map<String, serde_json::Value>;

/// A choice and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What was chosen and ran.
    pub config: Config,
    /// How candidates were timed, in words; none where a given configuration was prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Every candidate in the order in which it was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
}

/// What became of one candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The configuration.
    pub config: Config,
    /// [`PASSES`], or what else became of it.
    pub outcome: String,
    /// Why it does not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Largest absolute error against the FP64 expression; none where the output is not finite or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_abs_error: Option<f64>,
    /// Device time of one call in microseconds, by which it was ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_us: Option<f64>,
    /// The same, measured again among the fastest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_us: Option<f64>,
}

/// Outcome of a candidate whose whole output is within tolerance.
pub const PASSES: &str = "passes";

impl Choice {
    /// Refuses a choice that its own candidates do not support: the chosen one must have passed, and been the
    /// fastest of those that were measured last.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        for (i, candidate) in self.candidates.iter().enumerate() {
            let passes = candidate.outcome == PASSES;
            if passes != candidate.time_us.is_some_and(|t| t.is_finite() && t > 0.0) {
                return Err(Invalid::new(
                    format!("candidates[{i}].time_us"),
                    format!("{:?} of one that {}", candidate.time_us, candidate.outcome),
                    "a finite time above 0 of those that pass, and of no others",
                ));
            }
        }
        let last = |candidate: &&Candidate| candidate.final_us.is_some();
        let finalists = self.candidates.iter().filter(last);
        let fastest = finalists.min_by(|a, b| {
            let time = |c: &Candidate| c.final_us.unwrap_or(f64::INFINITY);
            time(a).total_cmp(&time(b))
        });
        match fastest {
            None if self.candidates.is_empty() => Ok(()),
            Some(fastest) if fastest.outcome == PASSES && fastest.config == self.config => Ok(()),
            found => Err(Invalid::new(
                "config",
                format!("{:?}", self.config),
                format!(
                    "the fastest candidate that passes: {:?}",
                    found.map(|c| &c.config)
                ),
            )),
        }
    }

    /// The configuration, and among how many it was chosen. What a value holds that is a table stays out.
    pub fn words(&self) -> String {
        let plain = |(key, value): (&String, &serde_json::Value)| match value {
            serde_json::Value::Object(_) => None,
            serde_json::Value::String(text) => Some(format!("{key} {text}")),
            value => Some(format!("{key} {value}")),
        };
        let config: Vec<String> = self.config.iter().filter_map(plain).collect();
        let config = config.join(", ");
        match self.counts() {
            (0, _) => config,
            (all, pass) => format!(
                "{config}: the fastest of the {pass} among {all} candidates that pass the check"
            ),
        }
    }

    /// How many candidates there were, and how many of them pass.
    pub fn counts(&self) -> (usize, usize) {
        let passes = |c: &&Candidate| c.outcome == PASSES;
        (
            self.candidates.len(),
            self.candidates.iter().filter(passes).count(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: three candidates, the second the fastest of the last turn.
    fn choice() -> Choice {
        serde_json::from_value(serde_json::json!({
            "config": {"tile": 2},
            "how": "in words",
            "candidates": [
                {"config": {"tile": 1}, "outcome": "passes", "max_abs_error": 0.0, "time_us": 1.0, "final_us": 3.0},
                {"config": {"tile": 2}, "outcome": "passes", "max_abs_error": 0.0, "time_us": 2.0, "final_us": 2.0},
                {"config": {"tile": 3}, "outcome": "fails the check", "reason": "r", "max_abs_error": null},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn the_fastest_that_passes_is_the_choice() {
        choice().check().unwrap();
        assert_eq!(choice().counts(), (3, 2));
        let given = Choice {
            how: None,
            candidates: Vec::new(),
            ..choice()
        };
        given.check().unwrap();
        assert_eq!(
            serde_json::to_string(&given).unwrap(),
            r#"{"config":{"tile":2}}"#
        );
    }

    #[test]
    fn a_choice_in_words() {
        assert_eq!(
            choice().words(),
            "tile 2: the fastest of the 2 among 3 candidates that pass the check"
        );
        let given: Choice = serde_json::from_value(serde_json::json!({
            "config": {"mode": "m", "emitted": {"code_sha256": "0"}, "stages": [1, 2]},
        }))
        .unwrap();
        assert_eq!(given.words(), "mode m, stages [1,2]");
    }

    #[test]
    fn another_choice_and_a_time_of_a_failure_are_refused() {
        let mut other = choice();
        other.config = other.candidates[0].config.clone();
        let words = other.check().unwrap_err().to_string();
        assert!(
            words.contains("expected the fastest candidate that passes"),
            "{words}"
        );
        let mut failed = choice();
        failed.candidates[2].time_us = Some(1.0);
        let words = failed.check().unwrap_err().to_string();
        assert!(words.contains("candidates[2].time_us"), "{words}");
        let mut lost = choice();
        lost.candidates[1].time_us = None;
        assert!(lost.check().is_err());
    }
}
