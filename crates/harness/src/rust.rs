//! The `rust` implementation: a kernel variant launched over the driver.

use crate::implementation::Implementation;
use anyhow::Context;
use mage_kernels::inputs::Inputs;
use mage_kernels::launch::{Call, Flush, Gpu};
use mage_kernels::variants;
use std::collections::BTreeMap;
use std::path::Path;

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

    fn load(&mut self, inputs: &Inputs, _: &Path, variant: &str) -> anyhow::Result<()> {
        self.call = None;
        let variant = variants::find(variant).context("rust: no such variant")?;
        self.call = Some(Call::prepare(&self.gpu, variant, inputs)?);
        Ok(())
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
