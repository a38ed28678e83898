//! One Nsight Systems capture of one case: profile, export, read, attribute.
//!
//! Everything happens in a private directory that did not exist before and does not afterwards, under a
//! name used once, so that no older report can be read in place of the new one.

use crate::attribute::{self, Expected, Times};
use crate::child::{self, Ended, Failure, Task};
use crate::find::{self, Nsys};
use crate::sqlite::{self, Report};
use crate::{answer, environment, text};
use mage_evidence::Invalid;
use mage_evidence::artifact::{CAPTURE_SCHEMA, Capture};
use mage_evidence::choice::Config;
use mage_evidence::operation::Operation;
use mage_workspace::portable;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Flags of `nsys profile`: the API calls, kernels and ranges of the target between cuProfilerStart and
/// cuProfilerStop; no sampling. At the range's end only collection stops: the target runs on to its own
/// exit status.
const PROFILE: [&str; 8] = [
    "profile",
    "-t",
    "cuda,nvtx",
    "-s",
    "none",
    "--cpuctxsw=none",
    "--capture-range=cudaProfilerApi",
    "--capture-range-end=stop",
];

/// One process under the profiler: what is started, and within which limits.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// What it is called, in errors and as a file: `<operation>-<implementation>-<index>`.
    pub name: &'a str,
    /// The profiler.
    pub nsys: &'a Nsys,
    /// The target's command line, program first.
    pub target: &'a [OsString],
    /// Where profiler and target start; recorded paths are relative to it.
    pub root: &'a Path,
    /// How long the profiler, and then its exporter, may take.
    pub timeout: Duration,
    /// How long descendants may go on after the profiler has ended.
    pub grace: Duration,
    /// Where report and export are kept; they embed the target's environment.
    pub keep: Option<&'a Path>,
    /// Set from outside to stop.
    pub stop: &'a AtomicBool,
}

/// What to capture.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The process.
    pub job: Job<'a>,
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: &'a [u32],
    /// Which implementation.
    pub implementation: &'a str,
    /// What the run chose, which the target must say that it ran.
    pub config: Option<&'a Config>,
    /// Which capture of the case, counted from 1.
    pub index: u32,
    /// Calls inside the capture range.
    pub iterations: u32,
    /// Whether the report must have the target's ranges.
    pub ranges_required: bool,
    /// Names of kernels that may run outside the ranges; they do not count.
    pub allowed_outside: &'a [String],
}

/// What one process left: its report, and its own last line.
pub(crate) struct Profiled<T> {
    /// The rows of the export.
    pub(crate) report: Report,
    /// What the line says.
    pub(crate) answer: T,
    /// What was odd about it.
    pub(crate) notes: Vec<String>,
    /// Profiler, target and exporter, as they are recorded.
    pub(crate) commands: Vec<Vec<String>>,
}

/// A capture and what is to be said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    /// The capture, checked.
    pub capture: Capture,
    /// Kernel times over all iterations.
    pub times: Times,
    /// Version of the export's schema, where it says one.
    pub schema_version: Option<String>,
    /// Driver versions, where the report says them.
    pub driver: Option<String>,
}

