//! Copies from global to shared memory that go through no register (`cp.async`) and run beside the thread that
//! started them. A copy belongs to the next group that its thread closes; until that group is
//! [waited for](wait_for_copies), where it arrives is neither read nor written.

use crate::gpu::{In, Mbarrier, Shared};
use core::arch::asm;

impl<const N: usize> Shared<f32, N> {
    /// Starts a copy of the elements `4 * from_quad .. 4 * from_quad + 4` of `from` to those of this array from
    /// `4 * quad` on, past the L1 cache (`cp.async.cg`).
    #[inline(always)]
    pub fn start_copy4(self, quad: u32, from: In<f32>, from_quad: u32) {
        // SAFETY: both quads lie in their arrays, as for `get4` and `set4`, and are aligned to 16 bytes.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "cp.async.cg.shared.global [{}], [global], 16; }}",
                in(reg64) from.quad(from_quad), in(reg32) self.quad(quad), options(nostack));
        }
    }

    /// As [`start_copy4`](Self::start_copy4), through the L1 cache, for what other blocks of the multiprocessor copy
    /// too (`cp.async.ca`).
    #[inline(always)]
    pub fn start_copy4_cached(self, quad: u32, from: In<f32>, from_quad: u32) {
        // SAFETY: as for `start_copy4`.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "cp.async.ca.shared.global [{}], [global], 16; }}",
                in(reg64) from.quad(from_quad), in(reg32) self.quad(quad), options(nostack));
        }
    }
}

/// Closes a group: all copies that this thread started since the last one, which may be none
/// (`cp.async.commit_group`).
#[inline(always)]
pub fn close_copies() {
    // SAFETY: only numbers the copies of the thread.
    unsafe { asm!("cp.async.commit_group;", options(nostack)) }
}

/// Waits until all groups of copies of this thread but the last `LEFT` are done (`cp.async.wait_group`). A barrier
/// makes what arrived visible to the other threads.
#[inline(always)]
pub fn wait_for_copies<const LEFT: u32>() {
    // SAFETY: only waits.
    unsafe { asm!("cp.async.wait_group {};", const LEFT, options(nostack)) }
}

impl Mbarrier {
    /// Arrives once all copies that this thread started before are done (`cp.async.mbarrier.arrive.noinc`): whoever
    /// waits for the phase sees what they brought.
    #[inline(always)]
    pub fn arrive_after_copies(self) {
        // SAFETY: inside the array that the kernel declared.
        unsafe {
            asm!("cp.async.mbarrier.arrive.noinc.shared.b64 [{}];", in(reg32) self.address(), options(nostack));
        }
    }
}
