//! Raw outcomes as the harness and the profiler leave them. Nothing here is derived: means, medians and
//! kernel times are computed by `export`.
//!
//! `artifacts/<ns>-kernels/` holds `run.json`, `samples/<operation>.json` and `experiment.toml` (the spec
//! as it was); `artifacts/<ns>-kernels-nsys/` holds `profile.json` and
//! `captures/<operation>-<implementation>-<index>.json`.

use crate::choice::{Choice, Config};
use crate::error::Invalid;
use crate::experiment::{Protocol, Tolerance};
use crate::kernel;
use crate::operation::Operation;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Schema of [`Run`].
pub const RUN_SCHEMA: &str = "mage.run/1";
/// Schema of [`Samples`].
pub const SAMPLES_SCHEMA: &str = "mage.samples/2";
/// Schema of [`Samples`] before there were choices and reasons for absence; still read.
pub const SAMPLES_SCHEMA_1: &str = "mage.samples/1";
/// Schema of [`Profile`].
pub const PROFILE_SCHEMA: &str = "mage.profile/1";
/// Schema of [`Capture`].
pub const CAPTURE_SCHEMA: &str = "mage.capture/2";
/// Schema of [`Capture`] before there were choices; still read.
pub const CAPTURE_SCHEMA_1: &str = "mage.capture/1";

/// Refuses a schema of another name or major version; `found` is the file's `schema` field.
///
/// # Errors
/// [`Invalid`] with field `schema`.
pub fn check_schema(found: &str, expected: &str) -> Result<(), Invalid> {
    if found == expected {
        return Ok(());
    }
    Err(
        Invalid::new("schema", format!("{found:?}"), format!("{expected:?}"))
            .help("use the version of mage that wrote it, or run the experiment again"),
    )
}

/// As [`check_schema`], of a file whose earlier version is still read.
fn check_schemas(
    found: &str,
    expected: &str,
    earlier: &str,
    of_earlier: bool,
) -> Result<(), Invalid> {
    match found == earlier {
        true if of_earlier => Ok(()),
        true => Err(Invalid::new(
            "schema",
            format!("{found:?} with fields of a later one"),
            format!("{expected:?}"),
        )),
        false => check_schema(found, expected),
    }
}

/// One harness run: everything that holds for all of its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// Where the evidence goes.
    pub namespace: String,
    /// Which experiment was run.
    pub experiment: String,
    /// SHA-256 of its spec.
    pub experiment_sha256: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// End, RFC 3339, UTC.
    pub finished: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Rounds and calls as run.
    pub protocol: Protocol,
    /// Bound of the checks as run.
    pub tolerance: Tolerance,
    /// Seed of the inputs.
    pub seed: u64,
    /// Implementations in the order of the first round.
    pub implementations: Vec<String>,
    /// Operations in measured order; each has its file of samples.
    pub operations: Vec<Operation>,
    /// What the experiment names and this run left out, with the reason.
    pub excluded: Vec<String>,
    /// The machine.
    pub host: Host,
    /// The GPU.
    pub device: Device,
    /// GPU state before the first round.
    pub gpu_state_before: GpuState,
    /// GPU state after the last round.
    pub gpu_state_after: GpuState,
    /// The Python environment, where an implementation needed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<Python>,
    /// What was built, from what.
    pub build: Build,
    /// Each time it was interrupted and resumed. Operations before and after were measured by different processes; no
    /// operation was by two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
}

/// An interrupted run that went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumed {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// What was complete then and was not measured again: operations, or for a profile captures.
    pub kept: Vec<String>,
}

/// Fields of [`Run`] and [`Profile`] that may differ before and after an interruption: moments, and the state of the
/// tree beside the sources, whose hashes may not.
const OF_A_MOMENT: [&str; 7] = [
    "started",
    "finished",
    "command",
    "gpu_state_before",
    "gpu_state_after",
    "resumed",
    "build.tree",
];

/// Refuses to go on with what was begun under another build, device, driver, protocol or spec: `begun` and `now` are
/// the records of then and now.
///
/// # Errors
/// [`Invalid`] naming the first field that differs.
pub fn same_session<T: Serialize>(begun: &T, now: &T) -> Result<(), Invalid> {
    let value = |record: &T| {
        serde_json::to_value(record)
            .map_err(|error| Invalid::new("", error, "a record that JSON can hold"))
    };
    match first_difference(&value(begun)?, &value(now)?, "") {
        None => Ok(()),
        Some((field, begun, now)) => {
            Err(
                Invalid::new(field, now, format!("{begun}, as when the run began"))
                    .help("restore it and resume, or remove the directory and start again"),
            )
        }
    }
}

