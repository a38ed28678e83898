//! `comparison-counters.json` from the counters of a session of its own.

use crate::{Captures, Events, Reader};
use anyhow::bail;
use mage_evidence::counters::artifact::{
    CALLS, Call, Launch, Metric, PROBES_FILE, Probes, SESSION_FILE, Session,
};
use mage_evidence::counters::{
    Bound, BoundBy, Busy, Case, Counters, Hits, Instructions, Kernel, Limits, MAX_PERCENT, Memory,
    Occupancy, Probe, Provenance, Rates, Reading, derive, metrics, position, totals,
};
use mage_evidence::results::SCHEMA_VERSION;
use std::collections::BTreeMap;
use std::path::Path;

/// What the profiler left of counters, checked.
pub(crate) struct Counted {
    session: Session,
    probes: Probes,
    /// Each with its path from the artifact directory.
    calls: Vec<(String, Call)>,
    sha256: BTreeMap<String, String>,
}

impl Counted {
    /// Reads the artifacts; none where a namespace has no counters.
    pub(crate) fn read(directory: &Path) -> anyhow::Result<Option<Self>> {
        if !directory.exists() {
            return Ok(None);
        }
        let mut reader = Reader::new(directory)?;
        let session: Session = reader.json(SESSION_FILE, Session::check)?;
        let probes: Probes = reader.json(PROBES_FILE, Probes::check)?;
        let mut calls: Vec<(String, Call)> = Vec::new();
        for name in reader.names(CALLS)? {
            let call: Call = reader.json(&name, Call::check)?;
            let own = format!("{CALLS}/{}-{}.json", call.operation, call.implementation);
            if name != own {
                bail!(
                    "{}: found the counters of {own}, expected those that its name says",
                    directory.join(&name).display()
                );
            }
            calls.push((name, call));
        }
        if calls.is_empty() {
            bail!(
                "{}: found no counters, expected those of at least one case; read them again",
                directory.join(CALLS).display()
            );
        }
        calls.sort_by_key(|(_, call)| {
            let named = session
                .implementations
                .iter()
                .position(|name| *name == call.implementation);
            (call.operation, named)
        });
        reader.nothing_else("", &[CALLS])?;
        Ok(Some(Self {
            session,
            probes,
            calls,
            sha256: reader.sha256,
        }))
    }

    /// Refuses counters of another namespace or experiment, and of cases that are not those that were measured: other
    /// dims, another variant, another number of kernels.
    pub(crate) fn agree(
        &self,
        namespace: &str,
        events: &Events,
        captures: &Captures,
    ) -> anyhow::Result<()> {
        let session = &self.session;
        for (what, found, expected) in [
            ("namespace", &session.namespace, &namespace.to_owned()),
            ("experiment", &session.experiment, &events.run.experiment),
        ] {
            if found != expected {
                bail!(
                    "{namespace}: {SESSION_FILE}: {what}: found {found:?}, expected {expected:?}"
                );
            }
        }
        for (name, call) in &self.calls {
            let case = format!("{} {}", call.operation, call.implementation);
            let samples = events
                .samples
                .iter()
                .find(|s| s.operation == call.operation);
            let measured = samples.and_then(|samples| {
                let round = samples.rounds.first()?;
                Some((samples, round.implementations.get(&call.implementation)?))
            });
            let Some((samples, measured)) = measured else {
                bail!("{namespace}: {name}: found {case}, expected a case that was measured");
            };
            if samples.dims != call.dims || measured.kernel != call.variant {
                bail!(
                    "{namespace}: {name}: found {:?} at {:?}, expected {:?} at {:?} as measured",
                    call.variant,
                    call.dims,
                    measured.kernel,
                    samples.dims
                );
            }
            let captured = captures
                .captures
                .iter()
                .find(|c| c.operation == call.operation && c.implementation == call.implementation);
            if let Some(captured) = captured
                && captured.launches()? as usize != call.kernels.len()
            {
                bail!(
                    "{namespace}: {name}: found {} kernels in the call, expected {} as captured",
                    call.kernels.len(),
                    captured.launches()?
                );
            }
        }
        Ok(())
    }
}

