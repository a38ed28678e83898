//! Every published number, computed a second time from the raw files.
//!
//! Read as plain JSON, by its own arithmetic: an error of the exporter, or of the types that it shares with
//! the harness, does not repeat itself here. Sums are taken in whole nanoseconds or femtoseconds, so that
//! results may differ from the published ones in their last bits only.

use super::files::Read;
use super::{Kind, Places, Proved, Report};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Relative difference that rounding may leave.
const ROUNDING: f64 = 1e-9;
/// Findings of one file that are listed; the rest is counted.
const LISTED: usize = 5;

/// Compares evidence with artifacts, number by number. What is missing as a file has been reported.
pub fn check(places: &Places, read: &Read, proved: &mut Proved, report: &mut Report) {
    for (path, value) in &read.json {
        if let Some(field) = null(value, String::new()) {
            report.add(
                Kind::NotFinite,
                path,
                format!("{field}: found null, expected a finite number"),
            );
        }
    }
    if let Some(results) = read.get(&places.results_file) {
        let mut check = Check::new(&places.results_file);
        check.results(results, places, read);
        check.report(proved, report);
    }
    if let Some(profiles) = read.get(&places.profiles_file) {
        let mut check = Check::new(&places.profiles_file);
        check.profiles(profiles, places, read);
        check.report(proved, report);
    }
}

/// The first null, by its path.
fn null(value: &Value, path: String) -> Option<String> {
    match value {
        Value::Null => Some(path),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(i, item)| null(item, format!("{path}[{i}]"))),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(key, item)| null(item, format!("{path}.{key}"))),
        _ => None,
    }
}

/// The comparison of one evidence file.
pub(super) struct Check<'a> {
    file: &'a Path,
    wrong: Vec<(Kind, String)>,
    numbers: usize,
    /// Full-output checks that passed.
    pub(super) checks: usize,
    /// Captured kernels.
    pub(super) kernels: usize,
}

impl<'a> Check<'a> {
    pub(super) const fn new(file: &'a Path) -> Self {
        Self {
            file,
            wrong: Vec::new(),
            numbers: 0,
            checks: 0,
            kernels: 0,
        }
    }

    pub(super) fn report(self, proved: &mut Proved, report: &mut Report) {
        let more = self.wrong.len().saturating_sub(LISTED);
        for (i, (kind, text)) in self.wrong.into_iter().take(LISTED).enumerate() {
            let rest = match i + 1 == LISTED && more > 0 {
                true => format!("; and {more} more of this file"),
                false => String::new(),
            };
            report.add(kind, self.file, text + &rest);
        }
        proved.numbers += self.numbers;
        proved.checks += self.checks;
        proved.kernels += self.kernels;
    }

    /// Something that is wrong.
    pub(super) fn wrong(&mut self, kind: Kind, text: String) {
        self.wrong.push((kind, text));
    }

    /// Two values that have to be the same JSON.
    pub(super) fn same(&mut self, field: &str, found: &Value, expected: &Value) {
        self.numbers += 1;
        if found != expected {
            self.wrong.push((
                Kind::Number,
                format!("{field}: found {found}, expected {expected} from the artifacts"),
            ));
        }
    }

    /// A computed number.
    pub(super) fn number(&mut self, field: &str, found: &Value, expected: f64) {
        self.within(field, found, expected, ROUNDING * expected.abs());
    }

    /// A computed number that may differ by so much.
    pub(super) fn within(&mut self, field: &str, found: &Value, expected: f64, by: f64) {
        self.numbers += 1;
        let close = found.as_f64().is_some_and(|f| (f - expected).abs() <= by);
        if !close || !expected.is_finite() {
            self.wrong.push((
                Kind::Number,
                format!("{field}: found {found}, expected {expected}, computed from the artifacts"),
            ));
        }
    }

    pub(super) fn count(&mut self, field: &str, found: usize, expected: usize) {
        self.numbers += 1;
        if found != expected {
            self.wrong.push((
                Kind::Count,
                format!("{field}: found {found}, expected {expected}"),
            ));
        }
    }

