//! The Python worker as a process: one JSON object a line each way, a limit on every reply, and the
//! process's own last words when it dies.

use anyhow::{Context, bail};
use mage_evidence::artifact::{Python, Tf32};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Lines of the worker's stderr that are kept for an error.
const LAST_WORDS: usize = 20;

/// A running worker.
pub struct Worker {
    program: PathBuf,
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<std::io::Result<String>>,
    last_words: Arc<Mutex<VecDeque<String>>>,
    next_id: u64,
}

/// What the worker says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hello {
    /// Python version.
    pub python: String,
    /// PyTorch version.
    pub torch: String,
    /// Triton version.
    pub triton: String,
    /// CUDA version that PyTorch was built for.
    pub cuda: String,
    /// TF32 switches, read back.
    pub tf32: Tf32,
    /// Packages that take part.
    pub packages: BTreeMap<String, String>,
    /// The device that PyTorch uses.
    pub device: WorkerDevice,
}

/// The device as PyTorch sees it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkerDevice {
    /// Product name.
    pub name: String,
    /// Compute capability, `9.0`.
    pub compute_capability: String,
}

impl Hello {
    /// The environment as evidence records it.
    pub fn record(&self) -> Python {
        Python {
            python: self.python.clone(),
            torch: self.torch.clone(),
            triton: self.triton.clone(),
            cuda: self.cuda.clone(),
            tf32: self.tf32.clone(),
            packages: self.packages.clone(),
        }
    }
}

/// Which interpreter to use: the one given, `MAGE_PYTHON`, `.venv/bin/python` below the root, or
/// `python3` from the path.
pub fn interpreter(root: &Path, given: Option<&Path>) -> PathBuf {
    if let Some(python) = given {
        return python.to_path_buf();
    }
    if let Some(python) = std::env::var_os("MAGE_PYTHON") {
        return python.into();
    }
    let own = root.join(".venv/bin/python");
    if own.is_file() { own } else { "python3".into() }
}

/// A command that runs the worker's module. What its compilers make is kept in `compiled`, where that is given,
/// and found there again.
pub fn command(root: &Path, python: &Path, compiled: Option<&Path>) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-m", "mage_worker"])
        .env("PYTHONPATH", module_path(root))
        .env("PYTHONUNBUFFERED", "1")
        // The tree is evidence: it is not written to.
        .env("PYTHONDONTWRITEBYTECODE", "1");
    if let Some(compiled) = compiled {
        command
            .env("TRITON_CACHE_DIR", compiled.join("triton"))
            .env("TORCHINDUCTOR_CACHE_DIR", compiled.join("inductor"));
    }
    command
}

fn module_path(root: &Path) -> std::ffi::OsString {
    let mut path = root.join("crates/harness/python").into_os_string();
    if let Some(rest) = std::env::var_os("PYTHONPATH").filter(|p| !p.is_empty()) {
        path.push(":");
        path.push(rest);
    }
    path
}

