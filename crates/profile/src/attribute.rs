//! From raw rows to kernels that belong to iterations, or the reason why they do not.
//!
//! A kernel belongs to the iteration whose NVTX range holds the API call that launched it. Whatever would
//! make the sum of durations another thing than the kernel time of the calls is refused here: kernels
//! from elsewhere, iterations that differ, kernels that the profiler lost or did not trace one by one.

mod arms;

pub use arms::{Arms, Of, arms};

use crate::sqlite::{Call, KernelRow, Range, Report};
use crate::text;
use mage_evidence::Invalid;
use mage_evidence::artifact::{Kernel, launches};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What the report must hold.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Calls inside the capture range.
    pub iterations: u32,
    /// Operation and implementation that the ranges must name; with none, ranges are used where the
    /// report has them.
    pub case: Option<(&'a str, &'a str)>,
    /// Whether a report without any NVTX data is refused.
    pub ranges_required: bool,
    /// Names of kernels that may run outside the ranges; they do not count.
    pub allowed_outside: &'a [String],
}

/// Kernels of the iterations, and what is to be said of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Attributed {
    /// Kernels in order of start, the first at 0 ns.
    pub kernels: Vec<Kernel>,
    /// Kernels an iteration.
    pub launches: u32,
    /// Kernel times over all iterations.
    pub times: Times,
    /// What a reader should know; nothing here makes the numbers wrong.
    pub notes: Vec<String>,
}

/// Sum and union of the kernels' durations, in nanoseconds over all iterations. They differ where kernels
/// ran side by side; then neither is "GPU time".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Sum of all durations.
    pub sum_ns: u64,
    /// Time during which at least one kernel ran.
    pub union_ns: u64,
    /// Streams that they ran on.
    pub streams: usize,
}

/// Attributes every kernel of `report` and checks that nothing is missing and nothing else is there.
///
/// # Errors
/// [`Invalid`] with what was found, expected, and to be done.
pub fn attribute(report: &Report, expected: &Expected<'_>) -> Result<Attributed, Invalid> {
    if expected.iterations == 0 {
        return Err(Invalid::new("iterations", 0, "at least 1"));
    }
    untraced_graphs(report)?;
    let mut notes = Vec::new();
    let iterations = Iterations::find(report, expected, &mut notes)?;
    let calls = Calls::new(report.calls.as_deref().unwrap_or_default());
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for row in &report.kernels {
        let call = calls.of(row);
        if let Some(call) = call
            && call.returned != 0
        {
            return Err(failed_launch(call));
        }
        let mut row = row.clone();
        match &iterations {
            None => inside.push(row),
            Some(iterations) => {
                row.kernel.iteration = call.and_then(|call| iterations.holding(call));
                match row.kernel.iteration {
                    Some(_) => inside.push(row),
                    None => outside.push(row.kernel.name),
                }
            }
        }
    }
    refuse_outside(&outside, expected, &mut notes)?;
    let complete = lost_launches(report, iterations.as_ref())?;
    lost_events(report, complete && iterations.is_some(), &mut notes)?;
    if expected.case.is_some() {
        loaded_code(report, iterations.as_ref())?;
    }
    same_in_every_iteration(&inside, expected.iterations, iterations.is_some())?;
    let launches = launches(inside.len(), expected.iterations)?;
    if report.memory_operations > 0 {
        notes.push(format!(
            "{} copies and fills in the report; they are no kernels and not in the kernel time",
            report.memory_operations
        ));
    }
    let streams: HashSet<_> = inside
        .iter()
        .map(|row| (row.place, row.kernel.stream))
        .collect();
    let mut kernels: Vec<Kernel> = inside.into_iter().map(|row| row.kernel).collect();
    let first = kernels.first().map_or(0, |kernel| kernel.start_ns);
    for kernel in &mut kernels {
        kernel.start_ns -= first;
    }
    let times = times(&kernels, streams.len())?;
    notes.extend(times.note(expected.iterations));
    Ok(Attributed {
        kernels,
        launches,
        times,
        notes,
    })
}

/// Sum and union of `kernels`, which must be in order of start.
///
/// # Errors
/// [`Invalid`] where the sum does not fit.
pub(crate) fn times(kernels: &[Kernel], streams: usize) -> Result<Times, Invalid> {
    let (mut sum_ns, mut union_ns, mut covered) = (0u64, 0u64, 0u64);
    for kernel in kernels {
        let end = kernel.start_ns.checked_add(kernel.duration_ns);
        let (Some(sum), Some(end)) = (sum_ns.checked_add(kernel.duration_ns), end) else {
            return Err(Invalid::new(
                "kernels",
                "durations that add up to more than 2^64 ns",
                "durations of one capture",
            ));
        };
        sum_ns = sum;
        union_ns += end.saturating_sub(kernel.start_ns.max(covered));
        covered = covered.max(end);
    }
    Ok(Times {
        sum_ns,
        union_ns,
        streams,
    })
}

