//! What a kernel needs of a GPU: the names of the device crate's `gpu` module, on the CPU.
//!
//! Each call is checked and counted where the kernel makes it. The maths have the formulas of the device;
//! where it approximates, the host rounds once: `reciprocal` and `rsqrt` are within 1 ulp, the power of two in
//! `exp` within 1 ulp, and subnormal numbers count as zero as they do there.

mod async_copy;
mod boxes;
mod bulk;
mod cluster;
mod global;
mod grid;
mod half;
#[path = "../../../kernels/device/src/gpu/index.rs"]
mod index;
mod kernel;
mod launch;
mod maths;
mod mbarrier;
#[path = "../../../kernels/device/src/gpu/quad.rs"]
mod quad;
mod scratch;
mod shared;
mod tensor;
#[path = "../../../kernels/device/src/gpu/unrolled.rs"]
mod unrolled;
mod warp;
mod wgmma;

pub use crate::memory::shared::Declaration;
pub use crate::{kernel, shared};
pub use async_copy::{close_copies, wait_for_copies};
pub use boxes::Boxes;
pub use bulk::{
    close_stores, fence_async_global, fence_async_shared, wait_for_reads_of_stores, wait_for_stores,
};
pub use cluster::{cluster_arrive, cluster_arrive_relaxed, cluster_rank, cluster_wait};
pub use global::{In, Out};
pub use grid::{
    barrier, barrier_or, block_x, block_y, block_z, thread_x, thread_y, threads_x, threads_y,
};
pub use index::split;
pub use kernel::{Argument, Kernel, Parameter, Type};
pub use launch::wait_for_prerequisites;
pub use maths::{div, exp, exp2, fma, max, reciprocal, rsqrt};
pub use mbarrier::{Mbarrier, publish_barriers};
pub use quad::F32x4;
pub use scratch::Scratch;
pub use shared::Shared;
pub use tensor::{
    cut_tf32, cut_tf32_by, max_magnitudes, mma_f16, mma_tf32, split_f16, split_tf32, tf32_mask,
    unpack_f16,
};
pub(crate) use unrolled::unrolled;
pub use unrolled::{array, each};
pub use warp::{
    broadcast, shuffle, shuffle_down, shuffle_u32, shuffle_xor, shuffle_xor_u32, uniform,
    warp_barrier,
};
pub use wgmma::{Accumulators, Columns, Pairs, give_registers, take_registers};
