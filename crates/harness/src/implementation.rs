//! What the protocol asks of an implementation of the operations.

use mage_evidence::choice::{Choice, Config};
use mage_evidence::experiment::Tolerance;
use mage_kernels::inputs::Inputs;
use std::collections::BTreeMap;
use std::path::Path;

/// An operation to be made ready.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    /// Its inputs.
    pub inputs: &'a Inputs,
    /// Directory that holds their files.
    pub directory: &'a Path,
    /// The kernel variant that the experiment asks of `rust`.
    pub variant: &'a str,
    /// Bound of the check that a candidate must pass, where there is something to choose.
    pub tolerance: Tolerance,
    /// What to run, where that was chosen before.
    pub config: Option<&'a Config>,
}

/// What became of a [`Load`].
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// It can be called; what was chosen, where there was something to choose.
    Ready(Option<Choice>),
    /// The implementation does not run this operation here: why.
    Unavailable(String),
}

/// One implementation. Compilation, transfers and allocation happen in [`Implementation::load`], outside
/// everything that is timed.
pub trait Implementation {
    /// Its name in specs and evidence.
    fn name(&self) -> &str;

    /// Makes an operation resident and ready to be called, and chooses where there is something to choose.
    ///
    /// # Errors
    /// Whatever keeps the operation from being called.
    fn load(&mut self, load: &Load<'_>) -> anyhow::Result<Loaded>;

    /// The kernel variant that calls run, for `rust`.
    fn kernel(&self) -> Option<&str>;

    /// Poisons the output with NaN, makes one call on the path that is timed, and returns the whole
    /// output, row-major.
    ///
    /// # Errors
    /// Whatever the device or the worker reports.
    fn checked_call(&mut self) -> anyhow::Result<Vec<f32>>;

    /// Event spans of `iterations` calls in microseconds, in measured order, after `warmup` calls.
    ///
    /// # Errors
    /// Whatever the device or the worker reports.
    fn measure(&mut self, warmup: u32, iterations: u32) -> anyhow::Result<Vec<f64>>;

    /// Event spans of `iterations` calls in microseconds, in measured order; before each, outside the span,
    /// `flush_bytes` of other memory are written, which takes the operation's data out of the cache.
    ///
    /// # Errors
    /// Whatever the device or the worker reports; always, for an implementation that cannot do so.
    fn measure_cold(&mut self, iterations: u32, flush_bytes: u64) -> anyhow::Result<Vec<f64>> {
        anyhow::bail!(
            "{}: cannot make {iterations} calls with {flush_bytes} bytes written before each",
            self.name()
        )
    }

    /// SHA-256 of each input as it is on the device, by file name.
    ///
    /// # Errors
    /// Whatever the device or the worker reports.
    fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>>;
}
