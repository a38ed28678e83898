//! One child process with a time limit, whose whole tree ends with it.
//!
//! The child leads a process group of its own, and its environment carries a mark that no other process
//! has: a descendant that left the group or lost its parent is still found by it.

use crate::text;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The variable that marks a tree.
const MARK: &str = "MAGE_CAPTURE";
/// How often a child is looked at.
const TICK: Duration = Duration::from_millis(10);
/// How long a tree may take to end when asked, before it is killed.
const ASKED: Duration = Duration::from_secs(2);
/// How much of each output stream is read.
const MAX_OUTPUT: u64 = 16 << 20;

/// What to start, and within which limits.
pub(crate) struct Task<'a> {
    pub(crate) program: &'a OsStr,
    pub(crate) arguments: &'a [OsString],
    pub(crate) environment: &'a [(OsString, OsString)],
    /// Where it starts.
    pub(crate) directory: &'a Path,
    /// Private directory for its output streams.
    pub(crate) scratch: &'a Path,
    /// Unique to this tree.
    pub(crate) mark: &'a str,
    pub(crate) timeout: Duration,
    /// How long descendants may go on after the child itself has ended.
    pub(crate) grace: Duration,
    pub(crate) stop: &'a AtomicBool,
}

/// A child that ended by itself.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Descendants that had to be ended after it.
    pub(crate) left_running: usize,
}

impl Ended {
    /// Both streams, for the words in them.
    pub(crate) fn output(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }
}

/// A child that did not end by itself; its tree is gone.
pub(crate) enum Failure {
    /// The system would not start it.
    Start(std::io::Error),
    /// It ran longer than it may; both streams as far as they came.
    TimedOut(String),
    /// Stopped from outside.
    Interrupted,
}

/// How a process ended, in words: `exit status 3` or `signal 9`.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

impl Task<'_> {
    /// Starts the child and waits for it and its descendants.
    pub(crate) fn run(&self) -> Result<Ended, Failure> {
        let streams = [
            self.scratch.join(format!("{}.stdout", self.mark)),
            self.scratch.join(format!("{}.stderr", self.mark)),
        ];
        let open = |path: &Path| File::create(path).map_err(Failure::Start);
        let child = Command::new(self.program)
            .args(self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(k, v)| (k, v)))
            .env(MARK, self.mark)
            .current_dir(self.directory)
            .stdin(Stdio::null())
            .stdout(open(&streams[0])?)
            .stderr(open(&streams[1])?)
            .process_group(0)
            .spawn()
            .map_err(Failure::Start)?;
        let mut tree = Tree {
            group: Pid::from_child(&child),
            child,
            mark: self.mark,
            ended: false,
        };
        let deadline = Instant::now() + self.timeout;
        let status = loop {
            if let Some(status) = tree.child.try_wait().map_err(Failure::Start)? {
                break status;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            if Instant::now() > deadline {
                tree.end();
                let [stdout, stderr] = streams.map(|path| read(&path));
                return Err(Failure::TimedOut(format!("{stdout}\n{stderr}")));
            }
            std::thread::sleep(TICK);
        };
        let grace = Instant::now() + self.grace;
        let left_running = loop {
            let left = marked(self.mark).len();
            if left == 0 || Instant::now() > grace {
                break left;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
            std::thread::sleep(TICK * 5);
        };
        tree.end();
        let [stdout, stderr] = streams.map(|path| read(&path));
        Ok(Ended {
            status,
            stdout,
            stderr,
            left_running,
        })
    }
}

/// A started child and all that came of it; ends with the value.
struct Tree<'a> {
    child: Child,
    group: Pid,
    mark: &'a str,
    ended: bool,
}

impl Tree<'_> {
    fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let asked = Instant::now();
        let mut signal = Signal::TERM;
        // A process that cannot be killed waits in the kernel: after a while the system keeps it.
        while asked.elapsed() < ASKED * 3 {
            let running = matches!(self.child.try_wait(), Ok(None));
            let descendants = marked(self.mark);
            if !running && descendants.is_empty() {
                return;
            }
            if running {
                let _ = kill_process_group(self.group, signal);
            }
            for pid in descendants {
                let _ = kill_process(pid, signal);
            }
            if asked.elapsed() > ASKED {
                signal = Signal::KILL;
            }
            std::thread::sleep(TICK * 5);
        }
    }
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Processes whose environment carries `mark`; none where the system does not show environments.
fn marked(mark: &str) -> Vec<Pid> {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid = entry.file_name().to_str()?.parse::<i32>().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == wanted.as_bytes())
                .then(|| Pid::from_raw(pid))?
        })
        .collect()
}

fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        let _ = file.take(MAX_OUTPUT).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a short question (`--version`) and returns its output, or why there is none.
pub(crate) fn ask(program: &Path, arguments: &[&OsStr]) -> Result<Ended, String> {
    let scratch = tempfile::Builder::new()
        .prefix("mage-ask-")
        .tempdir()
        .map_err(|error| format!("no temporary directory: {error}"))?;
    let mark = scratch
        .path()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let timeout = Duration::from_secs(30);
    let task = Task {
        program: program.as_os_str(),
        arguments: &arguments,
        environment: &crate::environment::scrubbed(),
        directory: scratch.path(),
        scratch: scratch.path(),
        mark: &mark,
        timeout,
        grace: Duration::from_secs(2),
        stop: &AtomicBool::new(false),
    };
    match task.run() {
        Ok(ended) => Ok(ended),
        Err(Failure::Start(error)) => Err(format!("it cannot be started: {error}")),
        Err(Failure::TimedOut(output)) => Err(format!(
            "it did not answer within {} s; {}",
            timeout.as_secs(),
            text::last_words(&output)
        )),
        Err(Failure::Interrupted) => Err("interrupted".to_string()),
    }
}
