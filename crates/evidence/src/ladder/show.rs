//! The ladder as a page: every number and every text from the evidence.

use super::{Change, KernelTime, Ladder, OperationLadder, Status, Step};
use crate::table::{Align, Table};
use std::fmt::Write as _;

impl Ladder {
    /// The page, as Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!(
            "# The ladder of {}\n\n\
             Every kernel variant of every operation, each beside the one that it was made from, on {}. What a variant \
             changed and what that was expected to do is what its source says; all else was measured.\n\n\
             All variants of an operation run in one process and one Nsight Systems capture, {} captures in all. The \
             whole output of each is first compared with an FP64 reference. Then they take {} turns, together {} calls \
             each, every turn behind {} calls more, in an order that rotates. Kernel time is the mean over the captures, in \
             microseconds, with the smallest and the largest of them; a change is the ratio to the parent's time in the \
             same capture, with an interval of {}% or the noise floor, whichever is wider. The noise floor of an \
             operation is what one variant, run as if it were two, leaves possible between the same code and itself. A \
             ladder is a session of its own, on one card, so that its times are compared with each other alone; this one ended {}, \
             at commit {}.\n",
            self.provenance.namespace,
            self.gpu,
            self.captures,
            self.turns,
            self.iterations,
            self.warmup,
            crate::stats::LEVEL * 100.0,
            self.provenance.finished,
            self.provenance
                .tree
                .commit
                .as_deref()
                .unwrap_or("not known"),
        );
        for operation in &self.operations {
            operation.section(&mut out);
        }
        let _ = write!(
            out,
            "\n---\n\nMade from `docs/assets/results/{}/{}` by `cargo xtask figures`.\n",
            self.provenance.namespace,
            super::FILE
        );
        out + crate::ALL_RESULTS
    }
}

impl OperationLadder {
    fn section(&self, out: &mut String) {
        let dims: Vec<String> = self.dims.iter().map(u32::to_string).collect();
        let _ = write!(
            out,
            "\n## {}, {}\n\n{}\n\n",
            self.operation.label(),
            dims.join(" x "),
            self.summary()
        );
        out.push_str(&self.table().markdown());
        for step in &self.steps {
            step.prose(out);
        }
        if !self.left_out.is_empty() {
            out.push_str("\nNot called:\n\n");
            for left in &self.left_out {
                let _ = writeln!(out, "- `{}`: {}", left.id, left.reason);
            }
        }
    }

    fn summary(&self) -> String {
        let count = |status| {
            self.steps
                .iter()
                .filter(|s| s.variant.status == status)
                .count()
        };
        let mut words = format!(
            "{} variants: {} retained, {} rejected, {} open, {} twin{}. The experiment runs `{}`",
            self.steps.len(),
            count(Status::Retained),
            count(Status::Rejected),
            count(Status::Open),
            count(Status::Twin),
            if count(Status::Twin) == 1 { "" } else { "s" },
            self.variant
        );
        let own = self.step(&self.variant);
        let first = self
            .steps
            .first()
            .filter(|first| first.variant.id != self.variant);
        if let Some(time) = own.and_then(|step| step.kernel_time.as_ref()) {
            let _ = write!(words, ", {} us", us(time.mean_us));
            if let Some((first, time)) = first.and_then(|s| Some((s, s.kernel_time.as_ref()?))) {
                let _ = write!(
                    words,
                    " where `{}` takes {}",
                    first.variant.id,
                    us(time.mean_us)
                );
            }
        }
        words.push('.');
        for limit in own.iter().flat_map(|step| &step.limits) {
            let twin = self
                .step(&limit.twin)
                .and_then(|twin| twin.kernel_time.as_ref());
            let time = twin.map_or(String::new(), |time| {
                format!(" takes {} us", us(time.mean_us))
            });
            let of = match limit.of == self.variant {
                true => String::new(),
                false => format!(", the twin of `{}`, from which it was made,", limit.of),
            };
            let range = between(limit.low, limit.high, share);
            let _ = write!(
                words,
                " `{}`{of}{time}: {} of the limit{range}.",
                limit.twin,
                share(limit.share)
            );
        }
        if own.is_some_and(|step| step.limits.is_empty()) {
            words.push_str(" No twin stands on its line, so that its limit is not measured.");
        }
        match self.again.as_ref().and_then(|again| again.floor_percent) {
            Some(floor) => {
                let _ = write!(words, " Noise floor: {floor:.1}%.");
            }
            None => words.push_str(" Too few captures for a noise floor, and so for any verdict."),
        }
        if !self.throttled.is_empty() {
            let _ = write!(
                words,
                " Clocks were held down: {}.",
                self.throttled.join(", ")
            );
        }
        words
    }

