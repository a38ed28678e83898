//! One `ncu` process: a target, a list of counters, and a row for each launch.

use crate::child::{self, Ended, Failure, Task};
use crate::ncu::{self, Ncu, Number, PERMISSION, Row};
use crate::{environment, text};
use mage_evidence::Invalid;
use mage_evidence::counters::artifact::{Launch, Metric};
use mage_evidence::counters::metrics::DURATION;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Options of `ncu` beside the counters and the log: launches of the target's range and of every process that it
/// becomes; each kernel replayed alone; clocks and caches left alone; units not scaled.
pub(super) const OPTIONS: [&str; 15] = [
    "--csv",
    "--page",
    "raw",
    "--print-units",
    "base",
    "--profile-from-start",
    "off",
    "--target-processes",
    "all",
    "--replay-mode",
    "kernel",
    "--clock-control",
    "none",
    "--cache-control",
    "none",
];

/// What is read.
pub(super) struct Request<'a> {
    pub ncu: &'a Ncu,
    /// The target's command line, program first.
    pub target: &'a [OsString],
    /// Where it starts.
    pub root: &'a Path,
    /// Names it in messages.
    pub name: &'a str,
    /// The counters.
    pub metrics: &'a [String],
    pub timeout: Duration,
    pub grace: Duration,
    pub stop: &'a AtomicBool,
}

/// What came of it.
pub(super) struct Read {
    pub launches: Vec<Launch>,
    /// Standard output of the target.
    pub stdout: String,
}