fn first_difference(a: &Value, b: &Value, field: &str) -> Option<(String, String, String)> {
    if a == b || OF_A_MOMENT.contains(&field) {
        return None;
    }
    let (Value::Object(of_a), Value::Object(of_b)) = (a, b) else {
        return Some((field.to_string(), a.to_string(), b.to_string()));
    };
    let mut names: Vec<&String> = of_a.keys().chain(of_b.keys()).collect();
    names.sort();
    names.dedup();
    names.into_iter().find_map(|name| {
        let dot = if field.is_empty() { "" } else { "." };
        let nothing = &Value::Null;
        let (a, b) = (
            of_a.get(name).unwrap_or(nothing),
            of_b.get(name).unwrap_or(nothing),
        );
        first_difference(a, b, &format!("{field}{dot}{name}"))
    })
}

/// The machine around the GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Operating system and kernel release.
    pub platform: String,
    /// Processor name.
    pub processor: String,
    /// Logical processors.
    pub logical_processors: u32,
}

/// The GPU: what it is, its limits, and which card it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Product name.
    pub name: String,
    /// Compute capability, `9.0`.
    pub compute_capability: String,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// L2 cache in bytes.
    pub l2_bytes: u64,
    /// Largest SM clock in MHz.
    pub max_sm_clock_mhz: u32,
    /// Largest memory clock in MHz.
    pub max_memory_clock_mhz: u32,
    /// Width of the memory bus in bits.
    pub memory_bus_bits: u32,
    /// Driver version, `580.159.04`.
    pub driver: String,
    /// CUDA version of the driver, `13.0`.
    pub cuda_driver: String,
    /// Which card it is, `GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` as the driver and `nvidia-smi` name it; none in
    /// records of before it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

impl Device {
    /// Refuses another device than that of a run: whatever differs, but for a UUID that one of both does not say.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn is_that_of_run(&self, run: &Self) -> Result<(), Invalid> {
        one_card("device.uuid", self.uuid.as_deref(), run.uuid.as_deref())?;
        self.is_as_that_of_run(run)
            .map_err(|invalid| invalid.help("measure both on one device"))
    }

    /// Refuses a device that is not as that of a run: whatever differs, but for the UUID.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn is_as_that_of_run(&self, run: &Self) -> Result<(), Invalid> {
        let but_for_uuid = |device: &Self| Self {
            uuid: None,
            ..device.clone()
        };
        let (found, expected) = (but_for_uuid(self), but_for_uuid(run));
        if found == expected {
            return Ok(());
        }
        let expected = format!("{expected:?}, as run.json has it");
        Err(Invalid::new("device", format!("{found:?}"), expected)
            .help("measure both on devices of one kind"))
    }
}

/// Refuses another card than that of a run: UUIDs that both are there and differ. One namespace is of one card, but for
/// its counters and its ladder, and so is a study.
///
/// # Errors
/// [`Invalid`] with `field`.
pub fn one_card(field: &str, found: Option<&str>, expected: Option<&str>) -> Result<(), Invalid> {
    match (found, expected) {
        (Some(found), Some(expected)) if found != expected => {
            Err(
                Invalid::new(field, found, format!("{expected}, as run.json has it"))
                    .help("measure all of it on one card"),
            )
        }
        _ => Ok(()),
    }
}

/// What the GPU said of itself at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuState {
    /// SM clock in MHz.
    pub sm_clock_mhz: u32,
    /// Memory clock in MHz.
    pub memory_clock_mhz: u32,
    /// Temperature in degrees Celsius.
    pub temperature_c: u32,
    /// Power draw in watts.
    pub power_w: f64,
    /// Active throttle reasons by NVML's names; empty when nothing throttles.
    pub throttle_reasons: Vec<String>,
}

