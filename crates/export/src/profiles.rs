//! `comparison-profiles.json` from captures.

use crate::Captures;
use mage_evidence::Invalid;
use mage_evidence::artifact::{CAPTURE_SCHEMA_1, Capture, Kernel, Run};
use mage_evidence::profiles::{CaptureResults, KernelMetric, PASSED, Profiles, Provenance};
use mage_evidence::results::{SCHEMA_VERSION, SCHEMA_VERSION_1_0};

const BACKEND: &str = "Nsight Systems";

pub(crate) fn assemble(captures: &Captures, run: &Run) -> Result<Profiles, Invalid> {
    let profile = &captures.profile;
    Ok(Profiles {
        experiment_id: format!("{}-comparison", profile.experiment),
        schema_version: Some(version(&captures.captures).into()),
        backend: BACKEND.into(),
        timestamp_mode: "kernel start and end on the GPU, as Nsight Systems exports them to SQLite".into(),
        timing: "sum of the durations of all captured kernels over requested iterations, microseconds; gaps between kernels are excluded".into(),
        provenance: Some(Provenance {
            namespace: profile.namespace.clone(),
            experiment: profile.experiment.clone(),
            experiment_sha256: profile.experiment_sha256.clone(),
            started: profile.started.clone(),
            finished: profile.finished.clone(),
            profiler: profile.profiler.clone(),
            command: profile.command.clone(),
            captures_per_case: profile.captures,
            warmup: profile.warmup,
            target_sha256: profile.target_sha256.clone(),
            binary_sha256: profile.build.binary_sha256.clone(),
            // The target is the program of the run: `agree` has compared their hashes.
            objects_sha256: run.build.objects_sha256.clone(),
            artifacts_sha256: captures.sha256.clone(),
        }),
        captures: captures.captures.iter().map(capture).collect::<Result<_, _>>()?,
    })
}

/// Evidence from artifacts of the earlier schema is what it was.
fn version(captures: &[Capture]) -> &'static str {
    match captures.iter().all(|c| c.schema == CAPTURE_SCHEMA_1) {
        true => SCHEMA_VERSION_1_0,
        false => SCHEMA_VERSION,
    }
}

fn capture(capture: &Capture) -> Result<CaptureResults, Invalid> {
    let id = format!(
        "{}-{}-{}",
        capture.operation, capture.implementation, capture.index
    );
    let mut kernel_names: Vec<String> = Vec::new();
    for kernel in &capture.kernels {
        if !kernel_names.contains(&kernel.name) {
            kernel_names.push(kernel.name.clone());
        }
    }
    Ok(CaptureResults {
        operation: capture.operation,
        language: capture.implementation.clone(),
        backend: BACKEND.into(),
        launches: capture.launches().map_err(|e| e.under(&id))?,
        requested_iterations: capture.requested_iterations,
        kernel_names,
        report_dir: format!("captures/{id}.json"),
        session_id: id.clone(),
        status: PASSED.into(),
        kernel_time_us: Some(capture.kernel_time_us().map_err(|e| e.under(&id))?),
        config: capture.config.clone(),
        notes: capture.notes.clone(),
        kernel_metrics: capture
            .kernels
            .iter()
            .map(metric)
            .collect::<Result<_, _>>()
            .map_err(|e| e.under(&id))?,
    })
}

fn metric(kernel: &Kernel) -> Result<KernelMetric, Invalid> {
    let text = |size: [u32; 3]| format!("{},{},{}", size[0], size[1], size[2]);
    let (fixed, given) = (kernel.static_shared_bytes, kernel.dynamic_shared_bytes);
    let shared = fixed.checked_add(given).ok_or_else(|| {
        Invalid::new(
            "shared bytes",
            format!("{fixed} and {given}"),
            "a sum below 2^32",
        )
    })?;
    Ok(KernelMetric {
        kernel_name: kernel.name.clone(),
        duration_us: kernel.duration_ns as f64 / 1000.0,
        grid_size: text(kernel.grid),
        block_size: text(kernel.block),
        registers_per_thread: kernel.registers,
        shared_mem_bytes: shared,
        dynamic_shared_mem_bytes: Some(given),
    })
}
