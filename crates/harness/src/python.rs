//! Implementations that the Python worker runs: PyTorch, Triton and what stands beside them.

use crate::implementation::{Implementation, Load, Loaded};
use crate::worker::Worker;
use anyhow::{Context, bail};
use mage_evidence::choice::Choice;
use mage_evidence::operation::Operation;
use mage_kernels::inputs::Inputs;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// Implementations that the worker knows.
pub const NAMES: [&str; 5] = [
    "python",
    "torch-compile",
    "triton",
    "triton-tuned",
    "cusparse",
];

const LOAD: Duration = Duration::from_secs(120);
const COMPILE: Duration = Duration::from_secs(600);
const CALLS: Duration = Duration::from_secs(300);

/// The worker and what is resident in it; shared by the implementations that it runs.
pub struct Shared {
    worker: Worker,
    loaded: Option<(Operation, Vec<u32>, PathBuf)>,
    /// How many handles there are of each implementation.
    handles: BTreeMap<String, usize>,
    scratch: tempfile::TempDir,
}

impl Shared {
    /// A worker with nothing loaded.
    ///
    /// # Errors
    /// Where no temporary directory can be made.
    pub fn new(worker: Worker) -> anyhow::Result<Rc<RefCell<Self>>> {
        let scratch = tempfile::tempdir().context("cannot make a temporary directory")?;
        Ok(Rc::new(RefCell::new(Self {
            worker,
            loaded: None,
            handles: BTreeMap::new(),
            scratch,
        })))
    }

    fn load(&mut self, inputs: &Inputs, directory: &Path) -> anyhow::Result<()> {
        let wanted = (
            inputs.operation,
            inputs.dims.clone(),
            directory.to_path_buf(),
        );
        if self.loaded.as_ref() != Some(&wanted) {
            self.loaded = None;
            let arguments = json!({
                "operation": inputs.operation,
                "dims": inputs.dims,
                "inputs": directory,
            });
            self.worker.ask::<Value>("load", arguments, LOAD)?;
            self.loaded = Some(wanted);
        }
        Ok(())
    }
}

/// One of the worker's implementations: the first handle of its name reads the worker's inputs, each other runs the
/// same code on memory of its own.
pub struct PythonImplementation {
    name: String,
    handle: usize,
    shared: Rc<RefCell<Shared>>,
    elements: usize,
}

impl PythonImplementation {
    /// The next handle of the implementation `name` of the shared worker. They are loaded in the order in which they
    /// are made.
    pub fn new(name: &str, shared: &Rc<RefCell<Shared>>) -> Self {
        let mut of_all = shared.borrow_mut();
        let next = of_all.handles.entry(name.to_string()).or_default();
        let handle = *next;
        *next += 1;
        Self {
            name: name.to_string(),
            handle,
            shared: Rc::clone(shared),
            elements: 0,
        }
    }

    /// Asks the worker for something that this handle does.
    fn ask<T: DeserializeOwned>(
        &self,
        what: &str,
        mut arguments: Value,
        limit: Duration,
    ) -> anyhow::Result<T> {
        arguments["implementation"] = json!(self.name);
        arguments["handle"] = json!(self.handle);
        self.shared.borrow_mut().worker.ask(what, arguments, limit)
    }

    fn spans(&self, arguments: Value) -> anyhow::Result<Vec<f64>> {
        #[derive(Deserialize)]
        struct Measured {
            samples_us: Vec<f64>,
        }
        let measured: Measured = self.ask("measure", arguments, CALLS)?;
        Ok(measured.samples_us)
    }
}

impl Implementation for PythonImplementation {
    fn name(&self) -> &str {
        &self.name
    }

    fn load(&mut self, load: &Load<'_>) -> anyhow::Result<Loaded> {
        #[derive(Deserialize)]
        struct Prepared {
            choice: Option<Choice>,
            unavailable: Option<String>,
        }
        self.shared.borrow_mut().load(load.inputs, load.directory)?;
        self.elements = load.inputs.operation.output_elements(&load.inputs.dims);
        let arguments = json!({
            "rtol": load.tolerance.rtol,
            "atol": load.tolerance.atol,
            "config": load.config,
        });
        let prepared: Prepared = self.ask("prepare", arguments, COMPILE)?;
        Ok(match prepared.unavailable {
            Some(reason) => Loaded::Unavailable(reason),
            None => Loaded::Ready(prepared.choice),
        })
    }

    fn kernel(&self) -> Option<&str> {
        None
    }

    fn checked_call(&mut self) -> anyhow::Result<Vec<f32>> {
        let path = self.shared.borrow().scratch.path().join("output.bin");
        self.ask::<Value>("check", json!({"output": path}), CALLS)?;
        let bytes = std::fs::read(&path)
            .with_context(|| format!("{}: cannot read the worker's output", path.display()))?;
        if bytes.len() != self.elements * 4 {
            bail!(
                "{}: output of {}: found {} bytes, expected {}",
                path.display(),
                self.name,
                bytes.len(),
                self.elements * 4
            );
        }
        let words = bytes.chunks_exact(4);
        Ok(words
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect())
    }

    fn measure(&mut self, warmup: u32, iterations: u32) -> anyhow::Result<Vec<f64>> {
        self.spans(json!({"warmup": warmup, "iterations": iterations}))
    }

    fn measure_cold(&mut self, iterations: u32, flush_bytes: u64) -> anyhow::Result<Vec<f64>> {
        self.spans(json!({
            "warmup": 0,
            "iterations": iterations,
            "flush_bytes": flush_bytes,
        }))
    }

    fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
        #[derive(Deserialize)]
        struct Verified {
            sha256: BTreeMap<String, String>,
        }
        let verified: Verified = self.ask("verify_inputs", json!({}), CALLS)?;
        Ok(verified.sha256)
    }
}
