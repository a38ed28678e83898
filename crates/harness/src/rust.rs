//! The `rust` implementation: a kernel variant launched over the driver.

use crate::implementation::{Implementation, Load, Loaded};
use anyhow::Context;
use mage_kernels::launch::{Call, Flush, Gpu};
use mage_kernels::variants;
use std::collections::BTreeMap;

/// Kernels of this project on one device.
pub struct Rust {
    gpu: Gpu,
    call: Option<Call>,
    flush: Option<Flush>,
}

impl Rust {
    /// Kernels on `gpu`; nothing is loaded yet.
    pub fn new(gpu: Gpu) -> Self {
        Self {
            gpu,
            call: None,
            flush: None,
        }
    }

    fn call(&mut self) -> anyhow::Result<&mut Call> {
        self.call.as_mut().context("rust: no operation is loaded")
    }
}

impl Implementation for Rust {
    fn name(&self) -> &str {
        "rust"
    }

    fn load(&mut self, load: &Load<'_>) -> anyhow::Result<Loaded> {
        self.call = None;
        let variant = variants::find(load.variant).context("rust: no such variant")?;
        self.call = Some(Call::prepare(&self.gpu, variant, load.inputs)?);
        Ok(Loaded::Ready(None))
    }

    fn kernel(&self) -> Option<&str> {
        self.call.as_ref().map(|call| call.variant().id)
    }

    fn checked_call(&mut self) -> anyhow::Result<Vec<f32>> {
        let call = self.call()?;
        call.poison()?;
        call.launch()?;
        Ok(call.output()?)
    }

    fn measure(&mut self, warmup: u32, iterations: u32) -> anyhow::Result<Vec<f64>> {
        Ok(self.call()?.measure(warmup, iterations)?)
    }

    fn measure_cold(&mut self, iterations: u32, flush_bytes: u64) -> anyhow::Result<Vec<f64>> {
        let call = self.call.as_mut().context("rust: no operation is loaded")?;
        let flush = match self.flush.take() {
            Some(flush) if flush.bytes() == flush_bytes => self.flush.insert(flush),
            _ => self.flush.insert(Flush::new(&self.gpu, flush_bytes)?),
        };
        Ok(call.measure_cold(iterations, flush)?)
    }

    fn input_sha256(&mut self) -> anyhow::Result<BTreeMap<String, String>> {
        Ok(self.call()?.input_sha256()?)
    }
}