    fn table(&self) -> Table {
        let left = ["variant", "from", "status"].map(|name| (name, Align::Left));
        let right = [
            "kernel time",
            "range",
            "to parent",
            "registers",
            "threads",
            "shared KiB",
            "error",
        ];
        let right = right.map(|name| (name, Align::Right));
        let head = [&left[..], &right[..], &[("verdict", Align::Left)]].concat();
        let mut table = Table::new(&head);
        for step in &self.steps {
            let variant = &step.variant;
            let time = step.kernel_time.as_ref();
            let of = |value: Option<String>| value.unwrap_or_else(|| "-".into());
            let change = step.to_parent.as_ref();
            table.push(vec![
                format!("`{}`", variant.id),
                of(variant.parent.as_ref().map(|parent| format!("`{parent}`"))),
                variant.status.word().into(),
                of(time.map(|time| us(time.mean_us))),
                of(time.map(range)),
                of(change.map(|change| percent(change.ratio))),
                of(step.resources.map(|r| r.registers.to_string())),
                of(step.resources.map(|r| r.threads.to_string())),
                of(step
                    .resources
                    .map(|r| kib(r.static_shared_bytes + r.dynamic_shared_bytes))),
                of(step
                    .check
                    .as_ref()
                    .map(|check| format!("{:.1e}", check.fp64.max_abs_error))),
                match (&step.failed, variant.status) {
                    (Some(_), _) => "check failed".into(),
                    (_, Status::Twin) if change.is_some_and(|c| c.verdict == "slower") => {
                        "no limit: takes longer".into()
                    }
                    (_, Status::Twin) => "limit".into(),
                    _ => of(change.map(|change| change.verdict.clone())),
                },
            ]);
        }
        table
    }
}

impl Step {
    fn prose(&self, out: &mut String) {
        let variant = &self.variant;
        let from = match &variant.parent {
            Some(parent) => format!(" from `{parent}`"),
            None => String::new(),
        };
        let _ = write!(
            out,
            "\n**`{}`**{from}, {}. {}\n\n- Changed: {}\n- Expected: {}\n- Measured: {}\n",
            variant.id,
            variant.status.word(),
            variant.summary,
            variant.changed,
            variant.expected,
            self.measured()
        );
        if let Some(cause) = &self.cause {
            let _ = writeln!(out, "- Rejected: {cause}.");
        }
        for limit in &self.limits {
            let _ = writeln!(
                out,
                "- Limit: {} of `{}`{}, the twin of `{}`.",
                share(limit.share),
                limit.twin,
                between(limit.low, limit.high, share),
                limit.of
            );
        }
    }

    fn measured(&self) -> String {
        if let Some(failed) = &self.failed {
            return format!("not timed, for its output fails the check: {failed}.");
        }
        let mut words = match &self.kernel_time {
            Some(time) => format!("{} us ({})", us(time.mean_us), range(time)),
            None => return "not timed.".into(),
        };
        if let Some(change) = &self.to_parent {
            let _ = write!(words, ", {}", against_parent(change));
        }
        if let Some(check) = &self.check {
            let _ = write!(
                words,
                "; largest error {:.1e}, {:.1}% of what is allowed",
                check.fp64.max_abs_error,
                check.fp64.max_error_share * 100.0
            );
        }
        words + "."
    }
}

fn against_parent(change: &Change) -> String {
    let range = between(change.low, change.high, percent);
    let why = change
        .why
        .as_ref()
        .map_or(String::new(), |why| format!(", {why}"));
    format!(
        "{}{range} against its parent: {}{why}",
        percent(change.ratio),
        change.verdict
    )
}

/// ` (low to high)`, or nothing.
fn between(low: Option<f64>, high: Option<f64>, text: fn(f64) -> String) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!(" ({} to {})", text(low), text(high)),
        _ => String::new(),
    }
}

fn range(time: &KernelTime) -> String {
    format!("{} to {}", us(time.min_us), us(time.max_us))
}

/// Microseconds, to three figures at least.
fn us(time: f64) -> String {
    match time < 10.0 {
        true => format!("{time:.2}"),
        false => format!("{time:.1}"),
    }
}

/// A ratio as a signed change; one that rounds to nothing has no sign.
fn percent(ratio: f64) -> String {
    let tenths = ((ratio - 1.0) * 1000.0).round();
    match tenths == 0.0 {
        true => "0.0%".into(),
        false => format!("{:+.1}%", tenths / 10.0),
    }
}

/// A ratio as a part of a hundred.
fn share(ratio: f64) -> String {
    format!("{:.1}%", ratio * 100.0)
}

fn kib(bytes: u32) -> String {
    match bytes {
        0 => "0".into(),
        bytes => format!("{:.1}", f64::from(bytes) / 1024.0),
    }
}