    fn results(&mut self, results: &Value, places: &Places, read: &Read) {
        let Some(run) = read.get(&places.events.join("run.json")) else {
            return;
        };
        let protocol = &run["protocol"];
        self.same("rounds", &results["rounds"], &protocol["rounds"]);
        self.same(
            "iterations_per_round",
            &results["iterations_per_round"],
            &protocol["iterations"],
        );
        self.same(
            "warmup_per_round",
            &results["warmup_per_round"],
            &protocol["warmup"],
        );
        let operations = items(&results["results"]);
        self.count("results", operations.len(), items(&run["operations"]).len());
        let mut checks = 0;
        let mut absent = 0;
        for (i, operation) in operations.iter().enumerate() {
            let name = operation["op"].as_str().unwrap_or_default();
            let path = places.events.join(format!("samples/{name}.json"));
            let Some(samples) = read.get(&path) else {
                continue;
            };
            let place = format!("results[{i}] ({name})");
            self.same(
                &format!("{place}.dims"),
                &operation["dims"],
                &samples["dims"],
            );
            self.same(
                &format!("{place}.input_hashes.sha256"),
                &operation["input_hashes"]["sha256"],
                &samples["input_sha256"],
            );
            let reasons = or_empty(&samples["unavailable"]);
            absent += reasons.as_object().map_or(0, serde_json::Map::len);
            let field = format!("{place}.unavailable");
            self.same(&field, &or_empty(&operation["unavailable"]), &reasons);
            self.choices(&place, operation, samples);
            checks += self.rounds(&place, operation, samples, run);
        }
        let implementations = items(&run["implementations"]).len();
        let rounds = protocol["rounds"].as_u64().unwrap_or(0) as usize;
        let expected = (operations.len() * implementations).saturating_sub(absent) * rounds;
        self.count("full-output checks that passed", checks, expected);
        self.checks += checks;
    }

    /// What was chosen, and how many candidates the artifact counts.
    fn choices(&mut self, place: &str, operation: &Value, samples: &Value) {
        let (shown, raw) = (
            or_empty(&operation["choices"]),
            or_empty(&samples["choices"]),
        );
        let names = |value: &Value| -> Vec<String> {
            let fields = value.as_object();
            fields.iter().flat_map(|f| f.keys().cloned()).collect()
        };
        let field = format!("{place}.choices");
        self.same(&field, &names(&shown).into(), &names(&raw).into());
        for name in names(&raw) {
            let (shown, raw) = (&shown[&name], &raw[&name]);
            let field = |of: &str| format!("{field}.{name}.{of}");
            for same in ["config", "how"] {
                self.same(&field(same), &shown[same], &raw[same]);
            }
            let candidates = items(&raw["candidates"]);
            let passing = candidates.iter().filter(|c| c["outcome"] == "passes");
            for (of, count) in [
                ("candidates", candidates.len()),
                ("passing", passing.count()),
            ] {
                let found = shown[of].as_u64().unwrap_or(0) as usize;
                self.count(&field(of), found, count);
            }
        }
    }

    /// The rounds of one operation; how many of its checks passed.
    fn rounds(&mut self, place: &str, operation: &Value, samples: &Value, run: &Value) -> usize {
        let (published, raw) = (items(&operation["rounds"]), items(&samples["rounds"]));
        self.count(&format!("{place}.rounds"), published.len(), raw.len());
        let mut passed = 0;
        for (k, (published, raw)) in published.iter().zip(raw).enumerate() {
            let place = format!("{place}.rounds[{k}]");
            self.count(
                &format!("{place}.index"),
                published["index"].as_u64().unwrap_or(0) as usize,
                k + 1,
            );
            let measured = raw["implementations"].as_object();
            let names: Vec<&String> = measured.iter().flat_map(|m| m.keys()).collect();
            let order: Vec<&str> = items(&published["order"])
                .iter()
                .filter_map(Value::as_str)
                .collect();
            if order != names {
                self.wrong.push((
                    Kind::Inconsistent,
                    format!("{place}.order: found {order:?}, expected {names:?} as measured"),
                ));
            }
            let cases = published["implementations"].as_object();
            self.count(
                &format!("{place}.implementations"),
                cases.map_or(0, serde_json::Map::len),
                names.len(),
            );
            for name in names {
                let case = &published["implementations"][name];
                let raw = &raw["implementations"][name];
                passed += usize::from(self.case(&format!("{place}.{name}"), case, raw, run));
            }
        }
        passed
    }

