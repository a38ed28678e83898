//! The GPU itself: LLVM's NVPTX intrinsics, and PTX where there is none.
#![allow(unsafe_code)]

mod async_copy;
mod boxes;
mod bulk;
mod cluster;
mod global;
mod grid;
mod kernel;
mod launch;
mod maths;
mod mbarrier;
mod scratch;
mod shared;
mod tensor;
mod warp;
mod wgmma;

pub use async_copy::{close_copies, wait_for_copies};
pub use boxes::Boxes;
pub use bulk::{
    close_stores, fence_async_global, fence_async_shared, wait_for_reads_of_stores, wait_for_stores,
};
pub use cluster::{cluster_arrive, cluster_arrive_relaxed, cluster_rank, cluster_wait};
pub use global::{In, Out};
pub use grid::{
    barrier, barrier_or, block_x, block_y, block_z, group_arrive, group_barrier, thread_x,
    thread_y, threads_x, threads_y,
};
pub(crate) use kernel::kernel;
pub use launch::wait_for_prerequisites;
pub use maths::{div, exp, exp2, fma, max, reciprocal, rsqrt};
pub use mbarrier::{Mbarrier, publish_barriers};
pub use scratch::{GridBarrier, Meeting, Scratch, fence_device};
pub use shared::Shared;
#[allow(unused_imports)] // not every variant has a shared array
pub(crate) use shared::shared;
pub use tensor::{
    cut_tf32, cut_tf32_by, max_magnitudes, mma_f16, mma_tf32, split_f16, split_tf32, tf32_mask,
    unpack_f16,
};
pub use warp::{
    broadcast, elected, shuffle, shuffle_down, shuffle_u32, shuffle_xor, shuffle_xor_u32, uniform,
    warp_barrier,
};
pub use wgmma::{Accumulators, Columns, Pairs, give_registers, take_registers};
