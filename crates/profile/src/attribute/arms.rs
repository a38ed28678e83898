//! Kernels of several arms that took turns in one process: each belongs to the arm, and the call of it, whose NVTX
//! range holds its launch. Every arm is then held to what [`attribute`](super::attribute) asks of a single case.

use super::{Calls, Expected, Iterations, attribute, refuse_outside, wrong_range};
use crate::sqlite::{Range, Report};
use mage_evidence::Invalid;
use mage_evidence::artifact::Kernel;
use mage_evidence::ladder::raw::Launch;
use std::collections::BTreeMap;

/// Start of the text of every range: `mage-ladder:<operation>:<arm>:<iteration>`, or `warmup` for the last.
const PREFIX: &str = "mage-ladder:";
const WARMUP: &str = "warmup";

/// The arms of one operation.
#[derive(Debug, Clone, Copy)]
pub struct Of<'a> {
    /// Which operation.
    pub operation: &'a str,
    /// Names of its arms.
    pub arms: &'a [String],
}

/// Launches of each arm, and what is to be said of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arms {
    /// For each operation the launches of a call, by arm; each has a duration a call.
    pub launches: Vec<BTreeMap<String, Vec<Launch>>>,
    /// What a reader should know; nothing here makes the numbers wrong.
    pub notes: Vec<String>,
}

/// A range, closed, with what its name says.
struct Named<'a> {
    range: &'a Range,
    /// Place among the arms of all operations.
    arm: usize,
    /// None for a warm-up call.
    iteration: Option<u32>,
}