impl GpuState {
    /// Reasons that held clocks down, by NVML's names; idling and clocks that someone set hold nothing down.
    pub fn throttling(&self) -> Vec<String> {
        const HARMLESS: [&str; 3] = [
            "gpu_idle",
            "applications_clocks_setting",
            "user_defined_clocks",
        ];
        let held = |reason: &&String| !HARMLESS.contains(&reason.as_str());
        self.throttle_reasons.iter().filter(held).cloned().collect()
    }
}

/// The Python environment of the PyTorch and Triton implementations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Python {
    /// Python version.
    pub python: String,
    /// PyTorch version.
    pub torch: String,
    /// Triton version.
    pub triton: String,
    /// CUDA version that PyTorch was built for.
    pub cuda: String,
    /// TF32 switches as read back after they were set.
    pub tf32: Tf32,
    /// Installed packages that take part, name to version.
    pub packages: BTreeMap<String, String>,
}

/// PyTorch's TF32 switches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tf32 {
    /// `torch.backends.cuda.matmul.allow_tf32`.
    pub matmul_allow_tf32: bool,
    /// `torch.backends.cudnn.allow_tf32`.
    pub cudnn_allow_tf32: bool,
    /// `torch.get_float32_matmul_precision()`.
    pub float32_matmul_precision: String,
}

impl Tf32 {
    /// Refuses any switch that lets PyTorch round FP32 products to TF32.
    ///
    /// # Errors
    /// [`Invalid`] naming the switch.
    pub fn check(&self) -> Result<(), Invalid> {
        for (field, on) in [
            ("matmul_allow_tf32", self.matmul_allow_tf32),
            ("cudnn_allow_tf32", self.cudnn_allow_tf32),
        ] {
            if on {
                return Err(Invalid::new(field, "true", "false: FP32 means FP32"));
            }
        }
        if self.float32_matmul_precision != "highest" {
            return Err(Invalid::new(
                "float32_matmul_precision",
                format!("{:?}", self.float32_matmul_precision),
                "\"highest\": FP32 means FP32",
            ));
        }
        Ok(())
    }
}

/// What was built, from what. Read before the run writes anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// State of the source tree.
    pub tree: SourceTree,
    /// SHA-256 of every source file, by path from the root.
    pub source_sha256: BTreeMap<String, String>,
    /// SHA-256 of each PTX object, by file name.
    pub objects_sha256: BTreeMap<String, String>,
    /// SHA-256 of the running program.
    pub binary_sha256: String,
}

/// State of the source tree under version control.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceTree {
    /// Whether it was exactly a commit.
    pub state: TreeState,
    /// The commit, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// SHA-256 of the difference to the commit, or of the names and contents of the files that it does not
    /// know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_sha256: Option<String>,
}

/// Whether a source tree was exactly a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TreeState {
    /// Exactly the commit.
    Clean,
    /// The commit and files that it does not know.
    Untracked,
    /// Tracked files differ from the commit.
    Dirty,
    /// No version control was found.
    Unknown,
}

/// All samples and checks of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    /// [`SAMPLES_SCHEMA`].
    pub schema: String,
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// SHA-256 of each input file.
    pub input_sha256: BTreeMap<String, String>,
    /// What does not run this operation here, by implementation, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unavailable: BTreeMap<String, String>,
    /// What implementations chose before anything was timed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub choices: BTreeMap<String, Choice>,
    /// What implementations multiply that is not FP32 values, in words, where nothing else here says it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub products: BTreeMap<String, String>,
    /// Rounds in measured order.
    pub rounds: Vec<Round>,
}

/// One round: every implementation once, in the order given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// Counted from 1.
    pub index: u32,
    /// GPU state before the round.
    pub gpu_state: GpuState,
    /// What each implementation gave, in the order in which they ran.
    pub implementations: IndexMap<String, Measurement>,
}

/// One implementation in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The kernel variant that ran, for `rust`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Calls before the first sample.
    pub warmup: u32,
    /// Event spans in microseconds, in measured order.
    pub samples_us: Vec<f64>,
    /// The full-output check of this round.
    pub check: Check,
}

/// A full-output check that passed; a run with one that fails is never written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Elements compared: all of them.
    pub checked_elements: u64,
    /// Against PyTorch's output of record, where PyTorch took part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<Agreement>,
    /// Against the FP64 reference.
    pub fp64: Agreement,
}

/// How far an output lies from one expectation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// Largest absolute error.
    pub max_abs_error: f64,
    /// Largest error as a share of what the tolerance allows at its element; above 1 is a failed check.
    pub max_error_share: f64,
}

