//! Judged claims as text and as the Markdown page that is committed.

use super::judge::{JudgedPart, Verdicts};
use super::{Judged, Outcome};
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
                claim.outcome().words().to_uppercase()
            );
            let mut table = Table::new(&[
                ("", Align::Left),
                ("the note", Align::Left),
                ("here", Align::Left),
                ("", Align::Left),
            ]);
            for part in &claim.parts {
                table.push(vec![
                    part.about.clone(),
                    part.published.clone(),
                    figure(part),
                    outcome(part),
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
        let mut out = format!(
            "# {title}\n\nJudged by {}{}. The note's figures are of an {}; a figure in\nmicroseconds is not expected to be the same on another GPU, a direction or a count is. Made from evidence by\n`cargo xtask claims`; what is not testable says why.\n\n",
            self.experiment,
            self.baseline
                .as_ref()
                .map_or_else(String::new, |b| format!(" against {b}")),
            self.published_gpu
        );
        let mut table = Table::new(&[
            ("claim", Align::Right),
            ("part", Align::Left),
            ("the note", Align::Left),
            ("here", Align::Left),
            ("outcome", Align::Left),
        ]);
        for claim in &self.claims {
            table.push(vec![
                claim.number.to_string(),
                format!("**{}**", claim.statement),
                String::new(),
                String::new(),
                format!("**{}**", claim.outcome().words()),
            ]);
            for part in &claim.parts {
                table.push(vec![
                    String::new(),
                    part.about.clone(),
                    part.published.clone(),
                    figure(part),
                    outcome(part),
                ]);
            }
        }
        out += &table.markdown();
        let _ = write!(out, "\n{}\n", self.counts());
        out
    }

    fn counts(&self) -> String {
        let count = |outcome| {
            let of = |claim: &&Judged| claim.outcome() == outcome;
            self.claims.iter().filter(of).count()
        };
        format!(
            "{} claims: {} reproduced, {} not reproduced, {} not testable here.",
            self.claims.len(),
            count(Outcome::Reproduced),
            count(Outcome::NotReproduced),
            count(Outcome::NotTestable)
        )
    }
}

fn figure(part: &JudgedPart) -> String {
    part.figure.clone().unwrap_or_else(|| "-".into())
}

fn outcome(part: &JudgedPart) -> String {
    match part.why.is_empty() {
        true => part.outcome.words().into(),
        false => format!("{}: {}", part.outcome.words(), part.why),
    }
}