/// Why there are no counters of a case, told apart by whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    /// `ncu` could not be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It took too long; its whole process tree was ended.
    #[error(
        "ncu did not end within {seconds} s and was ended with all its processes; {words}; raise --timeout if the case needs longer"
    )]
    TimedOut {
        /// The limit in seconds.
        seconds: u64,
        /// The last lines of its output.
        words: String,
    },
    /// The driver keeps counters from this user.
    #[error("hardware counters are not permitted here (ERR_NVGPUCTRPERM): {PERMISSION}")]
    NotPermitted,
    /// Counters that `ncu` does not know, and nothing to say which.
    #[error("ncu does not know a counter: {said}")]
    Refused {
        /// Those of the counters asked for that it names.
        metrics: Vec<String>,
        /// What it said.
        said: String,
    },
    /// The target failed, as `ncu` tells it.
    #[error("the target failed: {what}; {words}")]
    Target {
        /// How it ended.
        what: String,
        /// The last lines of its output.
        words: String,
    },
    /// The target ended without the line that says that it finished.
    #[error(
        "the target did not finish: found {found}, expected one line of JSON ({{\"gpu_uuid\": ...}}, of rust with \"kernel\") on standard output; {words}"
    )]
    Unfinished {
        /// What there was instead.
        found: String,
        /// The last lines of its output.
        words: String,
    },
    /// `ncu` itself failed.
    #[error("ncu failed with {what}; {words}")]
    Profiler {
        /// How it ended.
        what: String,
        /// The last lines of its output.
        words: String,
    },
    /// It ended well and left nothing.
    #[error("ncu ended with exit status 0 but left {found}, expected a table of counters; {words}")]
    NoTable {
        /// What there was.
        found: &'static str,
        /// The last lines of its output.
        words: String,
    },
    /// No launch was seen.
    #[error(
        "no kernels were profiled: see that the target calls cuProfilerStart and launches inside the range; {words}"
    )]
    NoKernels {
        /// The last lines of its output.
        words: String,
    },
    /// The table is not what it should be.
    #[error(transparent)]
    Table(#[from] Invalid),
    /// The private directory could not be used.
    #[error("{}: {source}", path.display())]
    Files {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Stopped from outside.
    #[error("interrupted")]
    Interrupted,
}

/// A private directory that is gone afterwards.
pub(super) fn private() -> Result<tempfile::TempDir, CounterError> {
    tempfile::Builder::new()
        .prefix("mage-ncu-")
        .tempdir()
        .map_err(|source| CounterError::Files {
            path: std::env::temp_dir(),
            source,
        })
}

/// Runs `ncu` once.
///
/// # Errors
/// [`CounterError`]; whatever happens, no process and no file is left behind.
pub(super) fn read(request: &Request<'_>) -> Result<Read, CounterError> {
    let directory = private()?;
    let temporary = directory.path().join("tmp");
    std::fs::create_dir(&temporary).map_err(|source| CounterError::Files {
        path: temporary.clone(),
        source,
    })?;
    let mut environment = environment::scrubbed();
    environment.push(("TMPDIR".into(), temporary.into()));
    let log = directory.path().join("log");
    let mut arguments: Vec<OsString> = vec!["--log-file".into(), log.clone().into()];
    arguments.extend(OPTIONS.iter().map(OsString::from));
    arguments.extend(["--metrics".into(), request.metrics.join(",").into()]);
    arguments.extend_from_slice(request.target);
    let unique = directory.path().file_name().unwrap_or_default();
    let task = Task {
        program: request.ncu.path.as_os_str(),
        arguments: &arguments,
        environment: &environment,
        directory: request.root,
        scratch: directory.path(),
        mark: &unique.to_string_lossy(),
        timeout: request.timeout,
        grace: request.grace,
        stop: request.stop,
    };
    let ended = task.run().map_err(|failure| match failure {
        Failure::Start(source) => CounterError::Start {
            program: request.ncu.path.display().to_string(),
            source,
        },
        Failure::TimedOut(output) => CounterError::TimedOut {
            seconds: request.timeout.as_secs(),
            words: text::last_words(&output),
        },
        Failure::Interrupted => CounterError::Interrupted,
    })?;
    let log = std::fs::read(&log).ok();
    let log = log.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let rows = judge(request, &ended, log)?;
    let launches = rows
        .iter()
        .map(|row| launch(row, request.metrics))
        .collect::<Result<_, _>>()
        .map_err(|invalid| invalid.in_file(Path::new(&format!("counters of {}", request.name))))?;
    Ok(Read {
        launches,
        stdout: ended.stdout,
    })
}

/// The rows, or whose fault it is that there are none.
fn judge(
    request: &Request<'_>,
    ended: &Ended,
    log: Option<String>,
) -> Result<Vec<Row>, CounterError> {
    let table = log.clone().unwrap_or_default();
    // What ncu says stands in the log, and before it has one in its own output.
    let said: Vec<&str> = table
        .lines()
        .chain(ended.stdout.lines())
        .chain(ended.stderr.lines())
        .filter(|line| line.starts_with("=="))
        .collect();
    let output = ended.output();
    let words = || text::last_words(&format!("{output}\n{}", said.join("\n")));
    if said.iter().any(|line| ncu::not_permitted(line)) || ncu::not_permitted(&output) {
        return Err(CounterError::NotPermitted);
    }
    let unknown: Vec<&&str> = said
        .iter()
        .filter(|line| line.to_lowercase().contains("failed to find metric"))
        .collect();
    if !unknown.is_empty() {
        let names: String = unknown.iter().map(|line| format!("{line}\n")).collect();
        let named = request
            .metrics
            .iter()
            .filter(|metric| names_it(&names, metric));
        return Err(CounterError::Refused {
            metrics: named.cloned().collect(),
            said: text::short(unknown[0].trim_start_matches("==ERROR==").trim(), 200),
        });
    }
    let failed = said.iter().find(|line| {
        let line = line.to_lowercase();
        line.contains("the application returned an error code")
            || line.contains("the application was terminated")
            || line.contains("application crash")
    });
    if let Some(line) = failed {
        let what = text::short(line.trim_start_matches("==ERROR==").trim(), 200);
        let words = text::last_words(&output);
        return Err(CounterError::Target { what, words });
    }
    if !ended.status.success() {
        return Err(CounterError::Profiler {
            what: child::describe(ended.status),
            words: words(),
        });
    }
    if said
        .iter()
        .any(|line| line.contains("No kernels were profiled"))
    {
        return Err(CounterError::NoKernels { words: words() });
    }
    if let Some(error) = said.iter().find(|line| line.starts_with("==ERROR==")) {
        let what = format!("exit status 0 and an error: {}", text::short(error, 200));
        return Err(CounterError::Profiler {
            what,
            words: words(),
        });
    }
    if table.trim().is_empty() {
        let found = match log {
            None => "no file",
            Some(_) => "an empty file",
        };
        return Err(CounterError::NoTable {
            found,
            words: words(),
        });
    }
    let rows = ncu::rows(&table)?;
    match rows.is_empty() {
        true => Err(CounterError::NoKernels { words: words() }),
        false => Ok(rows),
    }
}

/// Whether what `ncu` says of unknown counters names this one. It prints a pattern, with the base name in it.
fn names_it(said: &str, metric: &str) -> bool {
    let base = metric.split('.').next().unwrap_or(metric);
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    said.split(|c: char| !of_name(c)).any(|word| word == base)
}

/// A row with its counters as numbers.
fn launch(row: &Row, metrics: &[String]) -> Result<Launch, Invalid> {
    let mut read = BTreeMap::new();
    for name in metrics {
        let metric = match row.cells.get(name) {
            None => Metric::Absent {
                absent: "ncu printed no such column".to_owned(),
            },
            Some(cell) => match ncu::number(&cell.text, &cell.unit) {
                Ok(Number::Read(value, unit)) => Metric::Read { unit, value },
                Ok(Number::None(said)) => Metric::Absent {
                    absent: format!("ncu says {}", text::short(&said, 40)),
                },
                Err(found) => return Err(Invalid::new(name, found, "a number")),
            },
        };
        read.insert(name.clone(), metric);
    }
    match read.get(DURATION) {
        Some(Metric::Read { value, unit }) if *value > 0.0 && unit == "nsecond" => {}
        other => {
            let found = format!("{other:?}");
            return Err(Invalid::new(DURATION, found, "a time above 0"));
        }
    }
    Ok(Launch {
        name: row.name.clone(),
        grid: row.grid,
        block: row.block,
        metrics: read,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_counter_is_known_by_its_base_name() {
        let said = r"==ERROR== Failed to find metric regex:^sm__pipe_x\.(sum|min|max|avg|pct|ratio|max_rate)$";
        assert!(names_it(
            said,
            "sm__pipe_x.avg.pct_of_peak_sustained_elapsed"
        ));
        assert!(names_it(
            "Failed to find metric sm__pipe_x.sum",
            "sm__pipe_x.sum"
        ));
        assert!(!names_it(said, "sm__pipe.sum"));
        assert!(!names_it(said, "sm__pipe_xy.sum"));
    }
}