    /// One implementation in one round; whether its check passed.
    fn case(&mut self, place: &str, case: &Value, raw: &Value, run: &Value) -> bool {
        let field = |name: &str| format!("{place}.{name}");
        self.same(
            &field("samples_us"),
            &case["samples_us"],
            &raw["samples_us"],
        );
        let samples = numbers(&raw["samples_us"]);
        let expected = run["protocol"]["iterations"].as_u64().unwrap_or(0) as usize;
        self.count(&field("samples_us"), samples.len(), expected);
        self.count(
            &field("iterations"),
            case["iterations"].as_u64().unwrap_or(0) as usize,
            samples.len(),
        );
        self.same(&field("warmup"), &case["warmup"], &raw["warmup"]);
        if let Some(i) = samples.iter().position(|s| !(s.is_finite() && *s > 0.0)) {
            self.wrong.push((
                Kind::NotFinite,
                format!(
                    "{}: found {}, expected a finite time above 0",
                    field(&format!("samples_us[{i}]")),
                    samples[i]
                ),
            ));
        }
        self.number(
            &field("event_mean_us"),
            &case["event_mean_us"],
            mean(&samples),
        );
        self.number(
            &field("event_median_us"),
            &case["event_median_us"],
            median(samples),
        );
        let (shown, check) = (&case["correctness"], &raw["check"]);
        self.same(
            &field("correctness.checked_elements"),
            &shown["checked_elements"],
            &check["checked_elements"],
        );
        // Against PyTorch's output; where PyTorch took no part, against the FP64 reference.
        let (record, fp64) = (check.get("record"), &check["fp64"]);
        self.same(
            &field("correctness.max_abs_error"),
            &shown["max_abs_error"],
            &record.unwrap_or(fp64)["max_abs_error"],
        );
        self.same(
            &field("correctness.max_abs_error_fp64"),
            &shown["max_abs_error_fp64"],
            &fp64["max_abs_error"],
        );
        let share = |agreement: &Value| agreement["max_error_share"].as_f64().unwrap_or(f64::NAN);
        let shares = record.into_iter().chain([fp64]).map(share);
        let worst = shares.fold(0.0f64, |worst, share| match share.is_nan() {
            true => f64::NAN,
            false => worst.max(share),
        });
        self.number(
            &field("correctness.max_error_share"),
            &shown["max_error_share"],
            worst,
        );
        self.same(
            &field("correctness.passed"),
            &shown["passed"],
            &Value::from(worst <= 1.0),
        );
        for bound in ["rtol", "atol"] {
            self.same(
                &field(&format!("correctness.{bound}")),
                &shown[bound],
                &run["tolerance"][bound],
            );
        }
        shown["passed"] == Value::Bool(true)
    }

    fn profiles(&mut self, profiles: &Value, places: &Places, read: &Read) {
        let Some(profile) = read.get(&places.captures.join("profile.json")) else {
            return;
        };
        let captures = items(&profiles["captures"]);
        let mut cases = BTreeSet::new();
        for (i, capture) in captures.iter().enumerate() {
            let id = capture["session_id"].as_str().unwrap_or_default();
            cases.insert((
                capture["operation"].to_string(),
                capture["language"].to_string(),
            ));
            let path = places.captures.join(format!("captures/{id}.json"));
            if let Some(raw) = read.get(&path) {
                self.capture(&format!("captures[{i}] ({id})"), capture, raw, profile);
            }
        }
        let each = profile["captures"].as_u64().unwrap_or(0) as usize;
        self.count("captures", captures.len(), cases.len() * each);
        if let Some(run) = read.get(&places.events.join("run.json")) {
            let operations = items(&run["operations"]);
            let absent: usize = operations
                .iter()
                .filter_map(|op| {
                    let path = format!("samples/{}.json", op.as_str()?);
                    let reasons = &read.get(&places.events.join(path))?["unavailable"];
                    Some(reasons.as_object()?.len())
                })
                .sum();
            let all = operations.len() * items(&run["implementations"]).len();
            let expected = all.saturating_sub(absent);
            self.count("cases with captures", cases.len(), expected);
        }
    }

