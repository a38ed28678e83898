//! The ladder's numbers, computed a second time from the captures, and what it says of itself.

use super::files::{Read, walk};
use super::numbers::{Check, items, mean};
use super::provenance::names_a_place;
use super::{Kind, Places, Proved, Report, sources};
use mage_evidence::artifact::Device;
use mage_evidence::ladder::{Ladder, raw};
use mage_evidence::stats::student_t;
use mage_evidence::store;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Ratios are published to six decimals.
const ROUNDED: f64 = 1.000_001e-6;

/// The ladder's records agree with each other and with those of the run.
pub fn provenance(
    root: &Path,
    places: &Places,
    device: &Device,
    proved: &mut Proved,
    report: &mut Report,
) -> anyhow::Result<()> {
    let file = &places.ladder_file;
    if !root.join(file).exists() {
        return Ok(());
    }
    let ladder: Ladder = store::read_json(&root.join(file))?;
    if let Err(invalid) = ladder.check() {
        report.add(Kind::Inconsistent, file, invalid.to_string());
    }
    let artifact = places.ladder.join("ladder.json");
    let run: raw::Run = store::read_json(&root.join(&artifact))?;
    let build = &run.build;
    sources::check(
        root,
        &artifact,
        &build.source_sha256,
        &build.tree,
        proved,
        report,
    );
    if let Err(invalid) = ladder.provenance.device.is_as_that_of_run(device) {
        report.add(Kind::Inconsistent, file, format!("provenance.{invalid}"));
    }
    let mut check = |file: &Path, words: &[String]| {
        if let Some(word) = words.iter().find(|word| names_a_place(word)) {
            let text = format!("commands: found {word:?}, expected no path outside the tree");
            report.add(Kind::Path, file, text);
        }
    };
    check(file, &ladder.provenance.command);
    for (path, _) in walk(root, &places.ladder.join("captures"))? {
        let capture: raw::Capture = store::read_json(&root.join(&path))?;
        for words in &capture.commands {
            check(&path, words);
        }
    }
    Ok(())
}

/// Compares the ladder's evidence with its artifacts, number by number.
pub fn numbers(places: &Places, read: &Read, proved: &mut Proved, report: &mut Report) {
    let Some(ladder) = read.get(&places.ladder_file) else {
        return;
    };
    let mut check = Check::new(&places.ladder_file);
    if let Some(run) = read.get(&places.ladder.join("ladder.json")) {
        for field in ["captures", "iterations", "warmup"] {
            check.same(field, &ladder[field], &run[field]);
        }
        let operations = items(&run["operations"]);
        check.count(
            "operations",
            items(&ladder["operations"]).len(),
            operations.len(),
        );
        let captures = run["captures"].as_u64().unwrap_or(0);
        for (i, operation) in items(&ladder["operations"]).iter().enumerate() {
            let name = operation["operation"].as_str().unwrap_or_default();
            let raw: Vec<&Value> = (1..=captures)
                .filter_map(|k| read.get(&places.ladder.join(format!("captures/{name}-{k}.json"))))
                .collect();
            if raw.len() == captures as usize {
                let place = format!("operations[{i}] ({name})");
                Operation::new(operation, &raw).check(&place, &mut check);
            }
        }
    }
    check.report(proved, report);
}

/// One operation of the evidence beside its captures.
struct Operation<'a> {
    published: &'a Value,
    raw: &'a [&'a Value],
    /// Times of each arm, a capture each.
    times: BTreeMap<&'a str, Vec<f64>>,
    /// Half the width that the same code's difference from itself gives, on the logarithm.
    floor: Option<f64>,
}

