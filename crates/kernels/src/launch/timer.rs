//! Event spans: what lies between two event records on the stream.

use super::{Gpu, LaunchError, failed};
use cudarc::driver::{CudaEvent, sys::CUevent_flags};

/// A pair of timing events on the device's stream, made once and reused.
pub struct Timer {
    gpu: Gpu,
    start: CudaEvent,
    end: CudaEvent,
}

impl Timer {
    /// Creates the events.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn new(gpu: &Gpu) -> Result<Self, LaunchError> {
        let event = || {
            gpu.context
                .new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
                .map_err(failed("create an event"))
        };
        Ok(Self {
            gpu: gpu.clone(),
            start: event()?,
            end: event()?,
        })
    }

    /// Records the start.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn start(&self) -> Result<(), LaunchError> {
        self.start
            .record(&self.gpu.stream)
            .map_err(failed("record the start event"))
    }

    /// Records the end, waits for it and returns the span in microseconds. The driver gives milliseconds
    /// with a resolution of about half a microsecond.
    ///
    /// # Errors
    /// [`LaunchError`], also for errors of the work in between.
    pub fn stop_us(&self) -> Result<f64, LaunchError> {
        self.end
            .record(&self.gpu.stream)
            .map_err(failed("record the end event"))?;
        let milliseconds = self
            .start
            .elapsed_ms(&self.end)
            .map_err(failed("read the time between two events"))?;
        Ok(f64::from(milliseconds) * 1000.0)
    }
}
