//! The target that a profiler wraps: one case, warmed up, then a range of calls and nothing else.

use crate::worker;
use anyhow::Context;
use mage_evidence::Invalid;
use mage_evidence::calibration::handle;
use mage_evidence::experiment::Case;
use mage_kernels::inputs::Inputs;
use mage_kernels::launch::{Call, Gpu};
use mage_kernels::variants::{self, Variant};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// What to call.
#[derive(Debug, Clone)]
pub struct Target {
    /// The implementation.
    pub implementation: String,
    /// The kernel variant that `rust` runs in place of the experiment's.
    pub variant: Option<String>,
    /// What the run chose, as JSON, for an implementation of the Python worker that chooses.
    pub config: Option<String>,
    /// Where the run's compilers kept what they made.
    pub compiled: Option<PathBuf>,
    /// File whose lock captures share that start side by side: together while they prepare and end, each alone from warm-up to
    /// its last call.
    pub lock: Option<PathBuf>,
    /// Directory of inputs, `<inputs>/<operation>/<file>`.
    pub inputs: PathBuf,
    /// Whether two handles of the kernel, each with memory of its own, make the calls in turn
    /// ([`handle`]); for `rust`.
    pub pairs: bool,
    /// Calls inside the range.
    pub iterations: u32,
    /// Calls before it.
    pub warmup: u32,
    /// Interpreter of the Python worker.
    pub python: PathBuf,
}

/// Runs the target: reads and verifies the inputs, warms up, opens the profiler's range, makes the calls
/// each inside an NVTX range `mage:<operation>:<implementation>:<iteration>`, closes the range. Prints one
/// JSON line that names the card, the kernel variant which ran, and the one asked for where it is not the experiment's;
/// for the others the card, and the configuration where there is one.
///
/// # Errors
/// Bad inputs, a variant that does not compute this, and whatever the device or the worker reports.
pub fn run(root: &Path, case: &Case, target: &Target) -> anyhow::Result<()> {
    let variant = variant(case, target)?;
    let inputs = Inputs::read(&target.inputs, case.name, &case.dims)?;
    inputs.verify(&case.sha256)?;
    if target.pairs && (target.implementation != "rust" || !target.iterations.is_multiple_of(4)) {
        return Err(Invalid::new(
            "--pairs",
            format!(
                "--implementation {} --iterations {}",
                target.implementation, target.iterations
            ),
            "rust and a multiple of 4 calls",
        )
        .into());
    }
    match target.implementation.as_str() {
        "rust" => rust(case, variant, &inputs, target),
        _ => python(root, case, target),
    }
}

/// The variant that is asked for: it must be of the operation, take its dims and be asked of `rust`.
fn variant(case: &Case, target: &Target) -> Result<&'static Variant, Invalid> {
    let of_operation = || variants::of(case.name);
    let Some(asked) = &target.variant else {
        return of_operation()
            .find(|variant| variant.id == case.variant)
            .ok_or_else(|| refused("variant", &case.variant, case));
    };
    if target.implementation != "rust" {
        let only = "no variant but with --implementation rust";
        return Err(Invalid::new("--variant", format!("{asked:?}"), only));
    }
    let variant = of_operation()
        .find(|variant| variant.id == asked)
        .ok_or_else(|| refused("--variant", asked, case))?;
    variant.takes(&case.dims).map_err(|reason| {
        let found = format!("{asked:?} ({reason})");
        Invalid::new("--variant", found, "a variant that takes the case's dims")
    })?;
    Ok(variant)
}

fn refused(field: &str, found: &str, case: &Case) -> Invalid {
    let known: Vec<&str> = variants::of(case.name).map(|variant| variant.id).collect();
    Invalid::new(
        field,
        format!("{found:?}"),
        format!("one of {}", known.join(", ")),
    )
}

fn rust(
    case: &Case,
    variant: &'static Variant,
    inputs: &Inputs,
    target: &Target,
) -> anyhow::Result<()> {
    let lock = target.lock.as_deref();
    let turn = |of: fn(&File) -> std::io::Result<()>| lock.map(|path| turn(path, of)).transpose();
    // Declared before what is to be gone when the next is measured, also after an error.
    let mut held = turn(File::lock_shared)?;
    let gpu = Gpu::open()?;
    let prepare = || Call::prepare(&gpu, variant, inputs);
    let mut calls = vec![prepare()?];
    if target.pairs {
        calls.push(prepare()?);
    }
    drop(held.take());
    held = turn(File::lock)?;
    let which = |iteration| if target.pairs { handle(iteration) } else { 0 };
    for iteration in 0..target.warmup {
        calls[which(iteration)].launch()?;
    }
    gpu.synchronize()?;
    gpu.profiler_start()?;
    for iteration in 0..target.iterations {
        let call = &mut calls[which(iteration)];
        nvtx::range_push!("mage:{}:rust:{iteration}", case.name);
        let launched = call.launch();
        nvtx::range_pop!();
        launched?;
    }
    gpu.synchronize()?;
    // The calls are over, and the next need not wait for the profiler.
    drop(held.take());
    gpu.profiler_stop()?;
    held = turn(File::lock_shared)?;
    let kernel = calls[0].variant().id;
    mage_workspace::outln!(
        "{}",
        answer(kernel, target.variant.as_deref(), &gpu.uuid()?)
    );
    drop((calls, gpu, held));
    Ok(())
}

