//! Copies between shared and global memory that no thread carries out (`cp.async.bulk`, compute capability 9.0):
//! one thread starts them. A quad is 16 bytes.

use crate::gpu::{In, Mbarrier, Out, Shared};
use core::arch::asm;

impl<const N: usize> Shared<f32, N> {
    /// Starts a copy of `quads` quads of this array, from `quad` on, to those of `to` from `to_quad` on. What threads
    /// wrote here is ordered by [`fence_async`], and a barrier lies in between.
    #[inline(always)]
    pub fn start_store(self, quad: u32, to: Out<f32>, to_quad: u32, quads: u32) {
        // SAFETY: inside the array that the kernel declared, and inside the output, whose elements here belong to
        // this thread.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "cp.async.bulk.global.shared::cta.bulk_group [global], [{}], {}; }}",
                in(reg64) to.quad(to_quad), in(reg32) self.quad(quad), in(reg32) 16 * quads, options(nostack));
        }
    }

    /// Starts a copy of `quads` quads of `from`, from `from_quad` on, to those of this array from `quad` on. Its
    /// bytes count at `barrier`.
    #[inline(always)]
    pub fn start_load(
        self,
        quad: u32,
        from: In<f32>,
        from_quad: u32,
        quads: u32,
        barrier: Mbarrier,
    ) {
        // SAFETY: inside the array that the kernel declared, and inside the input.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [global], {}, [{}]; }}",
                in(reg64) from.quad(from_quad), in(reg32) self.quad(quad), in(reg32) 16 * quads,
                in(reg32) barrier.address(), options(nostack));
        }
    }
}

/// Closes the group of the stores that this thread started so far.
#[inline(always)]
pub fn close_stores() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("cp.async.bulk.commit_group;", options(nostack)) }
}

/// Waits until all stores that this thread started are in global memory.
#[inline(always)]
pub fn wait_for_stores() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("cp.async.bulk.wait_group 0;", options(nostack)) }
}

/// Orders what this thread did and saw, in any memory, before the copies that it, or a thread that a barrier after
/// it lets go on, starts; and copies that it waited for before what it does (`fence.proxy.async`).
#[inline(always)]
pub fn fence_async() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("fence.proxy.async;", options(nostack)) }
}

/// As [`fence_async`], for shared memory of this block alone, and without the wait for global memory that the former
/// takes.
#[inline(always)]
pub fn fence_async_shared() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack)) }
}
