//! What the protocol asks of an implementation of the operations.

use mage_kernels::inputs::Inputs;
use std::collections::BTreeMap;
use std::path::Path;

/// One implementation. Compilation, transfers and allocation happen in [`Implementation::load`], outside
/// everything that is timed.
pub trait Implementation {
    /// Its name in specs and evidence.
    fn name(&self) -> &str;

    /// Makes an operation resident and ready to be called. `directory` holds the files of `inputs`;
    /// `variant` is the kernel variant that the experiment asks of `rust`.
    ///
    /// # Errors
    /// Whatever keeps the operation from being called.
    fn load(&mut self, inputs: &Inputs, directory: &Path, variant: &str) -> anyhow::Result<()>;

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