impl Times {
    /// Says so where kernels ran on several streams or side by side.
    pub(crate) fn note(&self, iterations: u32) -> Option<String> {
        let us = |ns: u64| ns as f64 / 1000.0 / f64::from(iterations);
        if self.sum_ns != self.union_ns {
            Some(format!(
                "kernels ran side by side on {}: the sum of their durations is {:.3} us an iteration, which counts what overlaps more than once, and the time during which any ran {:.3} us",
                match self.streams {
                    1 => "1 stream".to_string(),
                    streams => format!("{streams} streams"),
                },
                us(self.sum_ns),
                us(self.union_ns)
            ))
        } else if self.streams > 1 {
            Some(format!(
                "kernels ran on {} streams, one at a time",
                self.streams
            ))
        } else {
            None
        }
    }
}

/// The ranges of the iterations, in order of start.
struct Iterations<'a>(Vec<(u32, &'a Range, i64)>);

impl<'a> Iterations<'a> {
    /// Finds one closed range for each iteration; none where the report has no such ranges and may.
    fn find(
        report: &'a Report,
        expected: &Expected<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Self>, Invalid> {
        let Some(all) = &report.ranges else {
            if expected.ranges_required {
                return Err(Invalid::new("NVTX_EVENTS", "no NVTX data", "one range an iteration")
                    .help("see that the target opens its ranges and that nsys traces nvtx; --without-ranges counts kernels without them"));
            }
            notes.push("no NVTX data: kernels are counted, not attributed to iterations".into());
            return Ok(None);
        };
        let mut found = Vec::new();
        for range in all {
            let Some(name) = Name::parse(&range.text) else {
                continue;
            };
            let name = name.map_err(|()| {
                wrong_range(range, "mage:<operation>:<implementation>:<iteration>")
            })?;
            let end = range
                .end
                .filter(|end| *end >= range.start)
                .ok_or_else(|| wrong_range(range, "a range that ends after it starts").help("the capture ended inside an iteration: see that cuProfilerStop follows the last one"))?;
            found.push((name, range, end));
        }
        if found.is_empty() && expected.case.is_none() {
            notes.push("no mage ranges: kernels are counted, not attributed to iterations".into());
            return Ok(None);
        }
        let (operation, implementation) = expected
            .case
            .or(found
                .first()
                .map(|(name, _, _)| (name.operation, name.implementation)))
            .unwrap_or_default();
        let mut numbers = HashSet::new();
        for (name, range, _) in &found {
            if (name.operation, name.implementation) != (operation, implementation) {
                let case = format!("ranges of {operation} and {implementation} alone");
                return Err(wrong_range(range, &case));
            }
            if name.iteration >= expected.iterations || !numbers.insert(name.iteration) {
                return Err(wrong_range(
                    range,
                    &format!("each of 0 to {} once", expected.iterations - 1),
                )
                .help("see that --iterations is what was captured"));
            }
        }
        if numbers.len() != expected.iterations as usize {
            return Err(Invalid::new(
                "NVTX_EVENTS",
                format!("ranges of {} iterations", numbers.len()),
                format!("{} iterations", expected.iterations),
            )
            .help("the capture range opened late or closed early, or --iterations is not what was captured"));
        }
        for pair in found.windows(2) {
            if pair[1].1.start < pair[0].2 {
                return Err(wrong_range(
                    pair[1].1,
                    "a start after the end of the range before",
                ));
            }
        }
        Ok(Some(Self(
            found
                .into_iter()
                .map(|(name, range, end)| (name.iteration, range, end))
                .collect(),
        )))
    }

    /// The iteration whose range holds the start of `call`, on the same thread.
    fn holding(&self, call: &Call) -> Option<u32> {
        let after = self
            .0
            .partition_point(|(_, range, _)| range.start <= call.start);
        let (iteration, range, end) = self.0.get(after.checked_sub(1)?)?;
        let same_thread = match (range.thread, call.thread) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        (call.start <= *end && same_thread).then_some(*iteration)
    }
}

fn wrong_range(range: &Range, expected: &str) -> Invalid {
    Invalid::new(
        "NVTX_EVENTS",
        format!("the range {:?}", text::short(&range.text, 120)),
        expected,
    )
}

/// `mage:<operation>:<implementation>:<iteration>`.
struct Name<'a> {
    operation: &'a str,
    implementation: &'a str,
    iteration: u32,
}

