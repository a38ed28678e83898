//! Counters, totals, rates, shares and limits, computed a second time from the raw files: plain JSON, arithmetic of
//! its own.

use super::files::Read;
use super::numbers::{Check, items};
use super::{Places, Proved, Report};
use serde_json::Value;

/// Counters by the field of a kernel that they are published in.
const FIELDS: [(&str, &str); 21] = [
    ("/memory/dram_read_bytes", "dram__bytes_read.sum"),
    ("/memory/dram_write_bytes", "dram__bytes_write.sum"),
    ("/memory/l2_bytes", "lts__t_bytes.sum"),
    (
        "/memory/shared_load_conflicts",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    ),
    (
        "/memory/shared_store_conflicts",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    ),
    ("/instructions/warp_instructions", "smsp__inst_executed.sum"),
    (
        "/instructions/ffma",
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    ),
    (
        "/instructions/fadd",
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    ),
    (
        "/instructions/fmul",
        "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    ),
    (
        "/busy_percent/dram",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "/busy_percent/l2",
        "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "/busy_percent/l1",
        "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "/busy_percent/shared",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "/busy_percent/fp32",
        "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "/busy_percent/tensor",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "/busy_percent/issue",
        "smsp__issue_active.avg.pct_of_peak_sustained_elapsed",
    ),
    ("/hits/l1_percent", "l1tex__t_sector_hit_rate.pct"),
    ("/hits/l2_percent", "lts__t_sector_hit_rate.pct"),
    (
        "/occupancy/achieved_percent",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
    ),
    (
        "/occupancy/theoretical_percent",
        "sm__maximum_warps_per_active_cycle_pct",
    ),
    ("/occupancy/waves", "launch__waves_per_multiprocessor"),
];

/// Compares the counters evidence with its artifacts, where a namespace has it.
pub fn check(places: &Places, read: &Read, proved: &mut Proved, report: &mut Report) {
    let Some(counters) = read.get(&places.counters_file) else {
        return;
    };
    let mut check = Check::new(&places.counters_file);
    if let Some(probes) = read.get(&places.counted.join("probes.json")) {
        limits(&mut check, counters, probes);
    }
    let calls = items(&counters["cases"]);
    let directory = places.counted.join("counters");
    let files = read
        .json
        .keys()
        .filter(|p| p.starts_with(&directory))
        .count();
    check.count("cases", calls.len(), files);
    for (i, case) in calls.iter().enumerate() {
        let name = case["report"].as_str().unwrap_or_default();
        if let Some(raw) = read.get(&places.counted.join(name)) {
            call(
                &mut check,
                &format!("cases[{i}]"),
                case,
                raw,
                &counters["limits"]["measured"],
            );
        }
    }
    check.report(proved, report);
}

/// The value of a counter; none where it is absent, or a hit rate that is none.
fn metric(launch: &Value, name: &str) -> Option<f64> {
    let value = launch["metrics"][name]["value"].as_f64()?;
    (value <= 150.0 || !name.ends_with("hit_rate.pct")).then_some(value)
}

fn microseconds(launch: &Value) -> f64 {
    metric(launch, "gpu__time_duration.sum").map_or(f64::NAN, |ns| ns * 1e-3)
}

fn dram_bytes(launch: &Value) -> Option<f64> {
    Some(metric(launch, "dram__bytes_read.sum")? + metric(launch, "dram__bytes_write.sum")?)
}

fn operations(launch: &Value) -> Option<f64> {
    let of = |op: &str| {
        metric(
            launch,
            &format!("smsp__sass_thread_inst_executed_op_{op}_pred_on.sum"),
        )
    };
    Some(of("fadd")? + of("fmul")? + 2.0 * of("ffma")?)
}

/// A reading that has to be this number, or absent where there is none.
fn reading(check: &mut Check<'_>, field: &str, found: &Value, expected: Option<f64>) {
    match expected {
        Some(expected) => check.number(field, found, expected),
        None => {
            let absent = found["absent"].is_string();
            check.same(field, &Value::from(absent), &Value::from(true));
        }
    }
}

fn limits(check: &mut Check<'_>, counters: &Value, raw: &Value) {
    let published = items(&counters["limits"]["probes"]);
    let raw = items(&raw["probes"]);
    check.count("limits.probes", published.len(), raw.len());
    let mut best: [(&str, &str, Option<f64>); 3] = [
        ("dram", "dram_bytes_per_s", None),
        ("l2", "l2_bytes_per_s", None),
        ("fp32", "fp32_operations_per_s", None),
    ];
    for (i, (probe, raw)) in published.iter().zip(raw).enumerate() {
        let field = |name: &str| format!("limits.probes[{i}].{name}");
        let launch = &raw["launch"];
        let us = microseconds(launch);
        check.number(&field("duration_us"), &probe["duration_us"], us);
        for name in ["limit", "variant", "dims"] {
            check.same(&field(name), &probe[name], &raw[name]);
        }
        let amounts = [
            ("dram", "dram_bytes", dram_bytes(launch)),
            ("l2", "l2_bytes", metric(launch, "lts__t_bytes.sum")),
            ("fp32", "fp32_operations", operations(launch)),
        ];
        for (limit, name, amount) in amounts {
            reading(check, &field(name), &probe[name], amount);
            if raw["limit"] != limit {
                continue;
            }
            let rate = amount.map(|amount| amount * 1e6 / us);
            reading(check, &field("rate"), &probe["rate"], rate);
            for (of, _, most) in &mut best {
                if *of == limit && rate > *most {
                    *most = rate;
                }
            }
        }
    }
    for (_, name, most) in best {
        let found = &counters["limits"]["measured"][name];
        reading(check, &format!("limits.measured.{name}"), found, most);
    }
    let device = |name: &str| counters["device"][name].as_f64().unwrap_or(f64::NAN);
    let peak = device("memory_bus_bits") * device("max_memory_clock_mhz") * 2e6 / 8.0;
    let found = &counters["limits"]["theoretical"]["dram_bytes_per_s"];
    if found.is_number() {
        check.number("limits.theoretical.dram_bytes_per_s", found, peak);
    }
}

fn call(check: &mut Check<'_>, place: &str, case: &Value, raw: &Value, limits: &Value) {
    for name in ["operation", "dims", "implementation", "variant"] {
        check.same(&format!("{place}.{name}"), &case[name], &raw[name]);
    }
    let (kernels, launches) = (items(&case["kernels"]), items(&raw["kernels"]));
    check.count(&format!("{place}.kernels"), kernels.len(), launches.len());
    for (i, (kernel, launch)) in kernels.iter().zip(launches).enumerate() {
        let place = format!("{place}.kernels[{i}]");
        check.same(
            &format!("{place}.kernel_name"),
            &kernel["kernel_name"],
            &launch["name"],
        );
        check.same(&format!("{place}.grid"), &kernel["grid"], &launch["grid"]);
        check.same(
            &format!("{place}.block"),
            &kernel["block"],
            &launch["block"],
        );
        check.number(
            &format!("{place}.duration_us"),
            &kernel["duration_us"],
            microseconds(launch),
        );
        for (pointer, name) in FIELDS {
            let found = kernel.pointer(pointer).unwrap_or(&Value::Null);
            let field = format!("{place}{}", pointer.replace('/', "."));
            reading(check, &field, found, metric(launch, name));
        }
        stalls(check, &place, kernel, launch);
    }
    // The call as a whole.
    let us: f64 = launches.iter().map(microseconds).sum();
    check.number(
        &format!("{place}.totals.duration_us"),
        &case["totals"]["duration_us"],
        us,
    );
    let sum = |of: &dyn Fn(&Value) -> Option<f64>| launches.iter().map(of).sum::<Option<f64>>();
    let weighted = |name: &str| {
        let of = |launch: &Value| Some(metric(launch, name)? * microseconds(launch));
        sum(&of).map(|sum| sum / us)
    };
    for (pointer, name) in FIELDS {
        let expected = match pointer.split('/').nth(1) {
            Some("memory" | "instructions") => sum(&|launch| metric(launch, name)),
            Some("busy_percent" | "hits") => weighted(name),
            _ => continue,
        };
        let found = case["totals"].pointer(pointer).unwrap_or(&Value::Null);
        let field = format!("{place}.totals{}", pointer.replace('/', "."));
        reading(check, &field, found, expected);
    }
    let position = &case["position"];
    let (dram, ops) = (sum(&dram_bytes), sum(&operations));
    let l2 = sum(&|launch| metric(launch, "lts__t_bytes.sum"));
    let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b.filter(|b| *b != 0.0)).map(|(a, b)| a / b);
    let rate = |amount: Option<f64>| amount.map(|amount| amount * 1e6 / us);
    let limit = |name: &str| limits[name].as_f64();
    let (dram_limit, fp32_limit) = (limit("dram_bytes_per_s"), limit("fp32_operations_per_s"));
    let slope = ratio(ops, dram).zip(dram_limit).map(|(a, b)| a * b);
    for (name, expected) in [
        ("fp32_operations", ops),
        ("dram_bytes", dram),
        ("dram_intensity", ratio(ops, dram)),
        ("l2_intensity", ratio(ops, l2)),
        ("fp32_operations_per_s", rate(ops)),
        ("dram_bytes_per_s", rate(dram)),
        ("l2_bytes_per_s", rate(l2)),
        ("fp32_share", ratio(rate(ops), fp32_limit)),
        ("dram_share", ratio(rate(dram), dram_limit)),
        ("l2_share", ratio(rate(l2), limit("l2_bytes_per_s"))),
        (
            "roof_operations_per_s",
            slope.zip(fp32_limit).map(|(a, b)| a.min(b)),
        ),
    ] {
        reading(
            check,
            &format!("{place}.position.{name}"),
            &position[name],
            expected,
        );
    }
}

/// Stall reasons as shares of those that were read.
fn stalls(check: &mut Check<'_>, place: &str, kernel: &Value, launch: &Value) {
    const BEFORE: &str = "smsp__average_warps_issue_stalled_";
    const AFTER: &str = "_per_issue_active.ratio";
    let metrics = launch["metrics"].as_object().into_iter().flatten();
    let of = metrics.filter_map(|(name, metric)| {
        let reason = name.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
        Some((reason, metric["value"].as_f64()))
    });
    let reasons: Vec<(&str, Option<f64>)> = of.collect();
    let all: f64 = reasons.iter().filter_map(|(_, value)| *value).sum();
    for (reason, value) in reasons {
        let expected = value.filter(|_| all > 0.0).map(|value| value / all);
        let field = format!("{place}.stall_shares.{reason}");
        reading(check, &field, &kernel["stall_shares"][reason], expected);
    }
}
