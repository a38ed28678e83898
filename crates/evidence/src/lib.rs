//! Evidence as data: the vocabulary, schema, validation and statistics that every other crate shares.
//!
//! This crate has no GPU, no clock and no process in it; only [`store`] reads and
//! writes files, and [`experiment`] lists the specs.
//! The words are used everywhere in one sense: an *experiment* names *operations*; an operation is
//! measured in each *implementation*; a Rust implementation runs a kernel *variant*; a harness run has
//! *rounds* of *samples*; a profile has *captures* of *launches*; both are stored in a *namespace*.

/// The last line of a page in a directory of `docs/`: back to all of them.
pub const ALL_RESULTS: &str = "\n[All results](../index.md)\n";

pub mod ab;
pub mod artifact;
pub mod calibration;
pub mod choice;
pub mod claims;
pub mod counters;
pub mod counts;
pub mod diff;
pub mod error;
pub mod errors;
pub mod experiment;
pub mod foreign;
pub mod hash;
pub mod implementation;
pub mod kernel;
pub mod ladder;
pub mod operation;
pub mod profiles;
pub mod published;
pub mod results;
pub mod stats;
pub mod store;
pub mod summary;
pub mod table;
pub mod verdict;

pub use error::Invalid;
