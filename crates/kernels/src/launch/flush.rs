//! Emptying the L2 cache between two calls.

use super::{Gpu, LaunchError, failed};
use cudarc::driver::CudaSlice;

/// Memory whose writing takes everything else out of the L2 cache.
///
/// The whole of it is set to zero (`cuMemsetD8Async`, on the stream of the calls). Where it is twice as large as the
/// cache, the cache then holds lines of it alone, and a call has to have them written back before it can use them, as
/// in a program that has just produced something else.
pub struct Flush {
    gpu: Gpu,
    memory: CudaSlice<u8>,
}

impl Flush {
    /// Allocates `bytes`, at least 1.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn new(gpu: &Gpu, bytes: u64) -> Result<Self, LaunchError> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
        let memory = gpu
            .stream
            .alloc_zeros(bytes)
            .map_err(failed("allocate memory to flush the cache with"))?;
        Ok(Self {
            gpu: gpu.clone(),
            memory,
        })
    }

    /// Bytes that are written.
    pub fn bytes(&self) -> u64 {
        self.memory.len() as u64
    }

    /// Writes all of it and waits: the next call starts on an idle device, as one with a warm cache does.
    ///
    /// # Errors
    /// [`LaunchError`], also for errors of earlier launches.
    pub fn flush(&mut self) -> Result<(), LaunchError> {
        self.gpu
            .stream
            .memset_zeros(&mut self.memory)
            .map_err(failed("flush the cache"))?;
        self.gpu.synchronize()
    }
}
