//! What came out, in a few sentences at the head of a page: made from the evidence, never typed.

use crate::data::Data;
use crate::escape::isolate;
use crate::level;
use crate::number;
use crate::words::{label, list};
use mage_evidence::diff::{Diff, Effect, Quantity, Row};
use mage_evidence::implementation;
use mage_evidence::stats::percent;
use mage_evidence::verdict::Verdict;

/// The sentences: who is shortest where, and what moved since the baseline.
pub(crate) fn sentences(data: &Data) -> Vec<String> {
    let shortest = Quantity::ALL.into_iter().filter_map(|q| shortest(data, q));
    let mut all: Vec<String> = shortest.collect();
    if let (Ok(diff), Ok(baseline)) = (&data.diff, &data.baseline)
        && !diff.two_gpus()
    {
        all.push(moved(diff, &baseline.namespace));
    }
    all
}

/// `Shortest kernel time: PyTorch for matrix multiplication (55.3 µs); ...`; none where nothing stands beside
/// anything.
fn shortest(data: &Data, quantity: Quantity) -> Option<String> {
    // Who, and for which operations in what time, in the order of the operations.
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for op in &data.summary.operations {
        let Some(found) = level::shortest(data, op, quantity) else {
            continue;
        };
        let times: Vec<String> = found.iter().map(|(_, us)| number::time(*us)).collect();
        let place = format!("{} ({}\u{a0}µs)", label(op.operation), list(&times));
        let names: Vec<String> = found.iter().map(|(s, _)| isolate(&s.label)).collect();
        let who = match names.as_slice() {
            [one] => one.clone(),
            all => {
                let bound = number::share(level::bound(data, quantity));
                format!("{}, level within {bound},", list(all))
            }
        };
        match groups.iter_mut().find(|(known, _)| *known == who) {
            Some((_, places)) => places.push(place),
            None => groups.push((who, vec![place])),
        }
    }
    let parts: Vec<String> = groups
        .iter()
        .map(|(who, places)| format!("{who} for {}", list(places)))
        .collect();
    (!parts.is_empty()).then(|| format!("Shortest {}: {}.", quantity.label(), parts.join("; ")))
}

/// `Against mage-001: less kernel time in Rust for matrix multiplication (−69.1%); ...`.
fn moved(diff: &Diff, baseline: &str) -> String {
    let mut parts = Vec::new();
    for quantity in Quantity::ALL {
        let mut groups: Vec<(&str, bool, Vec<String>)> = Vec::new();
        for (row, effect) in effects(diff, quantity) {
            let faster = effect.verdict == Verdict::Faster;
            let (true, Some(ratio)) = (faster || effect.verdict == Verdict::Slower, &effect.ratio)
            else {
                continue;
            };
            let name = implementation::label(&row.implementation);
            let change = number::percent(percent(ratio.log));
            let place = format!("{} ({change})", label(row.operation));
            match groups.iter_mut().find(|g| (g.0, g.1) == (name, faster)) {
                Some((.., places)) => places.push(place),
                None => groups.push((name, faster, vec![place])),
            }
        }
        parts.extend(groups.into_iter().map(|(name, faster, places)| {
            format!(
                "{} {} in {} for {}",
                if faster { "less" } else { "more" },
                match quantity {
                    Quantity::KernelTime => quantity.label(),
                    Quantity::EventSpan => "time around the call",
                },
                isolate(name),
                list(&places)
            )
        }));
    }
    let count = |word: &str| diff.counts().get(word).copied().unwrap_or(0) as u64;
    let (equivalent, open) = (count("equivalent"), count("inconclusive"));
    let mut rest = Vec::new();
    if equivalent > 0 {
        rest.push(format!("{} equivalent", number::whole(equivalent)));
    }
    if open > 0 {
        rest.push(format!("{} inconclusive", number::whole(open)));
    }
    let others = match (parts.is_empty(), rest.is_empty()) {
        (_, true) => String::new(),
        (true, false) => format!("nothing is called faster or slower ({})", rest.join(", ")),
        (false, false) => format!("the other times: {}", rest.join(", ")),
    };
    if !others.is_empty() {
        parts.push(others);
    }
    if parts.is_empty() {
        parts.push("nothing stands beside what was measured there".to_string());
    }
    format!("Against {baseline}: {}.", parts.join("; "))
}

fn effects(diff: &Diff, quantity: Quantity) -> impl Iterator<Item = (&Row, &Effect)> {
    diff.rows
        .iter()
        .filter_map(move |row| Some((row, row.effect(quantity)?)))
}
