//! An A/A study: kernels measured against themselves, so that every difference is noise.
//!
//! `artifacts/<name>/` holds `run.json` ([`Study`]), `spans/<process>.json` ([`Process`]: each operation's kernel
//! under three names, interleaved as `ab` interleaves) and `captures/<operation>-<process>.json`
//! ([`Capture`]: the calls of two handles of one kernel in one process, in the order of [`handle`]). [`calibrate`]
//! makes the evidence of them: how often a verdict names a winner where there is none, the smallest difference that it
//! finds, and from those the margins that verdicts use.

mod page;
mod resample;

pub use resample::{POWER, STEPS_PERCENT, WINDOW};

use crate::ab::{Cache, Session};
use crate::artifact::{Build, Capture, Device, Host, check_schema, one_card};
use crate::error::Invalid;
use crate::operation::Operation;
use crate::stats::mean;
use resample::Material;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of [`Study`].
pub const STUDY_SCHEMA: &str = "mage.calibration-run/1";
/// Schema of [`Process`].
pub const PROCESS_SCHEMA: &str = "mage.identical/1";
/// Schema of [`Calibration`].
pub const SCHEMA: &str = "mage.calibration/1";
/// Start of the name of a directory below `artifacts/` that holds a study.
pub const PREFIX: &str = "calibration-";
/// Fewest processes of a study.
pub const MIN_PROCESSES: u32 = 3;
/// Fewest cycles of a process, two windows.
pub const MIN_CYCLES: u32 = 2 * WINDOW as u32;
/// Margins are rounded up to this, as a part of 1.
const STEP: f64 = 0.001;

/// How a study was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// [`STUDY_SCHEMA`].
    pub schema: String,
    /// The experiment whose operations, dims, inputs and variants.
    pub experiment: String,
    /// SHA-256 of its spec.
    pub experiment_sha256: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// End, RFC 3339, UTC.
    pub finished: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Processes that measured spans; as many captured each operation.
    pub processes: u32,
    /// Cycles an operation in each of the former.
    pub cycles: u32,
    /// Calls inside each capture, of both handles together.
    pub capture_iterations: u32,
    /// Calls before them.
    pub warmup: u32,
    /// The profiler.
    pub profiler: String,
    /// The machine.
    pub host: Host,
    /// The GPU.
    pub device: Device,
    /// What was built, from what.
    pub build: Build,
    /// SHA-256 of the program that measured.
    pub harness_sha256: String,
}

/// One process that measured the spans of every operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// [`PROCESS_SCHEMA`].
    pub schema: String,
    /// Which experiment.
    pub experiment: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The GPU.
    pub device: Device,
    /// SHA-256 of the program.
    pub binary_sha256: String,
    /// SHA-256 of each PTX object of the program, by file name.
    pub objects_sha256: BTreeMap<String, String>,
    /// Each operation, A and B the same variant.
    pub sessions: Vec<Session>,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Sum of an operation's kernels, under Nsight Systems.
    KernelTime,
    /// Time between two events, with a warm cache.
    SpanHot,
    /// Time between two events, with a cold cache.
    SpanCold,
}

impl Quantity {
    /// All.
    pub const ALL: [Self; 3] = [Self::KernelTime, Self::SpanHot, Self::SpanCold];

    /// The words for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::KernelTime => "kernel time",
            Self::SpanHot => "span, hot",
            Self::SpanCold => "span, cold",
        }
    }
}

/// How verdicts of one kind fare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Which kind of comparison.
    pub by: By,
    /// Comparisons of code with itself that the study's data give. They share data: they are a count, not so many
    /// independent trials.
    pub comparisons: u32,
    /// Those in which a winner was named.
    pub winners: u32,
    /// Smallest of [`STEPS_PERCENT`] that is found in at least [`POWER`] of them, put into B's times by
    /// multiplication; none where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_percent: Option<f64>,
}

/// Kinds of comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// As `ab` judges at its first look, its A/A arm for a floor, and without a bound for what a process does.
    OneProcessUnbounded,
    /// The same with the bound that this study gives: as `ab` judges.
    OneProcess,
    /// As `diff` judges three rounds a side, the other operations for a floor.
    ThreeRounds,
    /// As `diff` judges one capture a side.
    OneCapture,
    /// As `diff` judges three captures a side.
    ThreeCaptures,
}

