//! What follows from counters: limits, totals of a call, roofline positions, bounds. Pure.

use super::{
    Bound, BoundBy, Busy, Case, Counters, Hits, Instructions, Kernel, Levels, Limit, Limits,
    Memory, Position, Probe, Rates, Reading, Totals,
};
use crate::artifact::Device;
use std::collections::BTreeMap;

/// The same evidence with everything that is derived made again.
#[must_use]
pub fn derive(mut counters: Counters) -> Counters {
    let probes = std::mem::take(&mut counters.limits.probes);
    counters.limits = limits(&counters.device, probes);
    let measured = &counters.limits.measured;
    for case in &mut counters.cases {
        for kernel in &mut case.kernels {
            let Kernel {
                duration_us,
                memory,
                instructions,
                ..
            } = &*kernel;
            kernel.position = position(*duration_us, memory, instructions, measured);
            kernel.occupancy.limited_by = fewest(&kernel.occupancy.blocks_by);
            kernel.bound = kernel_bound(kernel);
        }
        case.totals = totals(&case.kernels);
        let Totals {
            duration_us,
            memory,
            instructions,
            ..
        } = &case.totals;
        case.position = position(*duration_us, memory, instructions, measured);
        case.bound = bound_of(case);
    }
    counters
}

/// Measured limits are the largest rates of the probes; theoretical ones follow from the device's attributes.
pub fn limits(device: &Device, mut probes: Vec<Probe>) -> Limits {
    for probe in &mut probes {
        let amount = match probe.limit {
            Limit::Dram => &probe.dram_bytes,
            Limit::L2 => &probe.l2_bytes,
            Limit::Fp32 => &probe.fp32_operations,
        };
        probe.rate = a_second(amount, probe.duration_us);
    }
    let largest = |limit: Limit| {
        let rates = probes.iter().filter(|probe| probe.limit == limit);
        let none = Reading::absent("no probe of this limit was run");
        rates
            .map(|probe| &probe.rate)
            .fold(none, |most, rate| match (most.value(), rate.value()) {
                (Some(most), Some(rate)) => Reading::Value(most.max(rate)),
                (Some(_), None) => most,
                (None, _) => rate.clone(),
            })
    };
    Limits {
        measured: Rates {
            dram_bytes_per_s: largest(Limit::Dram),
            l2_bytes_per_s: largest(Limit::L2),
            fp32_operations_per_s: largest(Limit::Fp32),
        },
        theoretical: theoretical(device),
        probes,
    }
}

/// DRAM: two transfers a clock over the width of the bus. FP32: one fused multiply-add a lane and clock at the
/// largest clock. No attribute gives the width of L2.
fn theoretical(device: &Device) -> Rates {
    let attribute = |value: f64, what: &str| match value > 0.0 {
        true => Reading::Value(value),
        false => Reading::absent(format!("the device does not say its {what}")),
    };
    let memory = f64::from(device.max_memory_clock_mhz) * 1e6 * 2.0;
    let bus = f64::from(device.memory_bus_bits) / 8.0;
    let clock = f64::from(device.max_sm_clock_mhz) * 1e6;
    let fp32 = match lanes(&device.compute_capability) {
        Some(lanes) => attribute(
            f64::from(device.multiprocessors) * f64::from(lanes) * 2.0 * clock,
            "clock",
        ),
        None => Reading::absent(format!(
            "FP32 lanes of compute capability {} are not known",
            device.compute_capability
        )),
    };
    Rates {
        dram_bytes_per_s: attribute(memory * bus, "memory clock and bus width"),
        l2_bytes_per_s: Reading::absent("no attribute of the device gives it"),
        fp32_operations_per_s: fp32,
    }
}

/// FP32 lanes of a multiprocessor (CUDA C++ Programming Guide, throughput of native arithmetic instructions).
fn lanes(capability: &str) -> Option<u32> {
    match capability {
        "8.0" => Some(64),
        "8.6" | "8.7" | "8.9" | "9.0" | "10.0" | "10.3" | "12.0" | "12.1" => Some(128),
        _ => None,
    }
}