impl<'a> Name<'a> {
    /// None where the text is not ours; an error where it is and has another form.
    fn parse(text: &'a str) -> Option<Result<Self, ()>> {
        let rest = text.strip_prefix("mage:")?;
        let mut parts = rest.split(':');
        let name = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(operation), Some(implementation), Some(iteration), None) => iteration
                .parse()
                .map(|iteration| Self {
                    operation,
                    implementation,
                    iteration,
                })
                .map_err(|_| ()),
            _ => Err(()),
        };
        Some(name)
    }
}

/// API calls by what links them to kernels.
struct Calls<'a>(HashMap<(Option<i64>, i64), &'a Call>);

impl<'a> Calls<'a> {
    fn new(calls: &'a [Call]) -> Self {
        let mut map: HashMap<(Option<i64>, i64), &Call> = HashMap::new();
        for call in calls {
            if let Some(correlation) = call.correlation {
                // Calls are in order of start: of nested ones the outer is kept.
                map.entry((call.thread.map(process), correlation))
                    .or_insert(call);
            }
        }
        Self(map)
    }

    fn of(&self, row: &KernelRow) -> Option<&'a Call> {
        let correlation = row.correlation?;
        let found = |process| self.0.get(&(process, correlation)).copied();
        found(row.process.map(process)).or_else(|| found(None))
    }
}

/// Nsight numbers threads within their process by the low 24 bits.
fn process(thread: i64) -> i64 {
    thread & !0xFF_FFFF
}

fn is_launch(name: &str) -> bool {
    (name.starts_with("cudaLaunch") || name.starts_with("cuLaunch")) && !name.contains("HostFunc")
}

fn untraced_graphs(report: &Report) -> Result<(), Invalid> {
    let launched: HashSet<i64> = report
        .kernels
        .iter()
        .filter_map(|row| row.correlation)
        .collect();
    let hidden = report.calls.iter().flatten().filter(|call| {
        let launches =
            call.name.starts_with("cudaGraphLaunch") || call.name.starts_with("cuGraphLaunch");
        launches && call.correlation.is_none_or(|id| !launched.contains(&id))
    });
    let hidden = (hidden.count() as u64).max(report.graph_traces);
    if hidden > 0 {
        return Err(Invalid::new(
            "kernels",
            format!("{hidden} graph launches whose kernels were not traced"),
            "every kernel traced by itself",
        )
        .help("capture with --cuda-graph-trace=node, or launch without a graph"));
    }
    Ok(())
}

fn failed_launch(call: &Call) -> Invalid {
    Invalid::new(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        format!(
            "a call of {} that returned error {}",
            text::short(&call.name, 80),
            call.returned
        ),
        "launches that succeed",
    )
    .help("see the target's own check of this case")
}

fn refuse_outside(
    outside: &[String],
    expected: &Expected<'_>,
    notes: &mut Vec<String>,
) -> Result<(), Invalid> {
    let (allowed, refused): (Vec<&String>, Vec<&String>) = outside
        .iter()
        .partition(|name| expected.allowed_outside.contains(name));
    if !refused.is_empty() {
        return Err(Invalid::new(
            "kernels",
            format!(
                "{} launched outside the iterations' ranges: {}",
                refused.len(),
                text::list(refused.iter().map(|name| name.as_str()))
            ),
            "kernels of the iterations alone",
        )
        .help("move them before cuProfilerStart, or allow each by its name with --allow"));
    }
    if !allowed.is_empty() {
        notes.push(format!(
            "{} kernels outside the ranges, allowed by name and not counted: {}",
            allowed.len(),
            text::list(allowed.iter().map(|name| name.as_str()))
        ));
    }
    Ok(())
}

/// Refuses launch calls that failed or whose kernel is not in the report. True where there were calls to
/// check.
fn lost_launches(report: &Report, iterations: Option<&Iterations<'_>>) -> Result<bool, Invalid> {
    let Some(calls) = &report.calls else {
        return Ok(false);
    };
    let seen: HashSet<i64> = report
        .kernels
        .iter()
        .filter_map(|row| row.correlation)
        .collect();
    let counted = |call: &&Call| {
        is_launch(&call.name) && iterations.is_none_or(|all| all.holding(call).is_some())
    };
    let mut lost = 0;
    for call in calls.iter().filter(counted) {
        if call.returned != 0 {
            return Err(failed_launch(call));
        }
        if call.correlation.is_none_or(|id| !seen.contains(&id)) {
            lost += 1;
        }
    }
    if lost > 0 {
        return Err(Invalid::new(
            "kernels",
            format!("{lost} launches whose kernel is not in the report"),
            "a kernel for every launch",
        )
        .help("the profiler lost events: capture again, with fewer --iterations if it goes on"));
    }
    Ok(true)
}

