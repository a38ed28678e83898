//! Where a thread stands, and the barrier of its block.

use core::arch::{asm, nvptx};

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident = $register:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reads a special register that every thread has.
            unsafe { nvptx::$register() as u32 }
        }
    )*};
}

special_registers! {
    /// Index of the thread in its block, x (`%tid.x`).
    thread_x = _thread_idx_x;
    /// Index of the thread in its block, y (`%tid.y`).
    thread_y = _thread_idx_y;
    /// Threads of a block, x (`%ntid.x`).
    threads_x = _block_dim_x;
    /// Threads of a block, y (`%ntid.y`).
    threads_y = _block_dim_y;
    /// Index of the block in the grid, x (`%ctaid.x`).
    block_x = _block_idx_x;
    /// Index of the block in the grid, y (`%ctaid.y`).
    block_y = _block_idx_y;
    /// Index of the block in the grid, z (`%ctaid.z`).
    block_z = _block_idx_z;
}

/// Waits for every thread of the block, and makes what each wrote before it visible to all (`bar.sync 0`).
/// Every thread of the block must reach the same barriers in the same order.
#[inline(always)]
pub fn barrier() {
    // SAFETY: kernels reach it from control flow that is the same for the whole block; a mistake there is a
    // hang or a wrong result, not an access outside memory.
    unsafe { nvptx::_syncthreads() }
}

/// Waits for `THREADS` threads of the block, whole warps, at its barrier `BARRIER` of 16, of which [`barrier`](fn@barrier) is
/// 0, and makes what each wrote before it visible to those that wait (`bar.sync`).
#[inline(always)]
pub fn group_barrier<const BARRIER: u32, const THREADS: u32>() {
    // SAFETY: as for `barrier`.
    unsafe { asm!("bar.sync {}, {};", const BARRIER, const THREADS, options(nostack)) }
}

/// Arrives at a [`group_barrier`] and does not wait (`bar.arrive`).
#[inline(always)]
pub fn group_arrive<const BARRIER: u32, const THREADS: u32>() {
    // SAFETY: as for `barrier`.
    unsafe { asm!("bar.arrive {}, {};", const BARRIER, const THREADS, options(nostack)) }
}

/// A [`barrier`] that tells every thread of the block whether `value` holds in any (`bar.red.or`).
#[inline(always)]
pub fn barrier_or(value: bool) -> bool {
    let any: u32;
    // SAFETY: as for `barrier`.
    unsafe {
        asm!(
            "{{",
            ".reg .pred p;",
            "setp.ne.u32 p, {value}, 0;",
            "bar.red.or.pred p, 0, p;",
            "selp.u32 {any}, 1, 0, p;",
            "}}",
            value = in(reg32) u32::from(value),
            any = out(reg32) any,
            options(nostack),
        );
    }
    any != 0
}