fn a_second(amount: &Reading, duration_us: f64) -> Reading {
    amount.map(|amount| amount / (duration_us * 1e-6))
}

/// Where something of this duration stands against measured limits.
pub fn position(
    duration_us: f64,
    memory: &Memory,
    instructions: &Instructions,
    measured: &Rates,
) -> Position {
    let single = instructions.fadd.with(&instructions.fmul, |a, b| a + b);
    let fp32_operations = instructions
        .ffma
        .with(&single, |fma, rest| 2.0 * fma + rest);
    let dram_bytes = memory
        .dram_read_bytes
        .with(&memory.dram_write_bytes, |a, b| a + b);
    let dram_intensity = fp32_operations.over(&dram_bytes, "DRAM bytes");
    let fp32_operations_per_s = a_second(&fp32_operations, duration_us);
    let dram_bytes_per_s = a_second(&dram_bytes, duration_us);
    let l2_bytes_per_s = a_second(&memory.l2_bytes, duration_us);
    let slope = dram_intensity.with(&measured.dram_bytes_per_s, |a, b| a * b);
    Position {
        l2_intensity: fp32_operations.over(&memory.l2_bytes, "bytes through L2"),
        fp32_share: fp32_operations_per_s.over(&measured.fp32_operations_per_s, "FP32 limit"),
        dram_share: dram_bytes_per_s.over(&measured.dram_bytes_per_s, "DRAM limit"),
        l2_share: l2_bytes_per_s.over(&measured.l2_bytes_per_s, "L2 limit"),
        roof_operations_per_s: slope.with(&measured.fp32_operations_per_s, f64::min),
        fp32_operations,
        dram_bytes,
        dram_intensity,
        fp32_operations_per_s,
        dram_bytes_per_s,
        l2_bytes_per_s,
    }
}

/// The resources that allow fewest blocks, of those that are known.
fn fewest(blocks_by: &BTreeMap<String, Reading>) -> Vec<String> {
    let known = blocks_by
        .iter()
        .filter_map(|(name, blocks)| Some((name, blocks.value()?)));
    let least = known.clone().map(|(_, n)| n).fold(f64::INFINITY, f64::min);
    known
        .filter(|(_, blocks)| *blocks == least)
        .map(|(name, _)| name.clone())
        .collect()
}

/// What bounds a kernel, by its counters and its position.
pub fn kernel_bound(kernel: &Kernel) -> Bound {
    let Busy {
        dram,
        l2,
        l1,
        shared,
        fp32,
        tensor,
        issue,
    } = &kernel.busy_percent;
    let share = |percent: &Reading| percent.map(|percent| percent / 100.0);
    let larger = |percent: &Reading, rate: &Reading| match (share(percent), rate.value()) {
        (Reading::Value(a), Some(b)) => Reading::Value(a.max(b)),
        (Reading::Absent { .. }, Some(b)) => Reading::Value(b),
        (percent, None) => percent,
    };
    let stalls = kernel
        .stall_shares
        .iter()
        .filter(|(reason, _)| reason.as_str() != "selected")
        .filter_map(|(reason, share)| Some((reason.clone(), share.value()?)));
    Levels {
        dram: larger(dram, &kernel.position.dram_share),
        l2: larger(l2, &kernel.position.l2_share),
        l1: share(l1),
        fp32: larger(fp32, &kernel.position.fp32_share),
        tensor: share(tensor),
        issue: share(issue),
        shared: share(shared),
        waves: kernel.occupancy.waves.clone(),
        occupancy: share(&kernel.occupancy.achieved_percent),
        stall: stalls.max_by(|a, b| a.1.total_cmp(&b.1)),
    }
    .bound()
}