impl Worker {
    /// Starts `command`, which must speak the protocol on its standard streams.
    ///
    /// # Errors
    /// Where the program cannot be started.
    pub fn start(mut command: Command) -> anyhow::Result<Self> {
        let program = PathBuf::from(command.get_program());
        // An interrupt goes to the harness, which ends the worker when its step is done.
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| {
                format!(
                    "{}: cannot start the Python worker, expected a Python 3 interpreter; give one with --python",
                    program.display()
                )
            })?;
        let stdin = child
            .stdin
            .take()
            .context("the worker has no standard input")?;
        let stdout = child
            .stdout
            .take()
            .context("the worker has no standard output")?;
        let stderr = child
            .stderr
            .take()
            .context("the worker has no standard error")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&last_words);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let Ok(mut words) = kept.lock() else { break };
                if words.len() == LAST_WORDS {
                    words.pop_front();
                }
                words.push_back(line);
            }
        });
        Ok(Self {
            program,
            child,
            stdin,
            lines,
            last_words,
            next_id: 1,
        })
    }

    /// What the worker says of itself.
    ///
    /// # Errors
    /// Where PyTorch, Triton or a CUDA device is missing, or the worker fails.
    pub fn hello(&mut self) -> anyhow::Result<Hello> {
        self.ask("hello", json!({}), Duration::from_secs(180))
    }

    /// Sends one request and waits for its reply.
    ///
    /// # Errors
    /// The worker's own error; noise, silence or death of the worker, with its last words.
    pub fn ask<T: DeserializeOwned>(
        &mut self,
        what: &str,
        arguments: Value,
        limit: Duration,
    ) -> anyhow::Result<T> {
        let id = self.next_id;
        self.next_id += 1;
        let mut request = json!({"id": id, "do": what});
        if let (Value::Object(request), Value::Object(arguments)) = (&mut request, arguments) {
            request.extend(arguments);
        }
        let sent = writeln!(self.stdin, "{request}").and_then(|()| self.stdin.flush());
        if sent.is_err() {
            bail!("{}", self.died(what));
        }
        let line = match self.lines.recv_timeout(limit) {
            Ok(Ok(line)) => line,
            Ok(Err(error)) => bail!("{}: {what}: reply is not text: {error}", self.name()),
            Err(RecvTimeoutError::Timeout) => {
                self.end();
                bail!(
                    "{}: {what}: no reply in {} s; it was ended{}",
                    self.name(),
                    limit.as_secs(),
                    self.words()
                )
            }
            Err(RecvTimeoutError::Disconnected) => bail!("{}", self.died(what)),
        };
        let reply: Reply = serde_json::from_str(&line).map_err(|error| {
            anyhow::anyhow!(
                "{}: {what}: found {:?}, expected one JSON reply ({error}); something else wrote to the worker's standard output",
                self.name(),
                excerpt(&line)
            )
        })?;
        if reply.id != id {
            bail!(
                "{}: {what}: found a reply to request {}, expected {id}",
                self.name(),
                reply.id
            );
        }
        if !reply.ok {
            let error = reply.error.unwrap_or_else(|| "no reason given".into());
            bail!("{}: {what}: {error}", self.name());
        }
        serde_json::from_value(Value::Object(reply.rest))
            .with_context(|| format!("{}: {what}: the reply lacks what was asked", self.name()))
    }

    fn name(&self) -> String {
        format!("Python worker ({})", self.program.display())
    }

    fn died(&mut self, what: &str) -> String {
        // It has closed its output; give it a moment to be gone and its last words to arrive.
        std::thread::sleep(Duration::from_millis(100));
        let status = match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "closed its output".into(),
        };
        format!(
            "{}: {what}: the worker ended ({status}){}",
            self.name(),
            self.words()
        )
    }

    fn words(&self) -> String {
        match self.last_words.lock() {
            Ok(words) if !words.is_empty() => {
                let lines: Vec<&str> = words.iter().map(String::as_str).collect();
                format!("; its last words:\n{}", lines.join("\n"))
            }
            _ => String::new(),
        }
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Debug, Deserialize, Serialize)]
struct Reply {
    id: u64,
    ok: bool,
    #[serde(default)]
    error: Option<String>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

fn excerpt(line: &str) -> String {
    line.chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker played by a shell script; `$line` is the request.
    fn played(script: &str) -> Worker {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Worker::start(command).unwrap()
    }

    fn ask(script: &str) -> anyhow::Result<Value> {
        played(script).ask("load", json!({"operation": "gelu"}), Duration::from_secs(5))
    }

    #[test]
    fn a_reply_is_read() {
        let reply =
            ask(r#"read line; echo "$line" >&2; echo '{"id": 1, "ok": true, "elements": 7}'"#);
        assert_eq!(reply.unwrap(), json!({"elements": 7}));
    }

    #[test]
    fn the_workers_error_is_passed_on() {
        let error = ask(r#"read line; echo '{"id": 1, "ok": false, "error": "a.bin: too short"}'"#);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("load: a.bin: too short")
        );
    }

    #[test]
    fn noise_is_an_error() {
        let error = ask("read line; echo Autotuning...")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("Autotuning...") && error.contains("expected one JSON reply"),
            "{error}"
        );
    }

    #[test]
    fn a_stale_reply_is_an_error() {
        let error = ask(r#"read line; echo '{"id": 9, "ok": true}'"#)
            .unwrap_err()
            .to_string();
        assert!(error.contains("request 9, expected 1"), "{error}");
    }

    #[test]
    fn death_is_told_with_the_last_words() {
        let error = ask("read line; echo 'CUDA error: out of luck' >&2; exit 7")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("exit status: 7") && error.contains("out of luck"),
            "{error}"
        );
        let error = ask("exit 3").unwrap_err().to_string();
        assert!(error.contains("the worker ended"), "{error}");
    }

    #[test]
    fn silence_ends_the_worker() {
        let mut worker = played("read line; sleep 60");
        let error = worker
            .ask::<Value>("measure", json!({}), Duration::from_millis(200))
            .unwrap_err()
            .to_string();
        assert!(error.contains("measure: no reply"), "{error}");
        assert!(worker.child.try_wait().unwrap().is_some());
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let error = Worker::start(Command::new("/no/such/python"))
            .err()
            .unwrap();
        assert!(error.to_string().contains("/no/such/python"), "{error}");
    }
}
