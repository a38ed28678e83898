//! What a launch did, by source line and in total.

mod counts;
pub(crate) mod memory;
pub(crate) mod op;
pub(crate) mod sites;

pub use counts::{Bulk, Counts, Global, Line, Shared, Tally, Work};
