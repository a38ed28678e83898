//! Nsight Compute: where it is, and the table that it prints.

mod find;
mod number;
mod permission;
mod table;

pub use find::{Ncu, VARIABLE, find};
pub use number::{Number, number};
pub use permission::{Permission, permission};
pub use table::{Cell, Row, rows};

/// What to do where the driver keeps counters from users.
pub const PERMISSION: &str = "run as root, or let users read counters: NVreg_RestrictProfilingToAdminUsers=0 for the \
    kernel module nvidia; in a container also --cap-add SYS_ADMIN (https://developer.nvidia.com/ERR_NVGPUCTRPERM)";

/// Whether `ncu` says that counters are not permitted.
pub fn not_permitted(words: &str) -> bool {
    words.contains("ERR_NVGPUCTRPERM")
}