impl<'a> Operation<'a> {
    fn new(published: &'a Value, raw: &'a [&'a Value]) -> Self {
        let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for capture in raw {
            let calls = capture["iterations"].as_u64().unwrap_or(0) as f64;
            for (arm, launches) in capture["arms"].as_object().into_iter().flatten() {
                let durations = items(launches)
                    .iter()
                    .flat_map(|l| items(&l["durations_ns"]));
                let total: u64 = durations.filter_map(Value::as_u64).sum();
                times
                    .entry(arm)
                    .or_default()
                    .push(total as f64 / (calls * 1e3));
            }
        }
        times.retain(|_, times| times.len() == raw.len());
        let mut this = Self {
            published,
            raw,
            times,
            floor: None,
        };
        let own = published["variant"].as_str().unwrap_or_default();
        let again = format!("{own}.again");
        if let (Some(a), Some(b)) = (this.times.get(own), this.times.get(again.as_str())) {
            let (log, half) = ratio(a, b);
            this.floor = half.map(|half| log.abs() + half);
        }
        this
    }

    fn check(&self, place: &str, check: &mut Check<'_>) {
        let first = &self.raw[0]["answer"];
        check.same(
            &format!("{place}.dims"),
            &self.published["dims"],
            &first["dims"],
        );
        check.same(
            &format!("{place}.variant"),
            &self.published["variant"],
            &first["variant"],
        );
        let (steps, called) = (items(&self.published["steps"]), items(&first["steps"]));
        check.count(&format!("{place}.steps"), steps.len(), called.len());
        for (k, (step, called)) in steps.iter().zip(called).enumerate() {
            let id = called["variant"]["id"].as_str().unwrap_or_default();
            let place = format!("{place}.steps[{k}] ({id})");
            check.same(
                &format!("{place}.variant"),
                &step["variant"],
                &called["variant"],
            );
            self.step(&place, id, step, check);
        }
        let again = &self.published["again"];
        let (own, second) = (self.own(), format!("{}.again", self.own()));
        let both = self.times.get(own).zip(self.times.get(second.as_str()));
        if let Some((a, b)) = both.filter(|_| !again.is_null()) {
            self.captures(&format!("{place}.again"), again, b, check);
            let (log, _) = ratio(a, b);
            rounded(
                &format!("{place}.again.ratio"),
                &again["ratio"],
                log.exp(),
                check,
            );
            if let Some(floor) = self.floor {
                let percent = floor.exp_m1() * 100.0;
                rounded(
                    &format!("{place}.again.floor_percent"),
                    &again["floor_percent"],
                    percent,
                    check,
                );
            }
        }
    }

    fn own(&self) -> &'a str {
        self.published["variant"].as_str().unwrap_or_default()
    }

    /// One variant: its check, times and resources, and what is said of them.
    fn step(&self, place: &str, id: &str, step: &Value, check: &mut Check<'_>) {
        let field = |name: &str| format!("{place}.{name}");
        let called: Vec<&Value> = self
            .raw
            .iter()
            .flat_map(|capture| items(&capture["answer"]["steps"]))
            .filter(|called| called["variant"]["id"] == id)
            .collect();
        let failed = called.iter().find_map(|called| called.get("failed"));
        check.same(
            &field("failed"),
            &step["failed"],
            failed.unwrap_or(&Value::Null),
        );
        if failed.is_some() {
            check.same(&field("kernel_time"), &step["kernel_time"], &Value::Null);
            return;
        }
        if step["variant"]["status"] != "twin" {
            let fp64 = |called: &&Value, name: &str| {
                called["check"]["fp64"][name].as_f64().unwrap_or(f64::NAN)
            };
            for name in ["max_abs_error", "max_error_share"] {
                let worst = called
                    .iter()
                    .map(|c| fp64(c, name))
                    .fold(0.0f64, |worst, error| {
                        if error.is_nan() {
                            error
                        } else {
                            worst.max(error)
                        }
                    });
                check.number(&field(name), &step["check"]["fp64"][name], worst);
            }
            check.same(
                &field("check.checked_elements"),
                &step["check"]["checked_elements"],
                &called[0]["check"]["checked_elements"],
            );
            check.checks += called.len();
        }
        let Some(times) = self.times.get(id) else {
            check.count(&field("captures"), 0, self.raw.len());
            return;
        };
        let time = &step["kernel_time"];
        self.captures(&field("kernel_time"), time, times, check);
        check.number(&field("kernel_time.mean_us"), &time["mean_us"], mean(times));
        let (low, high) = times
            .iter()
            .fold((f64::MAX, 0.0f64), |(l, h), &t| (l.min(t), h.max(t)));
        check.number(&field("kernel_time.min_us"), &time["min_us"], low);
        check.number(&field("kernel_time.max_us"), &time["max_us"], high);
        let launches = items(&self.raw[0]["arms"][id]);
        let count = time["launches"].as_u64().unwrap_or(0) as usize;
        check.count(&field("kernel_time.launches"), count, launches.len());
        check.kernels += launches
            .iter()
            .map(|l| items(&l["durations_ns"]).len())
            .sum::<usize>()
            * self.raw.len();
        if let [launch] = launches {
            let product = |size: &Value| {
                items(size)
                    .iter()
                    .filter_map(Value::as_u64)
                    .product::<u64>()
            };
            let found = &step["resources"];
            for (name, expected) in [
                ("blocks", Value::from(product(&launch["grid"]))),
                ("threads", Value::from(product(&launch["block"]))),
                ("registers", launch["registers"].clone()),
                ("static_shared_bytes", launch["static_shared_bytes"].clone()),
                (
                    "dynamic_shared_bytes",
                    launch["dynamic_shared_bytes"].clone(),
                ),
            ] {
                check.same(
                    &field(&format!("resources.{name}")),
                    &found[name],
                    &expected,
                );
            }
        }
        self.to_parent(place, step, times, check);
        for (i, limit) in items(&step["limits"]).iter().enumerate() {
            let field = |name: &str| format!("{place}.limits[{i}].{name}");
            let Some(twin) = limit["twin"].as_str().and_then(|twin| self.times.get(twin)) else {
                check.wrong(
                    Kind::Inconsistent,
                    format!("{}: found one without a time", field("twin")),
                );
                continue;
            };
            let (log, half) = ratio(times, twin);
            rounded(&field("share"), &limit["share"], log.exp(), check);
            if let Some(half) = half {
                rounded(&field("low"), &limit["low"], (log - half).exp(), check);
                rounded(&field("high"), &limit["high"], (log + half).exp(), check);
            }
        }
    }