/// The evidence.
pub(crate) fn assemble(counted: &Counted) -> Counters {
    let session = &counted.session;
    let none = || Reading::absent("derived");
    let rates = || Rates {
        dram_bytes_per_s: none(),
        l2_bytes_per_s: none(),
        fp32_operations_per_s: none(),
    };
    let probes = counted.probes.probes.iter().map(|probe| {
        let Kernel {
            duration_us,
            position,
            memory,
            ..
        } = kernel(&probe.launch, &rates());
        Probe {
            limit: probe.limit,
            variant: probe.variant.clone(),
            dims: probe.dims.clone(),
            duration_us,
            dram_bytes: position.dram_bytes,
            l2_bytes: memory.l2_bytes,
            fp32_operations: position.fp32_operations,
            rate: none(),
        }
    });
    let cases = counted.calls.iter().map(|(report, call)| {
        let kernels: Vec<Kernel> = call.kernels.iter().map(|k| kernel(k, &rates())).collect();
        Case {
            operation: call.operation,
            dims: call.dims.clone(),
            implementation: call.implementation.clone(),
            variant: call.variant.clone(),
            report: report.clone(),
            totals: totals(&kernels),
            position: kernels[0].position.clone(),
            bound: kernels[0].bound.clone(),
            kernels,
        }
    });
    derive(Counters {
        experiment_id: format!("{}-comparison", session.experiment),
        schema_version: SCHEMA_VERSION.into(),
        backend: "Nsight Compute".into(),
        timing: "duration of each kernel of one call under Nsight Compute, kernels serialised; to relate counters to each other, not a kernel time".into(),
        conditions: "one call after warm-up; kernel replay, in which each pass finds the caches as the pass before and the restored output left them (hot); clocks and caches not controlled".into(),
        provenance: Provenance {
            namespace: session.namespace.clone(),
            experiment: session.experiment.clone(),
            experiment_sha256: session.experiment_sha256.clone(),
            started: session.started.clone(),
            finished: session.finished.clone(),
            profiler: session.profiler.clone(),
            command: session.command.clone(),
            warmup: session.warmup,
            unproved: session.unproved.clone(),
            tree: session.build.tree.clone(),
            target_sha256: session.target_sha256.clone(),
            binary_sha256: session.build.binary_sha256.clone(),
            objects_sha256: session.objects_sha256.clone(),
            artifacts_sha256: counted.sha256.clone(),
        },
        device: session.device.clone(),
        limits: Limits {
            measured: rates(),
            theoretical: rates(),
            probes: probes.collect(),
        },
        cases: cases.collect(),
    })
}

/// A counter of a launch.
fn reading(launch: &Launch, name: &str) -> Reading {
    match launch.metrics.get(name) {
        Some(Metric::Read { value, .. }) if is_no_rate(name, *value) => {
            Reading::absent(format!("passes over the launch disagree: {value}%"))
        }
        Some(Metric::Read { value, .. }) => Reading::Value(*value),
        Some(Metric::Absent { absent }) => Reading::absent(absent),
        None => Reading::absent("it was not asked for"),
    }
}

/// Whether this is a hit rate that cannot be one: its parts come from different passes over the same launch.
fn is_no_rate(name: &str, value: f64) -> bool {
    [metrics::L1_HITS, metrics::L2_HITS].contains(&name) && value > MAX_PERCENT
}

/// Stall reasons as shares of all that were read.
fn stall_shares(launch: &Launch) -> BTreeMap<String, Reading> {
    let read = |reason: &str| reading(launch, &metrics::stall(reason));
    let readings = metrics::STALLS.iter().map(|reason| read(reason).value());
    let sum = Reading::Value(readings.flatten().sum());
    let share = |reason: &&str| {
        let share = read(reason).over(&sum, "stalls were counted");
        ((*reason).to_owned(), share)
    };
    metrics::STALLS.iter().map(share).collect()
}

/// A launch with its counters by meaning; what is derived is derived later.
fn kernel(launch: &Launch, limits: &Rates) -> Kernel {
    let of = |name: &str| reading(launch, name);
    let duration_us = of(metrics::DURATION).value().unwrap_or(f64::NAN) / 1000.0;
    let memory = Memory {
        dram_read_bytes: of(metrics::DRAM_READ),
        dram_write_bytes: of(metrics::DRAM_WRITE),
        l2_bytes: of(metrics::L2_BYTES),
        shared_load_conflicts: of(metrics::LOAD_CONFLICTS),
        shared_store_conflicts: of(metrics::STORE_CONFLICTS),
    };
    let tensor = metrics::TENSOR.iter().map(|name| of(name));
    let instructions = Instructions {
        warp_instructions: of(metrics::INSTRUCTIONS),
        ffma: of(metrics::FFMA),
        fadd: of(metrics::FADD),
        fmul: of(metrics::FMUL),
        tensor_operations: tensor.fold(Reading::Value(0.0), |sum, of| sum.with(&of, |a, b| a + b)),
    };
    let blocks_by = metrics::BLOCKS_BY.iter();
    Kernel {
        kernel_name: launch.name.clone(),
        grid: launch.grid,
        block: launch.block,
        registers_per_thread: of(metrics::REGISTERS),
        shared_mem_bytes: of(metrics::STATIC_SHARED)
            .with(&of(metrics::DYNAMIC_SHARED), |a, b| a + b),
        duration_us,
        position: position(duration_us, &memory, &instructions, limits),
        memory,
        instructions,
        busy_percent: Busy {
            dram: of(metrics::DRAM_BUSY),
            l2: of(metrics::L2_BUSY),
            l1: of(metrics::L1_BUSY),
            shared: of(metrics::SHARED_BUSY),
            fp32: of(metrics::FP32_BUSY),
            tensor: of(metrics::TENSOR_BUSY),
            issue: of(metrics::ISSUE_BUSY),
        },
        hits: Hits {
            l1_percent: of(metrics::L1_HITS),
            l2_percent: of(metrics::L2_HITS),
        },
        occupancy: Occupancy {
            achieved_percent: of(metrics::OCCUPANCY),
            theoretical_percent: of(metrics::MOST_OCCUPANCY),
            waves: of(metrics::WAVES),
            blocks_by: blocks_by
                .map(|(resource, name)| ((*resource).to_owned(), of(name)))
                .collect(),
            limited_by: Vec::new(),
        },
        stall_shares: stall_shares(launch),
        bound: Bound {
            by: BoundBy::Unknown,
            level: Reading::absent("derived"),
            duration_share: 1.0,
            because: String::new(),
        },
    }
}
