//! A comparison as text for a terminal, as Markdown and as JSON: what may be said, then causes, then effects.

use super::{Basis, Causes, Diff, Effect, Kernels, Quantity, Row};
use crate::error::Invalid;
use crate::implementation;
use crate::stats::{MIN_CONTROLS, percent};
use crate::store;
use crate::table::{Align, Table};
use crate::verdict::{KERNEL_TIME_EFFECT, Verdict};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// How many file names are listed before the rest is counted.
const NAMED: usize = 6;

impl Diff {
    /// As aligned text.
    pub fn text(&self) -> String {
        self.show(&Format {
            heading: |title| format!("{title}\n"),
            table: Table::text,
            item: "  ",
            code: "",
        })
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        self.show(&Format {
            heading: |title| format!("## {title}\n\n"),
            table: Table::markdown,
            item: "- ",
            code: "`",
        })
    }

    /// As the project's JSON: times in microseconds (ratios on two GPUs), changes in percent.
    ///
    /// # Errors
    /// [`Invalid`] on a number that is not finite.
    pub fn json(&self) -> Result<String, Invalid> {
        let mut floors = Map::new();
        for (quantity, floor) in &self.floors {
            floors.insert(
                key(*quantity).into(),
                json!({"percent": percent(floor.log), "largest_percent": percent(floor.largest), "controls": floor.controls}),
            );
        }
        let mut document = Map::new();
        document.insert("a".into(), json!(self.a));
        document.insert("b".into(), json!(self.b));
        document.insert("same".into(), json!(self.same));
        document.insert("verdicts".into(), json!(self.counts()));
        if let Some(common) = &self.relative_to {
            document.insert("times_relative_to".into(), json!(common));
        }
        document.insert("margin_percent".into(), json!(self.margin * 100.0));
        document.insert("causes".into(), causes_json(&self.causes));
        document.insert("floors".into(), Value::Object(floors));
        document.insert(
            "rows".into(),
            self.rows.iter().map(row_json).collect::<Vec<_>>().into(),
        );
        store::to_json(&document)
    }

    fn show(&self, format: &Format) -> String {
        let mut out = format!("A: {}\nB: {}\n\n", self.a, self.b);
        if format.item.starts_with('-') {
            out = format!("A: {}; B: {}.\n\n", self.a, self.b);
        }
        if self.same {
            out += "A and B are the same evidence: nothing changed, nothing moved.\n";
            return out;
        }
        self.verdict(format, &mut out);
        self.causes(format, &mut out);
        for quantity in Quantity::ALL {
            self.effects(format, quantity, &mut out);
        }
        self.kernels(format, &mut out);
        out
    }

    fn causes(&self, format: &Format, out: &mut String) {
        let lines = self.causes.lines();
        for (title, lines) in [
            ("What changed", lines.changed),
            ("What is the same", lines.same),
            ("What one side does not record", lines.silent),
        ] {
            if lines.is_empty() {
                continue;
            }
            out.push_str(&(format.heading)(title));
            for line in lines {
                let _ = writeln!(out, "{}{line}", format.item);
            }
            out.push('\n');
        }
    }