impl By {
    /// The words for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::OneProcessUnbounded => "one process, no bound",
            Self::OneProcess => "one process (`ab`)",
            Self::ThreeRounds => "two processes, three rounds each (`diff`)",
            Self::OneCapture => "two processes, one capture each (`diff`)",
            Self::ThreeCaptures => "six processes, three captures a side (`diff`)",
        }
    }
}

/// One operation and quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Which operation.
    pub operation: Operation,
    /// The kernel variant that was measured.
    pub variant: String,
    /// Which time.
    pub quantity: Quantity,
    /// Geometric mean over everything, in microseconds.
    pub time_us: f64,
    /// Root mean square of the difference between two handles in one process, over the processes.
    pub handles_percent: f64,
    /// The largest of those differences.
    pub handles_largest_percent: f64,
    /// Root mean square of the difference between two processes.
    pub processes_percent: f64,
    /// The largest of those differences.
    pub processes_largest_percent: f64,
    /// Verdicts, by kind of comparison.
    pub rates: Vec<Rate>,
}

/// The evidence of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the directory below `artifacts/`.
    pub name: String,
    /// The study.
    pub study: Study,
    /// SHA-256 of each artifact, by path below the directory.
    pub artifacts_sha256: BTreeMap<String, String>,
    /// Bound for what a process does by itself: the largest difference between two handles of one kernel in one
    /// process, of spans over whole sessions, rounded up; a part of 1.
    pub process_effect: f64,
    /// Bound for what two captures differ by themselves: the largest difference of kernel time between two processes,
    /// rounded up; a part of 1.
    pub kernel_time_effect: f64,
    /// Bound for what two sessions differ by themselves: the largest difference of event spans between two processes
    /// over three rounds each, rounded up; a part of 1.
    pub span_effect: f64,
    /// Default margin: that bound of a process, or the difference of kernel time that 95% of pairs of processes stay below
    /// where that is larger, rounded up; a part of 1.
    pub margin: f64,
    /// One operation and quantity each.
    pub rows: Vec<Row>,
}

/// Which of two handles makes call `iteration` of a capture: A, B, B, A and so on, so that a steady drift cancels.
pub const fn handle(iteration: u32) -> usize {
    match iteration % 4 {
        0 | 3 => 0,
        _ => 1,
    }
}

/// Kernel time of each handle in microseconds.
///
/// # Errors
/// [`Invalid`] where the capture is none of two handles.
pub fn handles_us(capture: &Capture) -> Result<[f64; 2], Invalid> {
    capture.check()?;
    if !capture.requested_iterations.is_multiple_of(4) {
        return Err(Invalid::new(
            "requested_iterations",
            capture.requested_iterations,
            "a multiple of 4: as many calls of each handle",
        ));
    }
    let mut sums = [0u64; 2];
    for (i, kernel) in capture.kernels.iter().enumerate() {
        let Some(iteration) = kernel.iteration else {
            let field = format!("kernels[{i}].iteration");
            return Err(Invalid::new(field, "none", "the call that launched it"));
        };
        sums[handle(iteration)] += kernel.duration_ns;
    }
    let calls = f64::from(capture.requested_iterations) / 2.0;
    Ok(sums.map(|sum| sum as f64 / 1000.0 / calls))
}

impl Study {
    /// Refuses another schema and a study too small to say anything.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, STUDY_SCHEMA)?;
        for (field, found, least) in [
            ("processes", self.processes, MIN_PROCESSES),
            ("cycles", self.cycles, MIN_CYCLES),
            ("capture_iterations", self.capture_iterations, 4),
        ] {
            if found < least {
                return Err(Invalid::new(field, found, format!("at least {least}")));
            }
        }
        Ok(())
    }
}

