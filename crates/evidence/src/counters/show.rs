//! What bounds each case, as the page that is committed.

use super::{BOUND_SHARE, Case, Counters, Kernel, Limit, Rates, Reading};
use crate::implementation;
use crate::table::{Align, Table};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What stands in a cell for a number that could not be read; the reasons follow the tables.
const ABSENT: &str = "absent";

impl Counters {
    /// A page: what bounds each case, the limits, the kernels, the rule.
    pub fn markdown(&self) -> String {
        let Self {
            provenance, device, ..
        } = self;
        let mut out = format!(
            "# What bounds the cases of {}\n\nHardware counters of {}, read at {} with {} ({}). Made from `{}` by `cargo xtask figures`.\n\n",
            provenance.namespace,
            device.name,
            provenance.started,
            self.backend,
            provenance.profiler,
            super::FILE,
        );
        out += "The counters are of a session of their own, apart from the samples and the captures of this \
            namespace.\nShares and ratios say what bounds a kernel; no time here is a kernel time.\n\n";
        out += &self.cases_table();
        let _ = write!(
            out,
            "\nShares are of the limits measured below, in percent; a copy or a kernel that finds its data in a cache can \
            exceed\none. L1 is its data stage, which serves shared memory too. Occupancy is achieved of theoretical, with what \
            limits it.\nThe stall reason is the largest beside issuing itself. Parts of a percentage are read in different passes, so that a hit rate\ncan exceed 100; one above {} is not given. Reads alone can exceed the limit of L2, which copies gave. DRAM bytes \
            depend\non what the caches hold when the profiler repeats a launch, which nothing makes the same in all implementations: they,\n\
            and what is made of them, are not to be compared between these.\n\n## Limits\n\n",
            super::MAX_PERCENT
        );
        out += &self.limits_table();
        let _ = write!(
            out,
            "\nMeasured: the best rate of {} launches of this project's own kernels, by the same counters and durations. DRAM: \
             copies\nof eight times what L2 holds. L2: copies that stay in it. FP32: multiply-adds on registers; one counts as \
             two\noperations. Theoretical: {} MHz memory clock, two transfers a clock, {} bits; {} multiprocessors, {} MHz.\n\n",
            self.limits.probes.len(),
            device.max_memory_clock_mhz,
            device.memory_bus_bits,
            device.multiprocessors,
            device.max_sm_clock_mhz
        );
        let _ = write!(
            out,
            "## The rule\n\nEach resource has a level: the share of its capacity that was used, by percent of peak or by rate \
             against the measured\nlimit, whichever is larger. The resource of the highest level bounds a kernel where that level \
             is at least {:.0}%. Below\nthat, a grid that does not fill the device once is bound by the size of the launch, and any \
             other kernel by latency or\noccupancy: its warps wait. A call is bound by what bounds most of its duration. Where a \
             level that could change this\nis not known, nothing is named.\n\n## Kernels\n\n",
            BOUND_SHARE * 100.0
        );
        out += &self.kernels_table();
        let _ = write!(
            out,
            "\n## Conditions\n\n- {}.\n- Duration: {}.\n",
            self.conditions, self.timing
        );
        let unproved = &self.provenance.unproved;
        if !unproved.is_empty() {
            let _ = writeln!(
                out,
                "- Not held against captures, for want of one, so that other kernels may have run: {}.",
                unproved.join(", ")
            );
        }
        let absent = self.absent();
        if !absent.is_empty() {
            out += "\n## Absent\n\n";
        }
        for (reason, count) in absent {
            let numbers = if count == 1 { "number" } else { "numbers" };
            let _ = writeln!(out, "- {count} {numbers}: {reason}");
        }
        out + crate::ALL_RESULTS
    }

    fn cases_table(&self) -> String {
        let mut table = Table::new(&[
            ("operation", Align::Left),
            ("implementation", Align::Left),
            ("bound by", Align::Left),
            ("DRAM", Align::Right),
            ("L2", Align::Right),
            ("FP32", Align::Right),
            ("L1", Align::Right),
            ("tensor", Align::Right),
            ("issue", Align::Right),
            ("occupancy", Align::Left),
            ("stall", Align::Left),
            ("DRAM bytes", Align::Right),
            ("FP32 a byte", Align::Right),
        ]);
        let mut last = None;
        for case in &self.cases {
            let operation = match last.replace(case.operation) == Some(case.operation) {
                true => String::new(),
                false => case.operation.label().to_owned(),
            };
            let Case {
                totals, position, ..
            } = case;
            table.push(vec![
                operation,
                implementation::label(&case.implementation).to_owned(),
                bound(case),
                share(&position.dram_share),
                share(&position.l2_share),
                share(&position.fp32_share),
                percent(&totals.busy_percent.l1),
                percent(&totals.busy_percent.tensor),
                percent(&totals.busy_percent.issue),
                occupancy(case),
                stall(&totals.stall_shares),
                amount(&position.dram_bytes),
                significant(&position.dram_intensity),
            ]);
        }
        table.markdown()
    }

