//! Nsight Systems captures as kernel rows, and nothing that could be a wrong number.
//!
//! One capture flows in one direction: [`find`] a profiler that works, [`capture`] one case with it,
//! read the rows of its export ([`sqlite`]), and [`attribute`] each row to the iteration that launched
//! it. [`run`] does so for every case of an experiment, [`ladder`] for every kernel variant, all in
//! one capture; [`import`] reads a report made elsewhere, as
//! SQLite export or as the text of `nsys stats` ([`csv`]).
//!
//! [`counters`] wraps Nsight Compute ([`ncu`]) around the same targets, for hardware counters.

mod answer;
pub mod attribute;
pub mod calibrate;
pub mod capture;
mod child;
pub mod cli;
pub mod counters;
pub mod csv;
pub mod environment;
mod error;
pub mod find;
pub mod import;
pub mod ladder;
pub mod ncu;
pub mod run;
pub mod sqlite;
mod text;

pub use error::{Error, is_no_profiler};
