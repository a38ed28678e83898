//! A comparison as text.

use super::{CYCLE, Comparison, Ended, Judged};
use crate::error::Invalid;
use crate::stats::percent;
use crate::table::{Align, Table};
use crate::verdict::{Reason, Verdict};
use std::fmt::Write as _;

impl Comparison {
    /// What a reader needs: what was compared, the table, the reasons, how it was measured.
    ///
    /// # Errors
    /// [`Invalid`] on times that are no times.
    pub fn text(&self) -> Result<String, Invalid> {
        let session = &self.session;
        let (a, b) = (&session.a.name, &session.b.name);
        let dims: Vec<String> = session.dims.iter().map(u32::to_string).collect();
        let mut text = format!(
            "{} {} on {}: B = {b} against A = {a}\n\n",
            session.operation,
            dims.join("x"),
            self.device.name
        );
        let judged = self.judged()?;
        text += &table(&judged).text();
        text.push('\n');
        for row in &judged {
            let _ = writeln!(text, "{}", self.sentence(row));
        }
        let _ = writeln!(
            text,
            "\nEvent spans in microseconds: they can include a gap while the host submits. Hot: the cache holds what the \
             call before left. Cold: {} MiB of other memory were written before each call.",
            session.turn.flush_bytes >> 20
        );
        let _ = writeln!(
            text,
            "{} cycles of {CYCLE} rounds in {:.1} s, {}. Intervals cover 95% over all looks; floor: A against itself.",
            session.cycles(),
            self.took_s,
            match self.ended {
                Ended::Narrow => "ended because the intervals are narrow enough",
                Ended::Time => "ended because the time was up",
                Ended::Planned => "all that were planned",
            },
        );
        let _ = writeln!(
            text,
            "Whole outputs ({} elements) agree with the FP64 reference: largest error {:.1e} in A, {:.1e} in B.",
            session.a.check.checked_elements,
            session.a.check.fp64.max_abs_error,
            session.b.check.fp64.max_abs_error
        );
        for (side, arm) in [("A", &session.a), ("B", &session.b)] {
            if let Some(choice) = &arm.choice {
                let _ = writeln!(text, "{side} ran {}.", choice.words());
            }
        }
        Ok(text)
    }

    /// The verdict in words, with the command that would settle what is open.
    fn sentence(&self, row: &Judged) -> String {
        let (a, b) = (&self.session.a.name, &self.session.b.name);
        let by = percent(row.ratio.log).abs();
        let cache = row.cache;
        match row.verdict() {
            Verdict::Faster => format!("{cache}: {b} is faster than {a}: {by:.2}% less time"),
            Verdict::Slower => format!("{cache}: {b} is slower than {a}: {by:.2}% more time"),
            Verdict::Equivalent => format!(
                "{cache}: equivalent: the interval lies within {:.2}% either way",
                self.margin * 100.0
            ),
            verdict => match self.settle(verdict) {
                Some(settle) => format!("{cache}: {verdict}; to settle it: {settle}"),
                None => format!("{cache}: {verdict}"),
            },
        }
    }

    fn settle(&self, verdict: &Verdict) -> Option<String> {
        let Verdict::Inconclusive(reason) = verdict else {
            return None;
        };
        let longer = format!("--budget {:.0}s", (self.budget_s * 4.0).ceil());
        Some(match reason {
            Reason::TooFew(_) | Reason::TooWide { .. } => longer,
            Reason::BelowFloor { .. } if self.ended == Ended::Time => longer,
            Reason::Throttled(_) => "measure when the GPU is cool and not shared".into(),
            Reason::BelowFloor { .. } | Reason::BelowTick { .. } | Reason::ProcessEffect(_) => {
                self.kernel_times()
            }
            _ => return None,
        })
    }

    /// What one process, and event spans, cannot tell: kernel times of several processes. A ladder makes the buffers of
    /// two variants in another order in each; implementations are captured one by one.
    fn kernel_times(&self) -> String {
        let session = &self.session;
        let words = self.command.windows(2);
        let apart =
            words.filter_map(|pair| (pair[0] == "--experiment").then_some(pair[1].as_str()));
        let words = self.command.iter();
        let glued = words.filter_map(|word| word.strip_prefix("--experiment="));
        let named = apart.chain(glued).next();
        let experiment = named.unwrap_or("EXPERIMENT");
        let of = format!(
            "--experiment {experiment} --ops {} --captures 6 --inputs target/inputs",
            session.operation
        );
        let inputs = format!(
            "cargo run --release -p mage-harness -- inputs --experiment {experiment} --output target/inputs"
        );
        let profile = "cargo run --release -p mage-profile --";
        let command = match (&session.a.kernel, &session.b.kernel) {
            (Some(_), Some(_)) => format!("{profile} ladder {of} --namespace {experiment}-ab"),
            (a, b) => {
                let name = |kernel: &Option<String>, name: &String| match kernel {
                    Some(_) => "rust".to_string(),
                    None => name.clone(),
                };
                let names = [name(a, &session.a.name), name(b, &session.b.name)];
                format!(
                    "{profile} run {of} --implementations {} --namespace {experiment}-ab",
                    names.join(",")
                )
            }
        };
        format!("the kernel times of several processes: {inputs} && {command}")
    }
}

fn table(judged: &[Judged]) -> Table {
    let mut table = Table::new(&[
        ("cache", Align::Left),
        ("A us", Align::Right),
        ("B us", Align::Right),
        ("change", Align::Right),
        ("interval", Align::Left),
        ("floor", Align::Right),
        ("verdict", Align::Left),
    ]);
    for row in judged {
        let interval = row.judgement.interval;
        table.push(vec![
            row.cache.to_string(),
            time(row.a_us),
            time(row.b_us),
            signed(percent(row.ratio.log)),
            interval.map_or("-".into(), |i| {
                format!("{} to {}", signed(percent(i.low)), signed(percent(i.high)))
            }),
            row.floor
                .map_or("-".into(), |floor| format!("{:.2}%", percent(floor.log))),
            row.verdict().word().into(),
        ]);
    }
    table
}

fn time(us: f64) -> String {
    match us {
        us if us < 100.0 => format!("{us:.2}"),
        us => format!("{us:.1}"),
    }
}

fn signed(percent: f64) -> String {
    match format!("{percent:+.2}%") {
        text if text == "-0.00%" || text == "+0.00%" => "0.00%".into(),
        text => text,
    }
}
