//! Judged claims as text and as the Markdown page that is committed.

use super::judge::{JudgedPart, Verdicts};
use super::{By, Judged, Outcome};
use crate::table::{Align, Table};
use std::fmt::Write as _;

impl Verdicts {
    /// As aligned text.
    pub fn text(&self) -> String {
        let mut out = format!("judged by: {}\n", self.experiment);
        if let Some(baseline) = &self.baseline {
            let _ = writeln!(out, "compared with: {baseline}");
        }
        out.push('\n');
        for claim in &self.claims {
            let _ = writeln!(
                out,
                "{}. {} {}",
                claim.number,
                claim.statement,
                self.by.words(claim.outcome()).to_uppercase()
            );
            let mut table = Table::new(&[
                ("", Align::Left),
                (self.by.column(), Align::Left),
                ("here", Align::Left),
                ("", Align::Left),
            ]);
            for part in &claim.parts {
                table.push(vec![
                    part.about.clone(),
                    part.published.clone(),
                    figure(part),
                    self.outcome(part),
                ]);
            }
            for line in table.text().lines() {
                let _ = writeln!(out, "   {line}");
            }
            out.push('\n');
        }
        out + &self.counts() + "\n"
    }

    /// As a page: one table, one row a part.
    pub fn markdown(&self, title: &str) -> String {
        let of_the_note = match &self.published_gpu {
            Some(gpu) => format!(
                " The note's figures are of an {gpu}; a figure in\nmicroseconds is not expected to be the same on another GPU, a direction or a count is."
            ),
            None => String::new(),
        };
        let mut out = format!(
            "# {title}\n\nJudged by {}{}.{of_the_note} Made from evidence by\n`cargo xtask claims`; what is not testable says why.\n\n",
            self.experiment,
            self.baseline
                .as_ref()
                .map_or_else(String::new, |b| format!(" against {b}")),
        );
        let mut table = Table::new(&[
            ("claim", Align::Right),
            ("part", Align::Left),
            (self.by.column(), Align::Left),
            ("here", Align::Left),
            ("outcome", Align::Left),
        ]);
        for claim in &self.claims {
            table.push(vec![
                claim.number.to_string(),
                format!("**{}**", claim.statement),
                String::new(),
                String::new(),
                format!("**{}**", self.by.words(claim.outcome())),
            ]);
            for part in &claim.parts {
                table.push(vec![
                    String::new(),
                    part.about.clone(),
                    part.published.clone(),
                    figure(part),
                    self.outcome(part),
                ]);
            }
        }
        out += &table.markdown();
        let _ = write!(out, "\n{}\n", self.counts());
        out + crate::ALL_RESULTS
    }

    fn counts(&self) -> String {
        let count = |outcome| {
            let of = |claim: &&Judged| claim.outcome() == outcome;
            self.claims.iter().filter(of).count()
        };
        let what = match self.by {
            By::Note => "claims",
            By::Goal => "goals",
        };
        let outcomes = [
            Outcome::Reproduced,
            Outcome::NotReproduced,
            Outcome::NotTestable,
        ];
        let counts = outcomes.map(|of| format!("{} {}", count(of), self.by.words(of)));
        format!("{} {what}: {}.", self.claims.len(), counts.join(", "))
    }

    /// What became of a part, and why.
    pub fn outcome(&self, part: &JudgedPart) -> String {
        let words = self.by.words(part.outcome);
        match part.why.is_empty() {
            true => words.into(),
            false => format!("{words}: {}", part.why),
        }
    }
}

fn figure(part: &JudgedPart) -> String {
    part.figure.clone().unwrap_or_else(|| "-".into())
}