/// What went wrong with a capture, told apart by whose fault it is.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A program could not be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A step took too long; its whole process tree was ended.
    #[error(
        "{step} did not end within {seconds} s and was ended with all its processes; {words}; raise --timeout if the case needs longer"
    )]
    TimedOut {
        /// `nsys profile` or `nsys export`.
        step: &'static str,
        /// The limit in seconds.
        seconds: u64,
        /// The last lines of its output.
        words: String,
    },
    /// The target failed, as the profiler tells it.
    #[error("the target failed: {what}; {words}")]
    Target {
        /// How it ended.
        what: String,
        /// The last lines of its output.
        words: String,
    },
    /// The target ended without the line that says that it finished.
    #[error(
        "the target did not finish: found {found}, expected one line of JSON ({expected}) on standard output; {words}"
    )]
    Unfinished {
        /// What there was instead.
        found: String,
        /// What the line should hold.
        expected: &'static str,
        /// The last lines of its output.
        words: String,
    },
    /// The profiler itself failed.
    #[error("{step} failed with {what}; {words}")]
    Profiler {
        /// `nsys profile` or `nsys export`.
        step: &'static str,
        /// How it ended.
        what: String,
        /// The last lines of its output.
        words: String,
    },
    /// The profiler's importer left raw data and no report.
    #[error("the importer of nsys made no report of its raw data: {what}; {words}")]
    Importer {
        /// What it lacks, or its status.
        what: String,
        /// The last lines of its output.
        words: String,
    },
    /// Collection never started.
    #[error(
        "the capture range never opened: nsys made no report; see that the target calls cuProfilerStart; {words}"
    )]
    NeverOpened {
        /// The last lines of its output.
        words: String,
    },
    /// The profiler ended well and left nothing, or not what it was asked for.
    #[error("{step} ended with exit status 0 but left {found}, expected {expected}; {words}")]
    NoFile {
        /// `nsys profile` or `nsys export`.
        step: &'static str,
        /// What there was.
        found: String,
        /// What there should be.
        expected: String,
        /// The last lines of its output.
        words: String,
    },
    /// The rows are not those of the case.
    #[error(transparent)]
    Rows(#[from] Invalid),
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

/// Captures one case.
///
/// # Errors
/// [`CaptureError`]; whatever happens, no process and no file is left behind.
pub fn capture(request: &Request<'_>) -> Result<Captured, CaptureError> {
    let expected = "{\"gpu_uuid\": ...}, of rust with \"kernel\"";
    let profiled = profile(&request.job, request.ranges_required, expected, |stdout| {
        answer::ran(stdout, request.implementation, request.config)
    })?;
    let expected = Expected {
        iterations: request.iterations,
        case: Some((request.operation.name(), request.implementation)),
        ranges_required: request.ranges_required,
        allowed_outside: request.allowed_outside,
    };
    let found = attribute::attribute(&profiled.report, &expected)?;
    let mut notes = found.notes;
    notes.extend(profiled.notes);
    let capture = Capture {
        schema: CAPTURE_SCHEMA.to_string(),
        operation: request.operation,
        dims: request.dims.to_vec(),
        implementation: request.implementation.to_string(),
        variant: profiled.answer.variant,
        config: request.config.cloned(),
        gpu_uuid: profiled.answer.gpu_uuid,
        index: request.index,
        requested_iterations: request.iterations,
        commands: profiled.commands,
        notes,
        kernels: found.kernels,
    };
    capture.check()?;
    Ok(Captured {
        capture,
        times: found.times,
        schema_version: profiled.report.schema_version,
        driver: profiled.report.driver,
    })
}

/// Runs one process under the profiler and reads what both left. `read` takes what the target printed, whose
/// last line should hold what `expected` says; with `rows_tell`, rows that pass their checks outweigh the profiler's own exit
/// status.
///
/// # Errors
/// [`CaptureError`]; whatever happens, no process and no file is left behind.
pub(crate) fn profile<T>(
    job: &Job<'_>,
    rows_tell: bool,
    expected: &'static str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Profiled<T>, CaptureError> {
    let session = Session::new(job)?;
    let profile_arguments = session.profile_arguments();
    let ended = session.nsys("nsys profile", &profile_arguments)?;
    let answer = read(&ended.stdout).map_err(|found| CaptureError::Unfinished {
        found: text::short(&found, 120),
        expected,
        words: text::last_words(&ended.output()),
    });
    let Judged {
        report,
        answer,
        note,
    } = session.judge(&ended, answer, rows_tell)?;
    session.keep(&report)?;
    let (export, export_arguments) = session.export(&report)?;
    session.keep(&export)?;
    let report = sqlite::read(&export).map_err(|invalid| session.own_words(invalid))?;
    let mut notes: Vec<String> = note.into_iter().collect();
    if ended.left_running > 0 {
        notes.push(format!(
            "{} processes went on after nsys had ended, and were ended",
            ended.left_running
        ));
    }
    let own = profile_arguments.len() - job.target.len();
    Ok(Profiled {
        report,
        answer,
        notes,
        commands: vec![
            session.recorded(&profile_arguments[..own], true),
            session.recorded(job.target, false),
            session.recorded(&export_arguments, true),
        ],
    })
}

/// What the profiler and the target left, where both did their part.
struct Judged<T> {
    report: PathBuf,
    /// What the target says.
    answer: T,
    /// What was odd about it.
    note: Option<String>,
}

/// The private directory of one capture and the names in it.
struct Session<'a> {
    job: &'a Job<'a>,
    directory: tempfile::TempDir,
    environment: Vec<(OsString, OsString)>,
    /// Unique name of the report, without an extension.
    name: String,
}

