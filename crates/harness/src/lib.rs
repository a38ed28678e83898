//! The harness: rotating rounds of event-timed calls, every one behind a full-output check.
//!
//! [`run`] holds the protocol and knows neither CUDA nor Python: it drives [`Implementation`]s and a
//! [`Monitor`], so the protocol is tested without a device. [`bench`] puts the real ones together.

pub mod ab;
pub mod bench;
pub mod capture;
pub mod check;
pub mod cli;
pub mod cpu;
pub mod errors;
pub mod host;
pub mod implementation;
pub mod inputs;
pub mod interrupt;
pub mod ladder;
pub mod limits;
pub mod monitor;
pub mod python;
pub mod run;
pub mod rust;
pub mod verify;
pub mod worker;

pub use implementation::{Implementation, Load, Loaded};
pub use monitor::Monitor;
