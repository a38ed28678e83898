//! Hardware counters of the kernels: read by Nsight Compute, kept as plain rows, compared with the counts.
//!
//! `measure` runs each variant under `ncu` and leaves what it prints, untouched; `stored` takes out of that
//! the counters alone; `compare` holds them against the counts of the CPU executor.

pub mod ask;
pub mod compare;
pub mod measure;
pub mod metrics;
pub mod raw;
pub mod stored;
