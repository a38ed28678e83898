//! The real implementations and the real monitor, for a run on a CUDA device.

use crate::implementation::Implementation;
use crate::monitor::NvmlMonitor;
use crate::python::{self, PythonImplementation, Shared};
use crate::run::Bench;
use crate::rust::Rust;
use crate::worker::{self, Worker};
use anyhow::bail;
use mage_evidence::Invalid;
use mage_evidence::artifact::Python;
use mage_evidence::experiment::Experiment;
use mage_evidence::hash::sha256_hex;
use mage_kernels::launch::Gpu;
use mage_kernels::{objects, variants};
use std::collections::BTreeMap;
use std::path::Path;

/// Refuses an experiment that this program cannot run: an unknown implementation, a variant that does not
/// exist, is of another operation or computes nothing.
///
/// # Errors
/// [`Invalid`] naming the field.
pub fn check_runnable(experiment: &Experiment) -> Result<(), Invalid> {
    for name in &experiment.implementations {
        check_implementation(name).map_err(|e| e.under("implementations"))?;
    }
    for (i, case) in experiment.operations.iter().enumerate() {
        let known: Vec<&str> = variants::computing(case.name).map(|v| v.id).collect();
        if !known.contains(&case.variant.as_str()) {
            return Err(Invalid::new(
                format!("operations[{i}].variant"),
                format!("{:?}", case.variant),
                format!("one of {}", known.join(", ")),
            ));
        }
    }
    Ok(())
}

/// Refuses a name that is no implementation.
///
/// # Errors
/// [`Invalid`] without a field.
pub fn check_implementation(name: &str) -> Result<(), Invalid> {
    if name == "rust" || python::NAMES.contains(&name) {
        return Ok(());
    }
    Err(Invalid::new(
        "",
        format!("{name:?}"),
        format!("one of {}, rust", python::NAMES.join(", ")),
    ))
}

/// SHA-256 of each PTX object of this program, by file name.
pub fn objects_sha256() -> BTreeMap<String, String> {
    objects::objects()
        .iter()
        .map(|object| (object.file_name(), object.sha256()))
        .collect()
}

/// Implementations in the order of a plan.
pub type Implementations = Vec<Box<dyn Implementation>>;

/// The implementations of these names on `gpu`, and the Python environment where one takes part.
///
/// # Errors
/// Where the worker cannot start, lacks PyTorch or Triton, or sees another device.
pub fn implementations(
    root: &Path,
    gpu: &Gpu,
    names: &[String],
    python: &Path,
    compiled: Option<&Path>,
) -> anyhow::Result<(Implementations, Option<Python>)> {
    let mut shared = None;
    let mut environment = None;
    if names.iter().any(|name| name != "rust") {
        let mut command = worker::command(root, python, compiled);
        command.arg("serve");
        let mut worker = Worker::start(command)?;
        let hello = worker.hello()?;
        hello
            .tf32
            .check()
            .map_err(|e| e.under("Python worker: tf32"))?;
        if hello.device.name != gpu.name()? {
            bail!(
                "PyTorch runs on {:?} and Rust on {:?}, expected one device; set CUDA_VISIBLE_DEVICES to one",
                hello.device.name,
                gpu.name()?
            );
        }
        environment = Some(hello.record());
        shared = Some(Shared::new(worker)?);
    }
    let implementations = names
        .iter()
        .map(|name| -> Box<dyn Implementation> {
            match &shared {
                Some(shared) if name != "rust" => Box::new(PythonImplementation::new(name, shared)),
                _ => Box::new(Rust::new(gpu.clone())),
            }
        })
        .collect();
    Ok((implementations, environment))
}

/// Refuses to measure with a program that was built from other kernels than the tree at `root` holds.
///
/// # Errors
/// [`Invalid`] naming the PTX object.
pub fn built_from(root: &Path) -> Result<(), Invalid> {
    for (object, embedded) in objects_sha256() {
        let path = Path::new("crates/kernels/ptx").join(object);
        let found = match std::fs::read(root.join(&path)) {
            Ok(bytes) => sha256_hex(&bytes),
            Err(error) => error.to_string(),
        };
        if found != embedded {
            return Err(Invalid::new(
                "",
                found,
                format!("{embedded}, as this program was built with"),
            )
            .help("build again: cargo build --release")
            .in_file(&path));
        }
    }
    Ok(())
}

/// Everything that a run on `gpu` needs. The state of the source tree is read here, before anything is written. What the
/// worker's compilers make goes to `compiled`, for the captures to find.
///
/// # Errors
/// As [`implementations`], and where NVML or a source file cannot be read.
pub fn bench(
    root: &Path,
    gpu: &Gpu,
    names: &[String],
    python: &Path,
    compiled: &Path,
) -> anyhow::Result<Bench> {
    let build = mage_workspace::build(root, objects_sha256())?;
    built_from(root)?;
    let monitor = NvmlMonitor::open(gpu)?;
    let (implementations, python) = implementations(root, gpu, names, python, Some(compiled))?;
    Ok(Bench {
        implementations,
        monitor: Box::new(monitor),
        python,
        build,
    })
}
