//! Hardware counters of every case of an experiment, under Nsight Compute.
//!
//! One `ncu` process a case reads every counter of one call: the calls before the range warm up, the range itself
//! (`cuProfilerStart` to `cuProfilerStop`) holds one. `ncu` replays each kernel once for every group of counters that
//! the hardware can hold, restoring what it wrote in between; clocks and caches are left as they are, so that a replay
//! finds what the one before it left. The limits of the device are measured first and the same way, by
//! `mage-harness limits`: rates are bytes or operations by counters over the duration that `ncu` gives, for the limits
//! as for the cases.

mod kernels;
mod run;
mod session;

pub use run::{Event, Options, Outcome, run};
pub use session::CounterError;
