//! What a kernel needs of a GPU: the names of the device crate's `gpu` module, on the CPU.
//!
//! Each call is checked and counted where the kernel makes it. The maths have the formulas of the device;
//! where it approximates, the host rounds once: `reciprocal` and `rsqrt` are within 1 ulp, the power of two in
//! `exp` within 1 ulp, and subnormal numbers count as zero as they do there.

mod global;
mod grid;
#[path = "../../../kernels/device/src/gpu/index.rs"]
mod index;
mod kernel;
mod maths;
#[path = "../../../kernels/device/src/gpu/quad.rs"]
mod quad;
mod shared;
#[path = "../../../kernels/device/src/gpu/unrolled.rs"]
mod unrolled;
mod warp;

pub use crate::memory::shared::Declaration;
pub use crate::{kernel, shared};
pub use global::{In, Out};
pub use grid::{barrier, block_x, block_y, block_z, thread_x, thread_y, threads_x, threads_y};
pub use index::split;
pub use kernel::{Argument, Kernel, Parameter, Type};
pub use maths::{div, exp, exp2, fma, max, reciprocal, rsqrt};
pub use quad::F32x4;
pub use shared::Shared;
pub use unrolled::{array, each};
pub use warp::{broadcast, shuffle, shuffle_down, shuffle_u32, shuffle_xor};