/// What bounds a call: what bounds most of its duration, and of equals the first in the order of [`BoundBy`].
pub fn bound_of(case: &Case) -> Bound {
    let total: f64 = case.kernels.iter().map(|kernel| kernel.duration_us).sum();
    let mut durations: BTreeMap<BoundBy, f64> = BTreeMap::new();
    for kernel in &case.kernels {
        *durations.entry(kernel.bound.by).or_default() += kernel.duration_us;
    }
    let most = durations
        .iter()
        .fold((BoundBy::Unknown, 0.0), |best, (by, us)| {
            match *us > best.1 {
                true => (*by, *us),
                false => best,
            }
        });
    let of_it = case
        .kernels
        .iter()
        .filter(|kernel| kernel.bound.by == most.0);
    let longest = of_it.max_by(|a, b| a.duration_us.total_cmp(&b.duration_us));
    Bound {
        by: most.0,
        level: longest.map_or_else(
            || Reading::absent("no kernel"),
            |kernel| kernel.bound.level.clone(),
        ),
        duration_share: most.1 / total,
        because: match (longest, case.kernels.len()) {
            (Some(kernel), 1) => kernel.bound.because.clone(),
            (Some(kernel), _) => {
                // The name alone: template arguments and parameters can be lines long.
                let name = kernel
                    .kernel_name
                    .split(['<', '('])
                    .next()
                    .unwrap_or_default();
                format!(
                    "{}: {}",
                    name.trim_start_matches("void "),
                    kernel.bound.because
                )
            }
            (None, _) => String::new(),
        },
    }
}

/// A call: counts added up, percentages and shares weighted by duration.
pub fn totals(kernels: &[Kernel]) -> Totals {
    let duration_us: f64 = kernels.iter().map(|kernel| kernel.duration_us).sum();
    let sum = |field: fn(&Kernel) -> &Reading| {
        kernels.iter().fold(Reading::Value(0.0), |sum, kernel| {
            sum.with(field(kernel), |a, b| a + b)
        })
    };
    let weighted = |field: &dyn Fn(&Kernel) -> Reading| {
        let zero = Reading::Value(0.0);
        let add = |sum: Reading, kernel: &Kernel| {
            sum.with(&field(kernel), |a, b| a + b * kernel.duration_us)
        };
        kernels.iter().fold(zero, add).map(|sum| sum / duration_us)
    };
    let mean = |field: fn(&Kernel) -> &Reading| weighted(&|kernel| field(kernel).clone());
    let reasons = kernels.iter().flat_map(|kernel| kernel.stall_shares.keys());
    let stall = |reason: &String| {
        weighted(&|kernel| {
            let share = kernel.stall_shares.get(reason).cloned();
            share.unwrap_or_else(|| Reading::absent("not read of every kernel"))
        })
    };
    Totals {
        duration_us,
        memory: Memory {
            dram_read_bytes: sum(|k| &k.memory.dram_read_bytes),
            dram_write_bytes: sum(|k| &k.memory.dram_write_bytes),
            l2_bytes: sum(|k| &k.memory.l2_bytes),
            shared_load_conflicts: sum(|k| &k.memory.shared_load_conflicts),
            shared_store_conflicts: sum(|k| &k.memory.shared_store_conflicts),
        },
        instructions: Instructions {
            warp_instructions: sum(|k| &k.instructions.warp_instructions),
            ffma: sum(|k| &k.instructions.ffma),
            fadd: sum(|k| &k.instructions.fadd),
            fmul: sum(|k| &k.instructions.fmul),
            tensor_operations: sum(|k| &k.instructions.tensor_operations),
        },
        busy_percent: Busy {
            dram: mean(|k| &k.busy_percent.dram),
            l2: mean(|k| &k.busy_percent.l2),
            l1: mean(|k| &k.busy_percent.l1),
            shared: mean(|k| &k.busy_percent.shared),
            fp32: mean(|k| &k.busy_percent.fp32),
            tensor: mean(|k| &k.busy_percent.tensor),
            issue: mean(|k| &k.busy_percent.issue),
        },
        hits: Hits {
            l1_percent: mean(|k| &k.hits.l1_percent),
            l2_percent: mean(|k| &k.hits.l2_percent),
        },
        achieved_occupancy_percent: mean(|k| &k.occupancy.achieved_percent),
        theoretical_occupancy_percent: mean(|k| &k.occupancy.theoretical_percent),
        stall_shares: reasons
            .map(|reason| (reason.clone(), stall(reason)))
            .collect(),
    }
}
