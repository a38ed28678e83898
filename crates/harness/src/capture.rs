//! The target that a profiler wraps: one case, warmed up, then a range of calls and nothing else.

use crate::worker;
use anyhow::Context;
use mage_evidence::experiment::Case;
use mage_kernels::inputs::Inputs;
use mage_kernels::launch::{Call, Gpu};
use mage_kernels::variants;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// What to call.
#[derive(Debug, Clone)]
pub struct Target {
    /// The implementation.
    pub implementation: String,
    /// Directory of inputs, `<inputs>/<operation>/<file>`.
    pub inputs: PathBuf,
    /// Calls inside the range.
    pub iterations: u32,
    /// Calls before it.
    pub warmup: u32,
    /// Interpreter of the Python worker.
    pub python: PathBuf,
}

/// Runs the target: reads and verifies the inputs, warms up, opens the profiler's range, makes the calls
/// each inside an NVTX range `mage:<operation>:<implementation>:<iteration>`, closes the range. Prints one
/// JSON line that names the kernel variant which ran, `{}` for the others.
///
/// # Errors
/// Bad inputs, and whatever the device or the worker reports.
pub fn run(root: &Path, case: &Case, target: &Target) -> anyhow::Result<()> {
    let inputs = Inputs::read(&target.inputs, case.name, &case.dims)?;
    inputs.verify(&case.sha256)?;
    match target.implementation.as_str() {
        "rust" => rust(case, &inputs, target),
        _ => python(root, case, target),
    }
}

fn rust(case: &Case, inputs: &Inputs, target: &Target) -> anyhow::Result<()> {
    let variant = variants::find(&case.variant).context("rust: no such variant")?;
    let gpu = Gpu::open()?;
    let mut call = Call::prepare(&gpu, variant, inputs)?;
    for _ in 0..target.warmup {
        call.launch()?;
    }
    gpu.synchronize()?;
    gpu.profiler_start()?;
    for iteration in 0..target.iterations {
        nvtx::range_push!("mage:{}:rust:{iteration}", case.name);
        let launched = call.launch();
        nvtx::range_pop!();
        launched?;
    }
    gpu.synchronize()?;
    gpu.profiler_stop()?;
    println!("{}", serde_json::json!({"kernel": call.variant().id}));
    Ok(())
}

/// Becomes the worker: a profiler then sees one process, the one that makes the calls.
fn python(root: &Path, case: &Case, target: &Target) -> anyhow::Result<()> {
    let dims: Vec<String> = case.dims.iter().map(u32::to_string).collect();
    let error = worker::command(root, &target.python)
        .args(["capture", "--operation", case.name.name()])
        .args(["--dims", &dims.join(",")])
        .args(["--implementation", &target.implementation])
        .arg("--inputs")
        .arg(target.inputs.join(case.name.name()))
        .args(["--iterations", &target.iterations.to_string()])
        .args(["--warmup", &target.warmup.to_string()])
        .exec();
    let python = target.python.display();
    Err(error).with_context(|| format!("{python}: cannot start the Python worker"))
}