impl Agreement {
    /// Refuses errors that are not finite, and those of a check that failed.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        let Self {
            max_abs_error,
            max_error_share,
        } = *self;
        if !(max_abs_error.is_finite() && max_abs_error >= 0.0) {
            return Err(Invalid::new(
                "max_abs_error",
                max_abs_error,
                "a finite number, at least 0",
            ));
        }
        if !(0.0..=1.0).contains(&max_error_share) {
            return Err(Invalid::new(
                "max_error_share",
                max_error_share,
                "0 to 1: a passed check",
            ));
        }
        Ok(())
    }
}

/// One profile: everything that holds for all of its captures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`PROFILE_SCHEMA`].
    pub schema: String,
    /// Where the evidence goes.
    pub namespace: String,
    /// Which experiment was profiled.
    pub experiment: String,
    /// SHA-256 of its spec.
    pub experiment_sha256: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// End, RFC 3339, UTC.
    pub finished: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Calls inside each capture's range.
    pub capture_iterations: u32,
    /// Calls before the range opens.
    pub warmup: u32,
    /// Captures a case.
    pub captures: u32,
    /// Implementations, in order.
    pub implementations: Vec<String>,
    /// The profiler, `NVIDIA Nsight Systems version 2025.3.1...`.
    pub profiler: String,
    /// What was built, from what (the profiler program's own).
    pub build: Build,
    /// SHA-256 of the program that was profiled.
    pub target_sha256: String,
    /// Each time it was interrupted and resumed. Every capture is a process of its own, so this changes nothing of what
    /// they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
}

/// One Nsight Systems capture, reduced to its kernel rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// [`CAPTURE_SCHEMA`].
    pub schema: String,
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// Which implementation.
    pub implementation: String,
    /// The kernel variant that ran, for `rust`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The configuration that ran, for an implementation that chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Config>,
    /// Which card it ran on, as [`Device::uuid`]; none in records of before it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_uuid: Option<String>,
    /// Counted from 1.
    pub index: u32,
    /// Calls inside the range.
    pub requested_iterations: u32,
    /// Profiler and target command lines, with paths outside the tree reduced to their last part.
    pub commands: Vec<Vec<String>>,
    /// What the profiler or the checks remarked without refusing the capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Kernels in order of start.
    pub kernels: Vec<Kernel>,
}

/// One captured kernel launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Demangled name.
    pub name: String,
    /// Start in nanoseconds after the first kernel's start.
    pub start_ns: u64,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads a block in x, y, z.
    pub block: [u32; 3],
    /// Registers a thread.
    pub registers: u32,
    /// Statically allocated shared memory a block, in bytes.
    pub static_shared_bytes: u32,
    /// Shared memory given at launch a block, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Stream it ran on.
    pub stream: u32,
    /// Iteration whose NVTX range it was launched in, counted from 0, where the range is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
}

impl Run {
    /// Refuses an unknown schema and values out of range.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, RUN_SCHEMA)?;
        self.protocol.check().map_err(|e| e.under("protocol"))?;
        match &self.python {
            Some(python) => python.tf32.check().map_err(|e| e.under("python.tf32")),
            None => Ok(()),
        }
    }
}

impl Samples {
    /// Refuses what a run under `run` cannot have left: wrong counts of rounds, implementations or
    /// samples, samples that are not positive finite times, checks that do not cover the output.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self, run: &Run) -> Result<(), Invalid> {
        let earlier =
            self.unavailable.is_empty() && self.choices.is_empty() && self.products.is_empty();
        check_schemas(&self.schema, SAMPLES_SCHEMA, SAMPLES_SCHEMA_1, earlier)?;
        self.operation.check_dims(&self.dims)?;
        for (field, names) in [
            ("unavailable", self.unavailable.keys().collect::<Vec<_>>()),
            ("choices", self.choices.keys().collect()),
            ("products", self.products.keys().collect()),
        ] {
            let known = |name: &&&String| !run.implementations.contains(name);
            if let Some(unknown) = names.iter().find(known) {
                return Err(Invalid::new(
                    field,
                    format!("{unknown:?}"),
                    format!("implementations of the run: {:?}", run.implementations),
                ));
            }
        }
        for (name, choice) in &self.choices {
            choice
                .check()
                .map_err(|e| e.under(&format!("choices.{name}")))?;
        }
        let names = self.available(&run.implementations);
        expect("rounds", self.rounds.len(), run.protocol.rounds as usize)?;
        for (i, round) in self.rounds.iter().enumerate() {
            round
                .check(
                    run,
                    &names,
                    i,
                    self.operation.output_elements(&self.dims) as u64,
                )
                .map_err(|e| e.under(&format!("rounds[{i}]")))?;
        }
        Ok(())
    }

    /// Those of `implementations` that run this operation here, in that order.
    pub fn available(&self, implementations: &[String]) -> Vec<String> {
        let runs = |name: &&String| !self.unavailable.contains_key(*name);
        implementations.iter().filter(runs).cloned().collect()
    }
}