    fn captures(&self, place: &str, found: &Value, times: &[f64], check: &mut Check<'_>) {
        let published = items(&found["captures_us"]);
        check.count(
            &format!("{place}.captures_us"),
            published.len(),
            times.len(),
        );
        for (k, (found, time)) in published.iter().zip(times).enumerate() {
            check.number(&format!("{place}.captures_us[{k}]"), found, *time);
        }
    }

    fn to_parent(&self, place: &str, step: &Value, times: &[f64], check: &mut Check<'_>) {
        let field = |name: &str| format!("{place}.to_parent.{name}");
        let parent = step["variant"]["parent"].as_str();
        // A parent whose check failed in some capture has no time.
        let published = items(&self.published["steps"]);
        let timed = |id: &&str| {
            let known = published.iter().find(|step| step["variant"]["id"] == **id);
            known.is_some_and(|step| !step["kernel_time"].is_null())
        };
        let before = parent
            .filter(timed)
            .and_then(|parent| self.times.get(parent));
        let Some(before) = before else {
            check.same(
                &format!("{place}.to_parent"),
                &step["to_parent"],
                &Value::Null,
            );
            return;
        };
        let found = &step["to_parent"];
        let (log, own) = ratio(before, times);
        rounded(&field("ratio"), &found["ratio"], log.exp(), check);
        let verdict = match (own, self.floor) {
            (Some(own), Some(floor)) => {
                let half = own.max(floor);
                rounded(&field("low"), &found["low"], (log - half).exp(), check);
                rounded(&field("high"), &found["high"], (log + half).exp(), check);
                self.verdict(log, half)
            }
            _ => "inconclusive",
        };
        check.same(&field("verdict"), &found["verdict"], &Value::from(verdict));
    }

    fn verdict(&self, log: f64, half: f64) -> &'static str {
        let margin = mage_evidence::verdict::MARGIN.ln_1p();
        let throttled = !items(&self.published["throttled"]).is_empty();
        match (throttled, log.abs() + half <= margin, log.abs() > half) {
            (true, _, _) => "inconclusive",
            (_, true, _) => "equivalent",
            (_, _, true) if log < 0.0 => "faster",
            (_, _, true) => "slower",
            _ => "inconclusive",
        }
    }
}

/// The logarithm of B over A from values that belong together in pairs, and half of its interval's width.
fn ratio(a: &[f64], b: &[f64]) -> (f64, Option<f64>) {
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (b / a).ln()).collect();
    let n = logs.len() as f64;
    let middle = logs.iter().sum::<f64>() / n;
    let distinct: BTreeSet<u64> = a.iter().zip(b).map(|(a, b)| (b / a).to_bits()).collect();
    let squares: f64 = logs.iter().map(|log| (log - middle).powi(2)).sum();
    let half = match distinct.len() {
        1 => 0.0,
        _ => student_t(n - 1.0) * (squares / (n * (n - 1.0))).sqrt(),
    };
    (middle, (logs.len() >= 3).then_some(half))
}

/// A number that is published to six decimals.
fn rounded(field: &str, found: &Value, expected: f64, check: &mut Check<'_>) {
    check.within(field, found, expected, ROUNDED);
}