    fn effects(&self, format: &Format, quantity: Quantity, out: &mut String) {
        let unit = match &self.relative_to {
            Some(common) => format!(
                "relative to {} of the same side",
                implementation::label(common)
            ),
            None => "microseconds".into(),
        };
        let mut label = quantity.label().to_string();
        label[..1].make_ascii_uppercase();
        out.push_str(&(format.heading)(&format!("{label}, {unit}")));
        let mut table = Table::new(&[
            ("operation", Align::Left),
            ("implementation", Align::Left),
            ("status", Align::Left),
            ("A", Align::Right),
            ("B", Align::Right),
            ("change", Align::Right),
            ("95% interval", Align::Right),
            ("verdict", Align::Left),
        ]);
        for row in &self.rows {
            if let Some(effect) = row.effect(quantity) {
                table.push(cells(row, effect));
            }
        }
        out.push_str(&(format.table)(&table));
        if let Some(floor) = self.floors.get(&quantity) {
            let _ = writeln!(
                out,
                "\nAn interval is as wide as the widest of three: the scatter of rounds or captures, the noise floor, one tick of the clock. No winner is named below what the start of a process does by itself. Noise floor of all {} controls: {:.1}% (the largest movement of one: {:.1}%). A row is judged against the other controls of its implementation where there are {MIN_CONTROLS}, else against all others.",
                floor.controls,
                percent(floor.log),
                percent(floor.largest)
            );
        }
        if self.by_calibration(quantity) {
            let _ = writeln!(
                out,
                "\nWhere too few other cases run the same code on both sides, the noise floor is that of the calibrations (docs/calibration): the start of a process moves unchanged code by up to {:.1}%.",
                KERNEL_TIME_EFFECT * 100.0
            );
        }
        out.push('\n');
    }

    fn kernels(&self, format: &Format, out: &mut String) {
        out.push_str(&(format.heading)("Launches and what a kernel asks for"));
        let mut table = Table::new(&[
            ("operation", Align::Left),
            ("implementation", Align::Left),
            ("launches", Align::Right),
            ("blocks", Align::Right),
            ("registers", Align::Right),
            ("shared bytes", Align::Right),
        ]);
        for row in &self.rows {
            let sides = [&row.kernels_a, &row.kernels_b];
            let both = |read: &dyn Fn(&Kernels) -> Option<u64>| {
                let [a, b] = sides.map(|side| side.as_ref().and_then(read));
                moved(a, b)
            };
            table.push(vec![
                row.operation.label().into(),
                implementation::label(&row.implementation).into(),
                both(&|k| Some(u64::from(k.launches))),
                both(&|k| Some(k.resources?.blocks)),
                both(&|k| Some(u64::from(k.resources?.registers))),
                both(&|k| Some(u64::from(k.resources?.shared_bytes))),
            ]);
        }
        out.push_str(&(format.table)(&table));
    }

    fn verdict(&self, format: &Format, out: &mut String) {
        out.push_str(&(format.heading)("In all"));
        let counts: Vec<String> = self
            .counts()
            .iter()
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let margin = self.margin * 100.0;
        let _ = writeln!(out, "{}; margin {margin}%.", counts.join(", "));
        if self.two_gpus() {
            out.push_str("Two GPUs: each side's times are relative to its own; absolute times are not compared.\n");
        }
        if format.item.starts_with('-') {
            out.push('\n');
        }
        for row in &self.rows {
            let won = Quantity::ALL.into_iter().filter_map(|quantity| {
                let effect = row.effect(quantity)?;
                let winner = matches!(effect.verdict, Verdict::Faster | Verdict::Slower);
                let moved = percent(effect.ratio.filter(|_| winner)?.log);
                let (word, label) = (effect.verdict.word(), quantity.label());
                Some(format!("{label} {word}, {}", signed(moved)))
            });
            let won: Vec<String> = won.collect();
            if !won.is_empty() {
                let (operation, name) = (row.operation.label(), &row.implementation);
                let case = format!("{operation}, {}", implementation::label(name));
                let _ = writeln!(out, "{}{case}: {}", format.item, won.join("; "));
            }
        }
        let mut commands: Vec<(&str, usize)> = Vec::new();
        for row in &self.rows {
            for effect in Quantity::ALL.into_iter().filter_map(|q| row.effect(q)) {
                let Some(command) = effect.settle.as_deref() else {
                    continue;
                };
                match commands.iter_mut().find(|(known, _)| *known == command) {
                    Some((_, rows)) => *rows += 1,
                    None => commands.push((command, 1)),
                }
            }
        }
        for (command, rows) in commands {
            let code = format.code;
            let _ = writeln!(
                out,
                "{}to settle {rows} of them: {code}{command}{code}",
                format.item
            );
        }
        out.push('\n');
    }
}

