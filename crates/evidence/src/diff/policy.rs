//! When a comparison fails.

use super::{Diff, Status};
use crate::verdict::Verdict;
use std::fmt;
use std::str::FromStr;

/// What makes a comparison fail. Controls never do: their code did not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailOn {
    /// A case that is slower.
    Slower,
    /// A case that is slower, or of which neither winner nor equality can be stated, or that is gone.
    Inconclusive,
    /// Nothing.
    Never,
}

/// Whether a comparison meets its policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It does.
    Met,
    /// It does not; each case that fails it, in words.
    Failed(Vec<String>),
    /// A side is invalid; each case.
    Invalid(Vec<String>),
}

impl FailOn {
    /// All, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Slower, Self::Inconclusive, Self::Never];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Inconclusive => "inconclusive",
            Self::Never => "never",
        }
    }

    /// Whether a case of this verdict fails the comparison; `status` tells one that is new from one that is gone.
    pub const fn refuses(self, verdict: &Verdict, status: Status) -> bool {
        match (self, verdict) {
            (Self::Never, _) => false,
            (_, Verdict::Slower) => true,
            (Self::Inconclusive, Verdict::Inconclusive(_)) => true,
            (Self::Inconclusive, Verdict::Unmatched(_)) => !matches!(status, Status::New),
            _ => false,
        }
    }

    /// Judges a comparison.
    pub fn outcome(self, diff: &Diff) -> Outcome {
        if diff.same {
            return Outcome::Met;
        }
        let words = |keep: &dyn Fn(&Verdict, Status) -> bool| -> Vec<String> {
            diff.verdicts()
                .filter(|(row, _, verdict)| keep(verdict, row.standing.status))
                .map(|(row, quantity, verdict)| {
                    format!(
                        "{} {} {}: {verdict}",
                        row.operation,
                        row.implementation,
                        quantity.label()
                    )
                })
                .collect()
        };
        let invalid = words(&|verdict, _| matches!(verdict, Verdict::Invalid(_)));
        if !invalid.is_empty() {
            return Outcome::Invalid(invalid);
        }
        let failed =
            words(&|verdict, status| status != Status::Control && self.refuses(verdict, status));
        match failed.is_empty() {
            true => Outcome::Met,
            false => Outcome::Failed(failed),
        }
    }
}

/// A part of 1 that is written in percent: `1%`, `1`, `0.5%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percent(pub f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').unwrap_or(text);
        match number.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err(format!(
                "found {text:?}, expected percent from 0 to 100, such as 1%"
            )),
        }
    }
}

impl fmt::Display for FailOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                format!("found {text:?}, expected one of {names}")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_percent() {
        let parsed = |text: &str| text.parse::<Percent>().map(|percent| percent.0);
        assert_eq!(parsed("1%").unwrap(), 0.01);
        assert_eq!(parsed("2.5").unwrap(), 0.025);
        for bad in ["", "%", "-1%", "101%", "NaN", "one"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
        for (part, text) in [(0.01, "1%"), (0.003, "0.3%"), (0.0, "0%")] {
            assert_eq!(Percent(part).to_string(), text);
            assert_eq!(parsed(text).unwrap(), part);
        }
    }
}