impl Process {
    /// Refuses what a process of `study` cannot have left.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self, study: &Study) -> Result<(), Invalid> {
        check_schema(&self.schema, PROCESS_SCHEMA)?;
        for (field, found, expected) in [
            ("experiment", &self.experiment, &study.experiment),
            ("binary_sha256", &self.binary_sha256, &study.harness_sha256),
            ("device.name", &self.device.name, &study.device.name),
            ("device.driver", &self.device.driver, &study.device.driver),
        ] {
            if found != expected {
                let expected = format!("{expected:?}, as run.json has it");
                return Err(Invalid::new(field, format!("{found:?}"), expected));
            }
        }
        let (found, expected) = (&self.device.uuid, &study.device.uuid);
        one_card("device.uuid", found.as_deref(), expected.as_deref())?;
        for (i, session) in self.sessions.iter().enumerate() {
            let under = |e: Invalid| e.under(&format!("sessions[{i}]"));
            session.check().map_err(under)?;
            if session.a.name != session.b.name {
                let found = format!("{:?} and {:?}", session.a.name, session.b.name);
                return Err(under(Invalid::new("b.name", found, "one variant twice")));
            }
            if session.cycles() != study.cycles as usize {
                let expected = format!("{}, as run.json has it", study.cycles);
                return Err(under(Invalid::new("cycles", session.cycles(), expected)));
            }
        }
        Ok(())
    }
}

/// The evidence of a study: `processes` in the order of their files, `captures` by operation in that order.
///
/// # Errors
/// [`Invalid`] where they are not as the study says, or a time is no time.
pub fn calibrate(
    name: &str,
    study: &Study,
    processes: &[Process],
    captures: &BTreeMap<Operation, Vec<Capture>>,
    artifacts_sha256: BTreeMap<String, String>,
) -> Result<Calibration, Invalid> {
    study.check()?;
    let material = material(study, processes, captures)?;
    let process_effect = round_up(material.largest_span_difference()?);
    let margin = round_up(material.kernel_time_between_processes()?).max(process_effect);
    let [kernel_time_effect, span_effect] = material.largest_between_processes()?.map(round_up);
    let bounds = Bounds {
        margin,
        process_effect,
        kernel_time_effect,
        span_effect,
    };
    let mut rows = Vec::new();
    for operation in material.operations() {
        for quantity in Quantity::ALL {
            rows.push(material.row(operation, quantity, &bounds)?);
        }
    }
    Ok(Calibration {
        schema: SCHEMA.into(),
        name: name.into(),
        study: study.clone(),
        artifacts_sha256,
        process_effect,
        kernel_time_effect,
        span_effect,
        margin,
        rows,
    })
}

/// What verdicts are judged by, each a part of 1.
struct Bounds {
    margin: f64,
    process_effect: f64,
    kernel_time_effect: f64,
    span_effect: f64,
}

fn material(
    study: &Study,
    processes: &[Process],
    captures: &BTreeMap<Operation, Vec<Capture>>,
) -> Result<Material, Invalid> {
    let expected = study.processes as usize;
    if processes.len() != expected {
        return Err(Invalid::new(
            "spans",
            processes.len(),
            format!("{expected} processes"),
        ));
    }
    let mut material = Material::default();
    for (p, process) in processes.iter().enumerate() {
        process
            .check(study)
            .map_err(|e| e.under(&format!("spans/{}", p + 1)))?;
        for session in &process.sessions {
            let of = material.operation(session.operation, &session.a.name)?;
            of.hot.push(session.times(Cache::Hot).clone());
            of.cold.push(session.times(Cache::Cold).clone());
        }
    }
    for (operation, captures) in captures {
        for (p, capture) in captures.iter().enumerate() {
            let under = |e: Invalid| e.under(&format!("captures/{operation}-{}", p + 1));
            let (found, expected) = (&capture.gpu_uuid, &study.device.uuid);
            one_card("gpu_uuid", found.as_deref(), expected.as_deref()).map_err(under)?;
            let variant = capture.variant.clone().unwrap_or_default();
            let of = material.operation(*operation, &variant).map_err(under)?;
            of.kernel_us.push(handles_us(capture).map_err(under)?);
        }
    }
    material.check(expected)?;
    Ok(material)
}

/// A difference on the logarithm as a part of 1, rounded up to [`STEP`].
fn round_up(log: f64) -> f64 {
    let steps = (log.exp_m1() / STEP).ceil().max(1.0);
    // Through the decimal, so that the constant in the source is the same number.
    (steps * STEP * 1e6).round() / 1e6
}

/// Root of the mean of squares.
fn rms(values: &[f64]) -> Result<f64, Invalid> {
    let squares: Vec<f64> = values.iter().map(|v| v * v).collect();
    Ok(mean(&squares)?.sqrt())
}
