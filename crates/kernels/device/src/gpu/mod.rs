//! What a kernel needs of a GPU, and nothing else: indices, barrier, shuffles, checked parameters, shared
//! arrays, and the arithmetic whose rounding matters.
//!
//! All `unsafe` and all assembly of the device side is here; a kernel file has neither.
//!
//! A kernel is launched with arrays of the sizes that its dims imply, with every array aligned to 16 bytes,
//! and keeps its indices inside them: on nvptx64 an access costs its one instruction and is not checked. So
//! `get` and `set` are safe to call only under that contract, which Rust cannot see: a stated exception, made so
//! that a kernel reads as mathematics. The CPU executor runs the same source with every access checked.

mod index;
mod quad;
mod unrolled;

pub use index::split;
pub use quad::F32x4;
#[allow(unused_imports)]
pub(crate) use unrolled::unrolled;
pub use unrolled::{array, each};

#[cfg(target_arch = "nvptx64")]
mod nvptx;
#[cfg(target_arch = "nvptx64")]
pub use nvptx::*;
