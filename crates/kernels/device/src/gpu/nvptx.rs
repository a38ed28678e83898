//! The GPU itself: LLVM's NVPTX intrinsics, and PTX where there is none.
#![allow(unsafe_code)]

mod global;
mod grid;
mod kernel;
mod maths;
mod shared;
mod warp;

pub use global::{In, Out};
pub use grid::{barrier, block_x, block_y, block_z, thread_x, thread_y, threads_x, threads_y};
pub(crate) use kernel::kernel;
pub use maths::{div, exp, fma, reciprocal, rsqrt};
pub use shared::Shared;
#[allow(unused_imports)] // not every variant has a shared array
pub(crate) use shared::shared;
pub use warp::{broadcast, shuffle_down};
