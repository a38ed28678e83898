//! What a kernel needs of a GPU, and nothing else: indices, barrier, shuffles, checked parameters, shared
//! arrays, and the arithmetic whose rounding matters.
//!
//! All `unsafe` and all assembly of the device side is here; a kernel file has neither.
//!
//! A kernel is launched with arrays of the sizes that its dims imply, with every array aligned to 16 bytes,
//! and keeps its indices inside them: on nvptx64 an access costs its one instruction and is not checked.

mod index;
mod quad;
mod unroll;

pub use index::split;
pub use quad::F32x4;
pub use unroll::{array, each};

#[cfg(target_arch = "nvptx64")]
mod nvptx;
#[cfg(target_arch = "nvptx64")]
pub use nvptx::*;