/// Attributes every kernel of `report` to an arm of one of the operations; each arm made `iterations` calls.
///
/// # Errors
/// [`Invalid`] with what was found, expected, and to be done.
pub fn arms(report: &Report, operations: &[Of<'_>], iterations: u32) -> Result<Arms, Invalid> {
    let arms: Vec<(&str, &str)> = operations
        .iter()
        .flat_map(|of| of.arms.iter().map(|arm| (of.operation, arm.as_str())))
        .collect();
    let named = named(report, &arms)?;
    let all = Iterations(
        named
            .iter()
            .enumerate()
            .map(|(i, named)| (i as u32, named.range, named.range.end.unwrap_or(i64::MAX)))
            .collect(),
    );
    let mut parts: Vec<Report> = arms
        .iter()
        .map(|_| Report {
            calls: report.calls.is_some().then(Vec::new),
            ranges: Some(Vec::new()),
            diagnostics: report.diagnostics.clone(),
            graph_traces: report.graph_traces,
            ..Report::default()
        })
        .collect();
    for named in &named {
        if let Some(iteration) = named.iteration {
            let (operation, arm) = arms[named.arm];
            let text = format!("mage:{operation}:{arm}:{iteration}");
            let range = Range {
                text,
                ..named.range.clone()
            };
            parts[named.arm].ranges.get_or_insert_default().push(range);
        }
    }
    let of = |index: u32| {
        let named = &named[index as usize];
        named.iteration.map(|_| named.arm)
    };
    for call in report.calls.iter().flatten() {
        if let Some(arm) = all.holding(call).and_then(of) {
            parts[arm].calls.get_or_insert_default().push(call.clone());
        }
    }
    let calls = Calls::new(report.calls.as_deref().unwrap_or_default());
    let mut outside = Vec::new();
    for row in &report.kernels {
        match calls.of(row).and_then(|call| all.holding(call)) {
            None => outside.push(row.kernel.name.clone()),
            Some(index) => {
                if let Some(arm) = of(index) {
                    parts[arm].kernels.push(row.clone());
                }
            }
        }
    }
    let expected = Expected {
        iterations,
        case: None,
        ranges_required: true,
        allowed_outside: &[],
    };
    let mut notes = Vec::new();
    refuse_outside(&outside, &expected, &mut notes)?;
    if report.memory_operations > 0 {
        notes.push(format!(
            "{} copies and fills in the report; they are no kernels",
            report.memory_operations
        ));
    }
    let mut launches: Vec<BTreeMap<String, Vec<Launch>>> =
        operations.iter().map(|_| BTreeMap::new()).collect();
    for ((operation, arm), part) in arms.iter().zip(&parts) {
        let case = Some((*operation, *arm));
        let place = format!("{operation}.{arm}");
        let found = attribute(part, &Expected { case, ..expected }).map_err(|e| e.under(&place))?;
        let of_arm = by_launch(&found.kernels, found.launches as usize);
        let of_arm = of_arm.map_err(|e| e.under(&place))?;
        for (of, launches) in operations.iter().zip(&mut launches) {
            if of.operation == *operation {
                launches.insert((*arm).to_string(), of_arm.clone());
            }
        }
        for note in found.notes {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Ok(Arms { launches, notes })
}

/// The ladder's ranges in order of start, none of which overlaps another.
fn named<'a>(report: &'a Report, arms: &[(&str, &str)]) -> Result<Vec<Named<'a>>, Invalid> {
    let mut named: Vec<Named<'a>> = Vec::new();
    for range in report.ranges.iter().flatten() {
        let Some(name) = range.text.strip_prefix(PREFIX) else {
            continue;
        };
        let parts: Vec<&str> = name.split(':').collect();
        let [of, arm, call] = parts[..] else {
            return Err(wrong_range(
                range,
                &format!("{PREFIX}<operation>:<arm>:<iteration or {WARMUP}>"),
            ));
        };
        let Some(arm) = arms.iter().position(|known| *known == (of, arm)) else {
            let known: Vec<String> = arms.iter().map(|(of, arm)| format!("{of}:{arm}")).collect();
            let expected = format!("ranges of {} alone", known.join(", "));
            return Err(wrong_range(range, &expected));
        };
        let iteration = match call {
            WARMUP => None,
            call => Some(
                call.parse()
                    .map_err(|_| wrong_range(range, "a number, or warmup, at its end"))?,
            ),
        };
        if range.end.is_none_or(|end| end < range.start) {
            return Err(
                wrong_range(range, "a range that ends after it starts").help(
                    "the capture ended inside a call: see that cuProfilerStop follows the last one",
                ),
            );
        }
        named.push(Named {
            range,
            arm,
            iteration,
        });
    }
    if named.is_empty() {
        return Err(
            Invalid::new("NVTX_EVENTS", "no range of a ladder", "one range a call")
                .help("see that the target opens its ranges and that nsys traces nvtx"),
        );
    }
    named.sort_by_key(|named| named.range.start);
    match named
        .windows(2)
        .find(|pair| Some(pair[1].range.start) < pair[0].range.end)
    {
        Some(pair) => Err(wrong_range(
            pair[1].range,
            "a start after the end of the range before",
        )),
        None => Ok(named),
    }
}

/// The kernels of all calls as the launches of one call, each with its duration in every call.
fn by_launch(kernels: &[Kernel], launches: usize) -> Result<Vec<Launch>, Invalid> {
    let mut ordered: Vec<&Kernel> = kernels.iter().collect();
    ordered.sort_by_key(|kernel| (kernel.iteration, kernel.start_ns));
    let mut found: Vec<Launch> = Vec::new();
    for (i, kernel) in ordered.into_iter().enumerate() {
        let launch = Launch {
            name: kernel.name.clone(),
            grid: kernel.grid,
            block: kernel.block,
            registers: kernel.registers,
            static_shared_bytes: kernel.static_shared_bytes,
            dynamic_shared_bytes: kernel.dynamic_shared_bytes,
            durations_ns: Vec::new(),
        };
        let place = i % launches;
        match found.get_mut(place) {
            None => found.push(Launch {
                durations_ns: vec![kernel.duration_ns],
                ..launch
            }),
            Some(first) => {
                let durations_ns = std::mem::take(&mut first.durations_ns);
                if *first != launch {
                    let call = kernel.iteration.unwrap_or_default();
                    return Err(Invalid::new(
                        "kernels",
                        format!("{launch:?} in call {call}"),
                        format!("{first:?}, as in the first"),
                    ));
                }
                first.durations_ns = durations_ns;
                first.durations_ns.push(kernel.duration_ns);
            }
        }
    }
    Ok(found)
}
