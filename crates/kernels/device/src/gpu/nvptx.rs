//! The GPU itself: LLVM's NVPTX intrinsics, and PTX where there is none.
#![allow(unsafe_code)]

mod bulk;
mod cluster;
mod global;
mod grid;
mod kernel;
mod maths;
mod mbarrier;
mod scratch;
mod shared;
mod tensor;
mod warp;
mod wgmma;

pub use bulk::{close_stores, fence_async, wait_for_reads_of_stores, wait_for_stores};
pub use cluster::{cluster_arrive, cluster_enter, cluster_rank, cluster_wait};
pub use global::{In, Out};
pub use grid::{barrier, barrier_or, block_x, block_y, block_z, thread_x, thread_y, threads_x, threads_y};
pub(crate) use kernel::kernel;
pub use maths::{div, exp, fma, reciprocal, rsqrt};
pub use mbarrier::{Mbarrier, publish_barriers};
pub use scratch::{GridBarrier, Scratch};
pub use shared::{Shared, close_copies, wait_for_copies};
#[allow(unused_imports)] // not every variant has a shared array
pub(crate) use shared::shared;
pub use tensor::{max_magnitude_f16, mma_f16, split_f16};
pub use warp::{barrier_of_warp, broadcast, exchange, shuffle_down, uniform};
pub use wgmma::{Accumulators, Columns, Pairs, give_registers, publish_to_wgmma, take_registers};