impl Round {
    fn check(
        &self,
        run: &Run,
        names: &[String],
        position: usize,
        elements: u64,
    ) -> Result<(), Invalid> {
        expect("index", self.index as usize, position + 1)?;
        let order: Vec<&str> = self.implementations.keys().map(String::as_str).collect();
        let expected = rotated(names, position);
        if order != expected {
            return Err(Invalid::new(
                "implementations",
                format!("{order:?}"),
                format!("{expected:?} in this round"),
            ));
        }
        for (name, measurement) in &self.implementations {
            measurement
                .check(run, elements)
                .map_err(|e| e.under(&format!("implementations.{name}")))?;
        }
        Ok(())
    }
}

impl Measurement {
    fn check(&self, run: &Run, elements: u64) -> Result<(), Invalid> {
        expect("warmup", self.warmup as usize, run.protocol.warmup as usize)?;
        let samples = self.samples_us.len();
        expect("samples_us", samples, run.protocol.iterations as usize)?;
        if let Some(i) = self
            .samples_us
            .iter()
            .position(|s| !(s.is_finite() && *s > 0.0))
        {
            return Err(Invalid::new(
                format!("samples_us[{i}]"),
                self.samples_us[i],
                "a finite time above 0",
            ));
        }
        let checked = self.check.checked_elements;
        if checked != elements {
            return Err(Invalid::new(
                "check.checked_elements",
                checked,
                format!("{elements}, the whole output"),
            ));
        }
        self.check.fp64.check().map_err(|e| e.under("check.fp64"))?;
        match &self.check.record {
            Some(record) => record.check().map_err(|e| e.under("check.record")),
            None => Ok(()),
        }
    }
}

impl Profile {
    /// Refuses an unknown schema and numbers out of range.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, PROFILE_SCHEMA)?;
        Protocol {
            rounds: 1,
            iterations: 1,
            warmup: self.warmup,
            captures: self.captures,
            capture_iterations: self.capture_iterations,
        }
        .check()
    }
}

impl Capture {
    /// Kernel launches an iteration.
    ///
    /// # Errors
    /// [`Invalid`] on no kernels, or where they are not a whole number an iteration.
    pub fn launches(&self) -> Result<u32, Invalid> {
        launches(self.kernels.len(), self.requested_iterations)
    }

    /// Kernel time in microseconds: the sum of all durations over the requested iterations.
    ///
    /// # Errors
    /// As [`Capture::launches`].
    pub fn kernel_time_us(&self) -> Result<f64, Invalid> {
        self.launches()?;
        let durations = self.kernels.iter().map(|kernel| kernel.duration_ns);
        let total = durations
            .into_iter()
            .try_fold(0u64, u64::checked_add)
            .ok_or_else(|| Invalid::new("kernels", "durations beyond 2^64 ns", "measured times"))?;
        Ok(total as f64 / 1000.0 / f64::from(self.requested_iterations))
    }