struct Format {
    heading: fn(&str) -> String,
    table: fn(&Table) -> String,
    item: &'static str,
    code: &'static str,
}

impl Causes {
    /// In words: one line a fact or group of files.
    pub fn lines(&self) -> Lines {
        lines(self)
    }
}

/// Causes in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// What differs.
    pub changed: Vec<String>,
    /// What is the same on both sides.
    pub same: Vec<String>,
    /// What one side alone records.
    pub silent: Vec<String>,
}

fn lines(causes: &Causes) -> Lines {
    let (mut changed, mut same) = (Vec::new(), Vec::new());
    let mut silent: Vec<(&str, Vec<String>)> = Vec::new();
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".into());
    // What there are several of is one line where they are the same.
    let mut alike: Vec<(&str, Vec<&str>)> = Vec::new();
    for fact in &causes.facts {
        let label = fact.label();
        if fact.is_changed() {
            changed.push(format!("{label}: {} -> {}", text(&fact.a), text(&fact.b)));
        } else if fact.is_same() && fact.of.is_empty() {
            same.push(format!("{label}: {}", text(&fact.a)));
        } else if fact.is_same() {
            match alike.iter_mut().find(|(what, _)| *what == fact.what) {
                Some((_, of)) => of.push(&fact.of),
                None => alike.push((&fact.what, vec![&fact.of])),
            }
        } else if fact.a.is_some() || fact.b.is_some() {
            let side = if fact.a.is_some() { "A" } else { "B" };
            let index = match silent.iter().position(|(of, _)| *of == side) {
                Some(index) => index,
                None => {
                    silent.push((side, Vec::new()));
                    silent.len() - 1
                }
            };
            if !silent[index].1.contains(&fact.what) {
                silent[index].1.push(fact.what.clone());
            }
        }
    }
    for (what, of) in alike {
        same.push(format!("{what} of {}", of.join(", ")));
    }
    for files in &causes.files {
        if files.is_same() {
            same.push(format!(
                "{}: {} files, byte for byte",
                files.what, files.same
            ));
            continue;
        }
        let mut parts = vec![format!("{} the same", files.same)];
        for (word, names) in [
            ("changed", &files.changed),
            ("only in A", &files.only_a),
            ("only in B", &files.only_b),
        ] {
            if !names.is_empty() {
                let mut listed: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
                let more = format!("and {} more", names.len().saturating_sub(NAMED));
                if names.len() > NAMED {
                    listed.push(&more);
                }
                parts.push(format!("{} {word} ({})", names.len(), listed.join(", ")));
            }
        }
        changed.push(format!("{}: {}", files.what, parts.join("; ")));
    }
    let silent = silent
        .into_iter()
        .map(|(side, labels)| format!("in {side} alone: {}", labels.join(", ")))
        .collect();
    Lines {
        changed,
        same,
        silent,
    }
}

fn cells(row: &Row, effect: &Effect) -> Vec<String> {
    let mut verdict = effect.verdict.to_string();
    if row.standing.basis == Basis::Rows {
        let _ = write!(verdict, " (status: {})", row.standing.because);
    }
    vec![
        row.operation.label().into(),
        implementation::label(&row.implementation).into(),
        row.standing.status.word().into(),
        number(effect.a),
        number(effect.b),
        effect
            .ratio
            .map_or_else(|| "-".into(), |ratio| signed(percent(ratio.log))),
        effect.interval.map_or_else(
            || "-".into(),
            |i| format!("{} to {}", signed(percent(i.low)), signed(percent(i.high))),
        ),
        verdict,
    ]
}

/// A change in percent, without a sign where it rounds to nothing.
pub(crate) fn signed(percent: f64) -> String {
    let text = format!("{percent:+.1}%");
    match text.as_str() {
        "+0.0%" | "-0.0%" => "0.0%".into(),
        _ => text,
    }
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(v) if v < 10.0 => format!("{v:.3}"),
        Some(v) if v < 100.0 => format!("{v:.2}"),
        Some(v) => format!("{v:.1}"),
    }
}