    fn limits_table(&self) -> String {
        let mut table = Table::new(&[
            ("limit", Align::Left),
            ("measured", Align::Right),
            ("theoretical", Align::Right),
            ("best probe", Align::Left),
        ]);
        type Rate = fn(&Rates) -> &Reading;
        let rows: [(&str, Limit, &str, Rate); 3] = [
            ("DRAM", Limit::Dram, "GB/s", |r| &r.dram_bytes_per_s),
            ("L2", Limit::L2, "GB/s", |r| &r.l2_bytes_per_s),
            ("FP32", Limit::Fp32, "GFLOP/s", |r| &r.fp32_operations_per_s),
        ];
        for (name, limit, unit, rate) in rows {
            let probes = self.limits.probes.iter().filter(|p| p.limit == limit);
            let best = probes.max_by(|a, b| {
                let rate = |reading: &Reading| reading.value().unwrap_or(0.0);
                rate(&a.rate).total_cmp(&rate(&b.rate))
            });
            let giga = |reading: &Reading| match reading.value() {
                Some(value) => format!("{:.0} {unit}", value / 1e9),
                None => ABSENT.to_owned(),
            };
            let best = best.map(|probe| format!("{} at {:?}", probe.variant, probe.dims));
            table.push(vec![
                name.to_owned(),
                giga(rate(&self.limits.measured)),
                giga(rate(&self.limits.theoretical)),
                best.unwrap_or_default(),
            ]);
        }
        table.markdown()
    }

    fn kernels_table(&self) -> String {
        let mut table = Table::new(&[
            ("case", Align::Left),
            ("kernel", Align::Left),
            ("share", Align::Right),
            ("because", Align::Left),
            ("waves", Align::Right),
            ("registers", Align::Right),
            ("L1 hits", Align::Right),
            ("L2 hits", Align::Right),
            ("bank conflicts", Align::Right),
        ]);
        for case in &self.cases {
            for kernel in &case.kernels {
                let Kernel {
                    hits,
                    memory,
                    occupancy,
                    ..
                } = kernel;
                let conflicts = memory
                    .shared_load_conflicts
                    .with(&memory.shared_store_conflicts, |a, b| a + b);
                let label = implementation::label(&case.implementation);
                table.push(vec![
                    format!("{} {label}", case.operation),
                    format!("`{}`", short(&kernel.kernel_name)),
                    format!(
                        "{:.0}%",
                        100.0 * kernel.duration_us / case.totals.duration_us
                    ),
                    kernel.bound.because.clone(),
                    significant(&occupancy.waves),
                    whole(&kernel.registers_per_thread),
                    percent(&hits.l1_percent),
                    percent(&hits.l2_percent),
                    whole(&conflicts),
                ]);
            }
        }
        table.markdown()
    }

    /// Reasons for which numbers of kernels are absent, and how many each.
    fn absent(&self) -> BTreeMap<String, usize> {
        let mut reasons = BTreeMap::new();
        for kernel in self.cases.iter().flat_map(|case| &case.kernels) {
            if let Ok(value) = serde_json::to_value(kernel) {
                collect(&value, &mut reasons);
            }
        }
        reasons
    }
}

fn collect(value: &serde_json::Value, reasons: &mut BTreeMap<String, usize>) {
    if let Some(reason) = value.get("absent").and_then(|reason| reason.as_str()) {
        *reasons.entry(reason.to_owned()).or_default() += 1;
        return;
    }
    match value {
        serde_json::Value::Object(fields) => fields.values().for_each(|f| collect(f, reasons)),
        serde_json::Value::Array(items) => items.iter().for_each(|i| collect(i, reasons)),
        _ => {}
    }
}

/// What bounds a call; with its share of the time where that is not all of it.
fn bound(case: &Case) -> String {
    let bound = &case.bound;
    match bound.duration_share < 0.995 {
        true => format!(
            "{} ({:.0}% of the time)",
            bound.by,
            bound.duration_share * 100.0
        ),
        false => bound.by.to_string(),
    }
}

/// `41 of 50, registers`: by the kernel that takes longest.
fn occupancy(case: &Case) -> String {
    let totals = &case.totals;
    let longest = case
        .kernels
        .iter()
        .max_by(|a, b| a.duration_us.total_cmp(&b.duration_us));
    let by = longest.map_or_else(String::new, |k| k.occupancy.limited_by.join(", "));
    let by = by.replace('_', " ");
    format!(
        "{} of {}, {by}",
        percent(&totals.achieved_occupancy_percent),
        percent(&totals.theoretical_occupancy_percent)
    )
}

fn stall(shares: &BTreeMap<String, Reading>) -> String {
    let known = shares
        .iter()
        .filter(|(reason, _)| reason.as_str() != "selected")
        .filter_map(|(reason, share)| Some((reason, share.value()?)));
    match known.max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((reason, share)) => {
            format!("{} {:.0}%", reason.replace('_', " "), share * 100.0)
        }
        None => ABSENT.to_owned(),
    }
}

fn share(reading: &Reading) -> String {
    percent(&reading.map(|share| share * 100.0))
}

fn percent(reading: &Reading) -> String {
    shown(reading, |percent| format!("{percent:.0}"))
}

fn whole(reading: &Reading) -> String {
    shown(reading, |number| format!("{number:.0}"))
}

/// Three digits.
fn significant(reading: &Reading) -> String {
    shown(reading, |number| match number {
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n => format!("{n:.2}"),
    })
}

/// Bytes, in the unit that leaves one to three digits before the point.
fn amount(bytes: &Reading) -> String {
    shown(bytes, |bytes| match bytes {
        b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kB", b / 1e3),
        b => format!("{b:.0} B"),
    })
}

fn shown(reading: &Reading, show: impl FnOnce(f64) -> String) -> String {
    reading.value().map_or_else(|| ABSENT.to_owned(), show)
}

/// A kernel's name without its parameters, cut where it is long.
fn short(name: &str) -> String {
    const LONGEST: usize = 60;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
