//! `comparison-results.json` from samples.

use crate::{Events, precision};
use mage_evidence::Invalid;
use mage_evidence::artifact::{Measurement, Round, Run, SAMPLES_SCHEMA_1, Samples};
use mage_evidence::results::{
    CaseResults, Correctness, InputHashes, OperationResults, Provenance, Results, RoundResults,
    SCHEMA_VERSION, SCHEMA_VERSION_1_0,
};
use mage_evidence::stats;

/// Assembles the file; the samples have passed their check, so means and medians exist.
pub(crate) fn assemble(events: &Events) -> Result<Results, Invalid> {
    let run = &events.run;
    let sources = &run.build.source_sha256;
    let lock_file_sha256 = sources.get("Cargo.lock").cloned().ok_or_else(|| {
        Invalid::new(
            "build.source_sha256",
            "no Cargo.lock",
            "the hash of every source file",
        )
    })?;
    let python = run.python.as_ref();
    let version = version(&events.samples);
    Ok(Results {
        experiment_id: format!("{}-comparison", run.experiment),
        schema_version: Some(version.into()),
        utc: run.finished.clone(),
        gpu: run.device.name.clone(),
        torch: python.map(|p| p.torch.clone()),
        triton: python.map(|p| p.triton.clone()),
        cuda: python.map(|p| p.cuda.clone()),
        python: python.map(|p| p.python.clone()),
        platform: run.host.platform.clone(),
        precision: precision::of(run, &events.samples, version == SCHEMA_VERSION_1_0),
        timing: "CUDA events around one call on the stream that runs it, microseconds; a span can include gaps while the host submits work".into(),
        excluded: run.excluded.clone(),
        rounds: run.protocol.rounds,
        iterations_per_round: run.protocol.iterations,
        warmup_per_round: run.protocol.warmup,
        source_sha256: run.build.source_sha256.clone(),
        binary_sha256: run.build.binary_sha256.clone(),
        gpu_state_before: run.gpu_state_before.clone().into(),
        gpu_state_after: run.gpu_state_after.clone().into(),
        provenance: Some(Provenance {
            namespace: run.namespace.clone(),
            experiment: run.experiment.clone(),
            experiment_sha256: run.experiment_sha256.clone(),
            started: run.started.clone(),
            command: run.command.clone(),
            resumed: run.resumed.clone(),
            host: run.host.clone(),
            device: run.device.clone(),
            tf32: python.map(|p| p.tf32.clone()),
            python_packages: python.map(|p| p.packages.clone()).unwrap_or_default(),
            tree: run.build.tree.clone(),
            lock_file_sha256: lock_file_sha256.clone(),
            objects_sha256: run.build.objects_sha256.clone(),
            artifacts_sha256: events.sha256.clone(),
        }),
        results: events
            .samples
            .iter()
            .map(|samples| operation(run, samples, version))
            .collect(),
    })
}

/// Evidence from artifacts of the earlier schema is what it was.
fn version(samples: &[Samples]) -> &'static str {
    match samples.iter().all(|s| s.schema == SAMPLES_SCHEMA_1) {
        true => SCHEMA_VERSION_1_0,
        false => SCHEMA_VERSION,
    }
}

fn operation(run: &Run, samples: &Samples, version: &str) -> OperationResults {
    OperationResults {
        op: samples.operation,
        dims: samples.dims.clone(),
        input_hashes: InputHashes {
            seed: run.seed,
            sha256: samples.input_sha256.clone(),
        },
        unavailable: samples.unavailable.clone(),
        choices: samples
            .choices
            .iter()
            .map(|(name, choice)| (name.clone(), choice.into()))
            .collect(),
        precision: match version {
            SCHEMA_VERSION_1_0 => Default::default(),
            _ => precision::of_operation(run, samples),
        },
        rounds: samples.rounds.iter().map(|r| round(run, r)).collect(),
    }
}

fn round(run: &Run, round: &Round) -> RoundResults {
    RoundResults {
        index: round.index,
        order: round.implementations.keys().cloned().collect(),
        gpu_state: round.gpu_state.clone().into(),
        implementations: round
            .implementations
            .iter()
            .map(|(name, measurement)| (name.clone(), case(run, measurement)))
            .collect(),
    }
}

fn case(run: &Run, measurement: &Measurement) -> CaseResults {
    let samples = &measurement.samples_us;
    let check = &measurement.check;
    let of_record = check.record.map_or(0.0, |record| record.max_error_share);
    let share = check.fp64.max_error_share.max(of_record);
    CaseResults {
        kernel: measurement.kernel.clone(),
        // Samples that have no mean are refused by the check of the assembled file.
        event_mean_us: stats::mean(samples).unwrap_or(f64::NAN),
        event_median_us: stats::median(samples).unwrap_or(f64::NAN),
        samples_us: samples.clone(),
        warmup: measurement.warmup,
        iterations: samples.len() as u32,
        correctness: Correctness {
            passed: share <= 1.0,
            max_abs_error: check.record.unwrap_or(check.fp64).max_abs_error,
            max_abs_error_fp64: Some(check.fp64.max_abs_error),
            max_error_share: Some(share),
            rtol: run.tolerance.rtol,
            atol: run.tolerance.atol,
            checked_elements: check.checked_elements,
        },
    }
}
