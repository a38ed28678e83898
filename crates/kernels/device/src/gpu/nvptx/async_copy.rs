//! Copies from global to shared memory that run beside the thread that asked for them.

use crate::gpu::{In, Shared};
use core::arch::asm;

/// Starts to copy quad `from` of `source` to quad `to` of `shared`, past the L1 cache (`cp.async.cg`). The copy
/// belongs to the next group that the thread closes; until that group is [waited](wait_copies) for, `to` is
/// neither read nor written.
#[inline(always)]
pub fn copy_quad<const N: usize>(shared: Shared<f32, N>, to: u32, source: In<f32>, from: u32) {
    // SAFETY: both quads lie in their arrays, as for `get4` and `set4`, and are aligned to 16 bytes.
    unsafe {
        asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
            "cp.async.cg.shared.global [{}], [global], 16; }}",
            in(reg64) source.quad(from), in(reg32) shared.quad(to), options(nostack));
    }
}

/// As [`copy_quad`], through the L1 cache, for what other blocks of the multiprocessor copy too (`cp.async.ca`).
#[inline(always)]
pub fn copy_quad_cached<const N: usize>(
    shared: Shared<f32, N>,
    to: u32,
    source: In<f32>,
    from: u32,
) {
    // SAFETY: as for `copy_quad`.
    unsafe {
        asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
            "cp.async.ca.shared.global [{}], [global], 16; }}",
            in(reg64) source.quad(from), in(reg32) shared.quad(to), options(nostack));
    }
}

/// Closes a group: all copies of this thread since the last one, which may be none (`cp.async.commit_group`).
#[inline(always)]
pub fn close_copies() {
    // SAFETY: only numbers the copies of the thread.
    unsafe { asm!("cp.async.commit_group;", options(nostack)) }
}

/// Waits until at most the last `PENDING` groups of this thread run (`cp.async.wait_group`). A barrier makes
/// what arrived visible to the other threads.
#[inline(always)]
pub fn wait_copies<const PENDING: usize>() {
    // SAFETY: only waits.
    unsafe { asm!("cp.async.wait_group {};", const PENDING, options(nostack)) }
}