/// Waits for the lock of `path`, which is held as long as the file is open.
fn turn(path: &Path, lock: impl Fn(&File) -> std::io::Result<()>) -> anyhow::Result<File> {
    let options = File::options().create(true).append(true).open(path);
    let file = options.with_context(|| format!("{}: cannot be opened", path.display()))?;
    lock(&file).with_context(|| format!("{}: cannot be locked", path.display()))?;
    Ok(file)
}

/// The line that a profiler's driver reads.
fn answer(kernel: &str, asked: Option<&str>, gpu_uuid: &str) -> serde_json::Value {
    let mut answer = serde_json::json!({"gpu_uuid": gpu_uuid, "kernel": kernel});
    if let Some(variant) = asked {
        answer["variant"] = variant.into();
    }
    answer
}

/// Becomes the worker: a profiler then sees one process, the one that makes the calls.
fn python(root: &Path, case: &Case, target: &Target) -> anyhow::Result<()> {
    let dims: Vec<String> = case.dims.iter().map(u32::to_string).collect();
    let mut command = worker::command(root, &target.python, target.compiled.as_deref());
    if let Some(config) = &target.config {
        // Everything is compiled already: no pool of compilers beside what is captured.
        command.env("TORCHINDUCTOR_COMPILE_THREADS", "1");
        command.args(["capture", "--config", config]);
    } else {
        command.arg("capture");
    }
    if let Some(lock) = &target.lock {
        command.arg("--lock").arg(lock);
    }
    let error = command
        .args(["--operation", case.name.name()])
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

#[cfg(test)]
mod tests {
    use super::*;
    use mage_evidence::operation::Operation;
    use std::collections::BTreeMap;

    fn asked(
        implementation: &str,
        variant: Option<&str>,
        dims: [u32; 3],
    ) -> Result<&'static str, String> {
        let case = Case {
            name: Operation::Matmul,
            dims: dims.to_vec(),
            variant: "tiled_matmul".into(),
            sha256: BTreeMap::new(),
        };
        let target = Target {
            implementation: implementation.into(),
            variant: variant.map(String::from),
            config: None,
            compiled: None,
            lock: None,
            inputs: PathBuf::new(),
            pairs: false,
            iterations: 1,
            warmup: 0,
            python: PathBuf::new(),
        };
        super::variant(&case, &target)
            .map(|variant| variant.id)
            .map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn a_variant_takes_the_place_of_the_experiments() {
        let dims = [128, 64, 32];
        assert_eq!(asked("rust", None, dims), Ok("tiled_matmul"));
        assert_eq!(
            asked("rust", Some("tiled_matmul_8x4"), dims),
            Ok("tiled_matmul_8x4")
        );
        assert_eq!(
            answer("a", None, "GPU-1").to_string(),
            r#"{"gpu_uuid":"GPU-1","kernel":"a"}"#
        );
        assert_eq!(
            answer("a", Some("a"), "GPU-1").to_string(),
            r#"{"gpu_uuid":"GPU-1","kernel":"a","variant":"a"}"#
        );
    }

    #[test]
    fn a_variant_that_does_not_compute_this_is_refused() {
        let dims = [128, 64, 32];
        let refusal = asked("rust", Some("layer_norm"), dims).unwrap_err();
        let expected = "--variant: found \"layer_norm\", expected one of tiled_matmul, tiled_matmul_registers, ";
        assert!(refusal.starts_with(expected), "{refusal}");
        assert_eq!(
            asked("triton", Some("tiled_matmul"), dims).unwrap_err(),
            "--variant: found \"tiled_matmul\", expected no variant but with --implementation rust"
        );
        assert_eq!(
            asked("rust", Some("tiled_matmul_8x4"), [64, 64, 32]).unwrap_err(),
            "--variant: found \"tiled_matmul_8x4\" (tiled_matmul_8x4 takes m a multiple of 128, not 64), \
             expected a variant that takes the case's dims"
        );
    }
}