/// Reads what the profiler said of itself. What it guesses ("might have", "no events: does the process use
/// CUDA?", said of every process of the target, also of one that only starts another) is disproved by a
/// kernel for every launch; the rest is not.
fn lost_events(report: &Report, complete: bool, notes: &mut Vec<String>) -> Result<(), Invalid> {
    const GUESSES: [&str; 3] = [
        "not all cuda events might have been",
        "cuda profiling might have not been started",
        "no cuda events collected",
    ];
    const LOST: [&str; 7] = [
        "lost",
        "dropped",
        "overflow",
        "out of memory",
        "multiple subscribers",
        "multiple_subscribers",
        "another cupti",
    ];
    for diagnostic in &report.diagnostics {
        let lower = diagnostic.text.to_lowercase();
        let about = ["cuda", "cupti", "event", "kernel"]
            .iter()
            .any(|word| lower.contains(word));
        let loss = about && LOST.iter().any(|word| lower.contains(word));
        let guess = GUESSES.iter().any(|words| lower.contains(words));
        let words = text::short(diagnostic.text.trim(), 200);
        if loss || diagnostic.is_error || (guess && !complete) {
            return Err(Invalid::new(
                "DIAGNOSTIC_EVENT",
                format!("{words:?}"),
                "a capture that lost nothing",
            )
            .help("see that no other profiler is attached, and capture again"));
        }
        if guess {
            notes.push(format!(
                "the profiler says {words:?}; every launch in the ranges has its kernel"
            ));
        }
    }
    Ok(())
}

/// Refuses code that was loaded or linked inside an iteration: compilation or tuning that warm-up should
/// have ended.
fn loaded_code(report: &Report, iterations: Option<&Iterations<'_>>) -> Result<(), Invalid> {
    const LOADS: [&str; 5] = [
        "cuModuleLoad",
        "cuLibraryLoad",
        "cuLinkCreate",
        "cuLinkAddData",
        "cudaLibraryLoad",
    ];
    let Some(iterations) = iterations else {
        return Ok(());
    };
    let loads = |call: &&Call| LOADS.iter().any(|load| call.name.starts_with(load));
    let inside = report
        .calls
        .iter()
        .flatten()
        .filter(loads)
        .find_map(|call| Some((call, iterations.holding(call)?)));
    match inside {
        Some((call, iteration)) => Err(Invalid::new(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            format!("{} in iteration {iteration}", text::short(&call.name, 80)),
            "iterations that load and compile nothing",
        )
        .help("a kernel was compiled or tuned inside the capture: raise --warmup")),
        None => Ok(()),
    }
}

/// What makes two launches the same work.
type Shape<'a> = (&'a str, [u32; 3], [u32; 3], u32, u32, u32);

fn shape(kernel: &Kernel) -> Shape<'_> {
    (
        &kernel.name,
        kernel.grid,
        kernel.block,
        kernel.registers,
        kernel.static_shared_bytes,
        kernel.dynamic_shared_bytes,
    )
}

/// Refuses kernels that do not run equally often in every iteration: tuning, a flush, a helper.
fn same_in_every_iteration(
    rows: &[KernelRow],
    iterations: u32,
    attributed: bool,
) -> Result<(), Invalid> {
    let mut counts: BTreeMap<Shape<'_>, BTreeMap<Option<u32>, u32>> = BTreeMap::new();
    for row in rows {
        *counts
            .entry(shape(&row.kernel))
            .or_default()
            .entry(row.kernel.iteration)
            .or_default() += 1;
    }
    for (shape, by_iteration) in &counts {
        let total: u32 = by_iteration.values().sum();
        let each = total / iterations;
        let same = total.is_multiple_of(iterations)
            && (!attributed || (0..iterations).all(|i| by_iteration.get(&Some(i)) == Some(&each)));
        if !same {
            let odd = (0..iterations).find(|i| {
                attributed
                    && by_iteration.get(&Some(*i)).copied().unwrap_or(0)
                        != by_iteration.get(&Some(0)).copied().unwrap_or(0)
            });
            let place = odd.map_or(String::new(), |i| {
                format!(
                    ", {} in iteration 0 and {} in iteration {i}",
                    by_iteration.get(&Some(0)).copied().unwrap_or(0),
                    by_iteration.get(&Some(i)).copied().unwrap_or(0)
                )
            });
            return Err(Invalid::new(
                "kernels",
                format!(
                    "{:?} with grid {:?} and block {:?} {total} times in {iterations} iterations{place}",
                    text::short(shape.0, 120),
                    shape.1,
                    shape.2
                ),
                "the same kernels in every iteration",
            )
            .help("see that --iterations is what was captured; else something ran that is not the operation (tuning, a cache flush, a helper): raise --warmup, or take it out of the range"));
        }
    }
    Ok(())
}
