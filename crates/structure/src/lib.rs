//! What the kernels do, counted on the CPU executor and laid side by side: each variant of an operation beside
//! its parent, the note's structural claims beside the counts, the counts beside a GPU's hardware counters.
//!
//! - [`report`]: the counts of an experiment's operations, with the compiler's resources.
//! - [`claims`]: claims 7 to 9 of the note.
//! - [`counters`]: reading Nsight Compute's counters and comparing them.
//! - [`page`]: the Markdown of all three.
//! - [`files`]: what is committed, and the proof that it is what the sources give.

pub mod claims;
pub mod counters;
pub mod files;
pub mod page;
pub mod report;

pub use report::{Entry, Report};