impl<'a> Session<'a> {
    fn new(job: &'a Job<'a>) -> Result<Self, CaptureError> {
        let files = |path: &Path| {
            let path = path.to_path_buf();
            move |source| CaptureError::Files { path, source }
        };
        let directory = tempfile::Builder::new()
            .prefix("mage-nsys-")
            .tempdir()
            .map_err(files(&std::env::temp_dir()))?;
        let temporary = directory.path().join("tmp");
        std::fs::create_dir(&temporary).map_err(files(&temporary))?;
        let unique = directory.path().file_name().unwrap_or_default();
        let unique = unique.to_string_lossy().replace("mage-nsys-", "");
        let name = format!("{}-{unique}", job.name);
        let mut environment = environment::scrubbed();
        environment.push(("TMPDIR".into(), temporary.into()));
        Ok(Self {
            job,
            directory,
            environment,
            name,
        })
    }

    fn path(&self, extension: &str) -> PathBuf {
        let name = format!("{}{extension}", self.name);
        self.directory.path().join(name)
    }

    fn profile_arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = PROFILE.iter().map(OsString::from).collect();
        arguments.extend(["-o".into(), self.path("").into_os_string()]);
        arguments.extend_from_slice(self.job.target);
        arguments
    }

    /// Runs one step of the profiler.
    fn nsys(&self, step: &'static str, arguments: &[OsString]) -> Result<Ended, CaptureError> {
        let job = self.job;
        let task = Task {
            program: job.nsys.path.as_os_str(),
            arguments,
            environment: &self.environment,
            directory: job.root,
            scratch: self.directory.path(),
            mark: &format!("{}-{}", self.name, step.replace(' ', "-")),
            timeout: job.timeout,
            grace: job.grace,
            stop: job.stop,
        };
        task.run().map_err(|failure| match failure {
            Failure::Start(source) => CaptureError::Start {
                program: job.nsys.path.display().to_string(),
                source,
            },
            Failure::TimedOut(output) => CaptureError::TimedOut {
                step,
                seconds: job.timeout.as_secs(),
                words: text::last_words(&output),
            },
            Failure::Interrupted => CaptureError::Interrupted,
        })
    }

    /// From how the profiler ended, what it left and what the target said, the report and the target's
    /// answer; else whose fault it is.
    fn judge<T>(
        &self,
        ended: &Ended,
        answer: Result<T, CaptureError>,
        rows_tell: bool,
    ) -> Result<Judged<T>, CaptureError> {
        let output = ended.output();
        let words = text::last_words(&output);
        let step = "nsys profile";
        if let Some(library) = missing_library(&output) {
            let remedy = find::remedy(std::slice::from_ref(&library));
            let what = format!("{library} is missing: {remedy}");
            return Err(CaptureError::Importer { what, words });
        }
        if let Some(line) = output.lines().find(|line| target_failed(line)) {
            let what = text::short(line.trim(), 200);
            return Err(CaptureError::Target { what, words });
        }
        let (reports, raw) = self.left()?;
        if reports.is_empty() && !raw.is_empty() {
            let what = format!("nsys ended with {}", child::describe(ended.status));
            return Err(CaptureError::Importer { what, words });
        }
        let mut note = None;
        if !ended.status.success() {
            let what = child::describe(ended.status);
            // With everything there, the rows themselves tell whether the capture is whole.
            let whole = reports.len() == 1 && answer.is_ok() && rows_tell;
            if !whole || ended.status.code().is_none() {
                return Err(CaptureError::Profiler { step, what, words });
            }
            note = Some(format!(
                "nsys ended with {what} although the target finished and its report is whole; {words}"
            ));
        }
        let report = match reports.as_slice() {
            [report] => report.clone(),
            [] if range_never_opened(&output) => {
                return Err(CaptureError::NeverOpened { words });
            }
            several => {
                let names = several.iter().filter_map(|path| path.file_name()?.to_str());
                return Err(CaptureError::NoFile {
                    step,
                    found: format!("{} reports ({})", several.len(), text::list(names)),
                    expected: "one report".to_string(),
                    words,
                });
            }
        };
        Ok(Judged {
            report,
            answer: answer?,
            note,
        })
    }

    /// Reports and raw data under this capture's name.
    fn left(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>), CaptureError> {
        let directory = self.directory.path();
        let entries = std::fs::read_dir(directory).map_err(|source| CaptureError::Files {
            path: directory.to_path_buf(),
            source,
        })?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let rest = name.strip_prefix(&self.name);
                rest.is_some_and(|rest| rest.starts_with('.'))
            })
            .collect();
        files.sort();
        let of = |kinds: &[&str]| {
            let kind = |path: &&PathBuf| {
                path.extension()
                    .and_then(OsStr::to_str)
                    .is_some_and(|e| kinds.contains(&e))
            };
            files.iter().filter(kind).cloned().collect()
        };
        Ok((of(&["nsys-rep", "qdrep"]), of(&["qdstrm"])))
    }

    /// Exports the report to SQLite, and gives the file and the command.
    fn export(&self, report: &Path) -> Result<(PathBuf, Vec<OsString>), CaptureError> {
        let step = "nsys export";
        let path = self.path(".sqlite");
        // What is there before the export cannot be the export.
        if path.exists() {
            std::fs::remove_file(&path).map_err(|source| CaptureError::Files {
                path: path.clone(),
                source,
            })?;
        }
        let arguments: Vec<OsString> = vec![
            "export".into(),
            "--type".into(),
            "sqlite".into(),
            "-o".into(),
            path.clone().into(),
            report.into(),
        ];
        let ended = self.nsys(step, &arguments)?;
        let output = ended.output();
        let words = text::last_words(&output);
        if let Some(library) = missing_library(&output) {
            let remedy = find::remedy(std::slice::from_ref(&library));
            let what = format!("{library} is missing: {remedy}");
            return Err(CaptureError::Profiler { step, what, words });
        }
        if !ended.status.success() {
            let what = child::describe(ended.status);
            return Err(CaptureError::Profiler { step, what, words });
        }
        match std::fs::metadata(&path) {
            Ok(file) if file.len() > 0 => Ok((path, arguments)),
            Ok(_) => Err(CaptureError::NoFile {
                step,
                found: "an empty file".to_string(),
                expected: "an SQLite database".to_string(),
                words,
            }),
            Err(_) => Err(CaptureError::NoFile {
                step,
                found: "no file".to_string(),
                expected: "an SQLite database".to_string(),
                words,
            }),
        }
    }

    /// Copies `file` to where reports are kept, under the case's name.
    fn keep(&self, file: &Path) -> Result<(), CaptureError> {
        let Some(directory) = self.job.keep else {
            return Ok(());
        };
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        let path = directory.join(format!("{}.{extension}", self.job.name));
        let copy = || {
            std::fs::create_dir_all(directory)?;
            let mut to = std::fs::File::create_new(&path)?;
            std::io::copy(&mut std::fs::File::open(file)?, &mut to)
        };
        match copy() {
            Ok(_) => Ok(()),
            Err(source) => Err(CaptureError::Files { path, source }),
        }
    }

    /// A command line as it is recorded, without this machine's paths.
    fn recorded(&self, arguments: &[OsString], nsys: bool) -> Vec<String> {
        let program = nsys.then(|| self.job.nsys.path.clone().into_os_string());
        program
            .iter()
            .chain(arguments)
            .map(|word| portable(self.job.root, &word.to_string_lossy()))
            .collect()
    }

    /// The private file is gone when the message is read: its name says which capture it was.
    fn own_words(&self, mut invalid: Invalid) -> CaptureError {
        invalid.file = Some(PathBuf::from(format!("export of {}", self.job.name)));
        CaptureError::Rows(invalid)
    }
}