    /// Refuses what a capture cannot be: an unknown schema, dims that do not fit, a launch count that is
    /// not whole, iterations that differ in their launches, and, for `rust`, another kernel than the
    /// variant's.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        let earlier = self.config.is_none();
        check_schemas(&self.schema, CAPTURE_SCHEMA, CAPTURE_SCHEMA_1, earlier)?;
        self.operation.check_dims(&self.dims)?;
        let launches = self.launches()?;
        let mut counts = vec![0; self.requested_iterations as usize];
        let names = self.kernels.iter().map(|kernel| kernel.name.as_str());
        if let Some(variant) = &self.variant {
            kernel::check(names, variant, "kernels", "name")?;
        }
        for (i, kernel) in self.kernels.iter().enumerate() {
            if kernel.duration_ns == 0 {
                return Err(Invalid::new(
                    format!("kernels[{i}].duration_ns"),
                    0,
                    "above 0",
                ));
            }
            if let Some(iteration) = kernel.iteration {
                match counts.get_mut(iteration as usize) {
                    Some(count) => *count += 1,
                    None => {
                        return Err(Invalid::new(
                            format!("kernels[{i}].iteration"),
                            iteration,
                            format!("below {}", self.requested_iterations),
                        ));
                    }
                }
            }
        }
        let attributed = self.kernels.iter().any(|kernel| kernel.iteration.is_some());
        match counts.iter().position(|count| *count != launches) {
            Some(iteration) if attributed => Err(Invalid::new(
                "kernels",
                format!("{} launches in iteration {iteration}", counts[iteration]),
                format!("{launches}, as in the mean"),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a capture that was not taken as `profile` says.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check_in(&self, profile: &Profile) -> Result<(), Invalid> {
        self.check()?;
        expect(
            "requested_iterations",
            self.requested_iterations as usize,
            profile.capture_iterations as usize,
        )
    }
}

/// Launches an iteration from `kernels` captured over `iterations`.
///
/// # Errors
/// [`Invalid`] on no kernels, or where the quotient is not whole.
pub fn launches(kernels: usize, iterations: u32) -> Result<u32, Invalid> {
    let whole = iterations > 0 && kernels > 0 && kernels.is_multiple_of(iterations as usize);
    if !whole {
        return Err(Invalid::new(
            "kernels",
            format!("{kernels} kernels in {iterations} iterations"),
            "a whole number of launches an iteration, at least 1",
        )
        .help("see that the capture range holds the calls and nothing else, then capture again"));
    }
    Ok((kernels / iterations as usize) as u32)
}

/// The order of round `round` (from 0): rotated by one place a round.
pub fn rotated(implementations: &[String], round: usize) -> Vec<&str> {
    let n = implementations.len();
    (0..n)
        .map(|i| implementations[(i + round) % n].as_str())
        .collect()
}

fn expect(field: &str, found: usize, expected: usize) -> Result<(), Invalid> {
    if found == expected {
        return Ok(());
    }
    Err(Invalid::new(field, found, expected.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_rotates_by_one_place_a_round() {
        let names = ["python", "triton", "rust"].map(String::from);
        assert_eq!(rotated(&names, 0), ["python", "triton", "rust"]);
        assert_eq!(rotated(&names, 1), ["triton", "rust", "python"]);
        assert_eq!(rotated(&names, 3), rotated(&names, 0));
    }

    #[test]
    fn launches_are_whole_or_an_error() {
        assert_eq!(launches(400, 100).unwrap(), 4);
        for (kernels, iterations) in [(0, 100), (101, 100), (99, 100), (5, 0)] {
            assert!(
                launches(kernels, iterations).is_err(),
                "{kernels}/{iterations}"
            );
        }
    }

    #[test]
    fn another_major_schema_is_refused() {
        check_schema("mage.run/1", RUN_SCHEMA).unwrap();
        let error = check_schema("mage.run/2", RUN_SCHEMA)
            .unwrap_err()
            .to_string();
        assert!(error.contains("mage.run/2"), "{error}");
    }

    #[test]
    fn a_session_is_the_same_but_for_moments() {
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let begun =
            json(r#"{"started": "a", "build": {"tree": 1, "binary_sha256": "x"}, "n": [1]}"#);
        let later =
            json(r#"{"started": "b", "build": {"tree": 2, "binary_sha256": "x"}, "n": [1]}"#);
        same_session(&begun, &later).unwrap();
        let built =
            json(r#"{"started": "b", "build": {"tree": 2, "binary_sha256": "y"}, "n": [1]}"#);
        let error = same_session(&begun, &built).unwrap_err();
        assert_eq!(error.field, "build.binary_sha256");
        assert_eq!(error.found, r#""y""#);
        let longer = json(
            r#"{"started": "b", "build": {"tree": 2, "binary_sha256": "x"}, "n": [1], "m": 2}"#,
        );
        assert_eq!(same_session(&begun, &longer).unwrap_err().field, "m");
    }
}