fn moved(a: Option<u64>, b: Option<u64>) -> String {
    let text = |value: Option<u64>| value.map_or("-".into(), |v| v.to_string());
    match a == b {
        true => text(a),
        false => format!("{} -> {}", text(a), text(b)),
    }
}

const fn key(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::KernelTime => "kernel_time",
        Quantity::EventSpan => "event_span",
    }
}

fn causes_json(causes: &Causes) -> Value {
    let pair = |a: &Option<String>, b: &Option<String>| {
        let mut map = Map::new();
        for (side, value) in [("a", a), ("b", b)] {
            if let Some(value) = value {
                map.insert(side.into(), json!(value));
            }
        }
        map
    };
    let facts: Vec<Value> = causes
        .facts
        .iter()
        .filter(|fact| fact.a.is_some() || fact.b.is_some())
        .map(|fact| {
            let mut map = Map::new();
            map.insert("what".into(), json!(fact.label()));
            map.insert("changed".into(), json!(fact.is_changed()));
            map.extend(pair(&fact.a, &fact.b));
            Value::Object(map)
        })
        .collect();
    let files: Vec<Value> = causes
        .files
        .iter()
        .map(|f| {
            json!({"what": f.what, "same": f.same, "changed": f.changed, "only_a": f.only_a, "only_b": f.only_b})
        })
        .collect();
    json!({"facts": facts, "files": files})
}

fn row_json(row: &Row) -> Value {
    let mut map = Map::new();
    map.insert("operation".into(), json!(row.operation));
    map.insert("implementation".into(), json!(row.implementation));
    map.insert("status".into(), json!(row.standing.status));
    map.insert("status_from".into(), json!(row.standing.basis));
    map.insert("because".into(), json!(row.standing.because));
    for quantity in Quantity::ALL {
        if let Some(effect) = row.effect(quantity) {
            map.insert(key(quantity).into(), effect_json(effect));
        }
    }
    for (side, kernels) in [("kernels_a", &row.kernels_a), ("kernels_b", &row.kernels_b)] {
        if let Some(kernels) = kernels {
            map.insert(side.into(), kernels_json(kernels));
        }
    }
    Value::Object(map)
}

fn effect_json(effect: &Effect) -> Value {
    let mut map = Map::new();
    for (side, value) in [("a", effect.a), ("b", effect.b)] {
        if let Some(value) = value {
            map.insert(side.into(), json!(value));
        }
    }
    map.insert("units_a".into(), json!(effect.units[0]));
    map.insert("units_b".into(), json!(effect.units[1]));
    if let Some(ratio) = effect.ratio {
        map.insert("change_percent".into(), json!(percent(ratio.log)));
        map.insert("unit".into(), json!(ratio.unit));
    }
    if let Some(interval) = effect.interval {
        map.insert("low_percent".into(), json!(percent(interval.low)));
        map.insert("high_percent".into(), json!(percent(interval.high)));
        map.insert("width_from".into(), json!(interval.width));
    }
    if let Some(floor) = effect.floor {
        map.insert("floor_percent".into(), json!(percent(floor.log)));
        map.insert("floor_controls".into(), json!(floor.controls));
    }
    map.insert("verdict".into(), json!(effect.verdict.word()));
    if let Some(why) = effect.verdict.why() {
        map.insert("why".into(), json!(why));
    }
    if let Some(settle) = &effect.settle {
        map.insert("settle".into(), json!(settle));
    }
    Value::Object(map)
}

fn kernels_json(kernels: &Kernels) -> Value {
    let mut map = Map::new();
    map.insert("launches".into(), json!(kernels.launches));
    if let Some(resources) = kernels.resources {
        map.insert("blocks".into(), json!(resources.blocks));
        map.insert("registers".into(), json!(resources.registers));
        map.insert("shared_bytes".into(), json!(resources.shared_bytes));
    }
    Value::Object(map)
}