/// The library that the dynamic loader did not find.
fn missing_library(output: &str) -> Option<String> {
    const LOADER: &str = "error while loading shared libraries: ";
    let after = output.split_once(LOADER)?.1;
    let library = after.split(':').next()?.trim();
    (!library.is_empty()).then(|| text::short(library, 80))
}

/// Whether a line of the profiler tells that the target failed.
fn target_failed(line: &str) -> bool {
    let line = line.to_lowercase();
    line.contains("target application")
        && ["non-zero", "signal", "failed", "crash", "could not"]
            .iter()
            .any(|word| line.contains(word))
}

/// Whether the profiler tells that it never started to collect.
fn range_never_opened(output: &str) -> bool {
    let output = output.to_lowercase();
    [
        "before the collection started",
        "no reports were generated",
        "no report was generated",
        "capture range was not",
    ]
    .iter()
    .any(|words| output.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profilers_own_words_are_told_apart() {
        assert!(target_failed(
            "The target application returned non-zero exit code 3"
        ));
        assert!(target_failed(
            "The target application terminated with signal 11"
        ));
        assert!(!target_failed("Capture range started in the application."));
        assert!(range_never_opened(
            "The application terminated before the collection started. No report was generated."
        ));
        let output =
            "x: error while loading shared libraries: libdw.so.1: cannot open shared object file";
        assert_eq!(missing_library(output).unwrap(), "libdw.so.1");
        assert_eq!(missing_library("fine"), None);
    }
}