    fn capture(&mut self, place: &str, capture: &Value, raw: &Value, profile: &Value) {
        let field = |name: &str| format!("{place}.{name}");
        let rows = items(&capture["kernel_metrics"]);
        let kernels = items(&raw["kernels"]);
        self.count(&field("kernel_metrics"), rows.len(), kernels.len());
        self.same(
            &field("requested_iterations"),
            &capture["requested_iterations"],
            &profile["capture_iterations"],
        );
        self.same(
            &field("requested_iterations"),
            &capture["requested_iterations"],
            &raw["requested_iterations"],
        );
        self.same(&field("config"), &capture["config"], &raw["config"]);
        let iterations = raw["requested_iterations"].as_u64().unwrap_or(0);
        let launches = capture["launches"].as_u64().unwrap_or(0);
        self.count(
            &field("kernel_metrics, launches times iterations"),
            kernels.len(),
            (launches * iterations) as usize,
        );
        let mut nanoseconds = 0;
        let mut names: Vec<&Value> = Vec::new();
        for (k, (row, kernel)) in rows.iter().zip(kernels).enumerate() {
            let duration = kernel["duration_ns"].as_u64().unwrap_or(0);
            nanoseconds += duration;
            if !names.contains(&&kernel["name"]) {
                names.push(&kernel["name"]);
            }
            self.kernel(&field(&format!("kernel_metrics[{k}]")), row, kernel);
        }
        let time = nanoseconds as f64 / (iterations as f64 * 1e3);
        self.number(&field("kernel_time_us"), &capture["kernel_time_us"], time);
        let listed: Vec<&Value> = items(&capture["kernel_names"]).iter().collect();
        if listed != names {
            self.wrong.push((
                Kind::Inconsistent,
                format!(
                    "{}: found {listed:?}, expected {names:?}",
                    field("kernel_names")
                ),
            ));
        }
        self.kernels += kernels.len();
    }

    fn kernel(&mut self, place: &str, row: &Value, kernel: &Value) {
        let field = |name: &str| format!("{place}.{name}");
        let whole = |value: &Value| value.as_u64().unwrap_or(0);
        self.same(&field("kernel_name"), &row["kernel_name"], &kernel["name"]);
        let duration = whole(&kernel["duration_ns"]) as f64 / 1e3;
        self.number(&field("duration_us"), &row["duration_us"], duration);
        for (shown, raw) in [("grid_size", "grid"), ("block_size", "block")] {
            let sizes: Vec<String> = items(&kernel[raw]).iter().map(Value::to_string).collect();
            self.same(&field(shown), &row[shown], &Value::from(sizes.join(",")));
        }
        self.same(
            &field("registers_per_thread"),
            &row["registers_per_thread"],
            &kernel["registers"],
        );
        let shared = whole(&kernel["static_shared_bytes"]) + whole(&kernel["dynamic_shared_bytes"]);
        self.same(
            &field("shared_mem_bytes"),
            &row["shared_mem_bytes"],
            &Value::from(shared),
        );
    }
}

/// A map that is left out where it is empty.
fn or_empty(value: &Value) -> Value {
    match value {
        Value::Null => Value::Object(serde_json::Map::new()),
        value => value.clone(),
    }
}

pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn numbers(value: &Value) -> Vec<f64> {
    items(value)
        .iter()
        .map(|v| v.as_f64().unwrap_or(f64::NAN))
        .collect()
}

/// Microseconds, summed in whole femtoseconds, in which order does not matter.
pub(super) fn mean(values: &[f64]) -> f64 {
    let femtoseconds: i128 = values.iter().map(|v| (v * 1e9).round() as i128).sum();
    femtoseconds as f64 / 1e9 / values.len() as f64
}

/// The value that as many are below as above.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match (values.len() % 2, values.is_empty()) {
        (_, true) => f64::NAN,
        (1, _) => values[half],
        _ => 0.5 * values[half - 1] + 0.5 * values[half],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_arithmetic_agrees_with_the_first() {
        let values = [10.528, 9.424000047147274, 300.1, 10.304000228643417];
        let first = mage_evidence::stats::mean(&values).unwrap();
        assert!((mean(&values) - first).abs() < ROUNDING * first);
        for length in 1..=4 {
            let first = mage_evidence::stats::median(&values[..length]).unwrap();
            assert_eq!(median(values[..length].to_vec()), first);
        }
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn a_null_is_named_by_its_path() {
        let value = serde_json::json!({"a": [{"b": 1}, {"b": null}]});
        assert_eq!(null(&value, String::new()).unwrap(), ".a[1].b");
    }
}
