//! Copies between shared and global memory that no thread carries out (`cp.async.bulk`, compute capability 9.0):
//! one thread starts them. A quad is 16 bytes.
//!
//! Where a barrier follows, the thread is chosen by a predicate of the instruction: after a branch the compiler
//! could give the thread a barrier of its own, and the lanes of a warp must meet at the same.

use crate::gpu::{In, Mbarrier, Out, Scratch, Shared};
use core::arch::asm;

impl<const N: usize> Shared<u32, N> {
    /// Starts, in threads for which `starts` holds, a copy of `quads` quads of this array, from `quad` on, to those of
    /// `to` from `to_quad` on. What threads wrote here is ordered by [`fence_async_shared`] and a barrier lies
    /// in between.
    #[inline(always)]
    pub fn start_store(self, starts: bool, quad: u32, to: Scratch, to_quad: u32, quads: u32) {
        // SAFETY: inside the array that the kernel declared, and inside the scratch memory that its dims imply.
        unsafe {
            asm!(
                "{{",
                ".reg .pred p;",
                "setp.ne.u32 p, {starts}, 0;",
                "@p cp.async.bulk.global.shared::cta.bulk_group [{to}], [{from}], {bytes};",
                "}}",
                starts = in(reg32) u32::from(starts),
                to = in(reg64) to.quad(to_quad),
                from = in(reg32) self.quad(quad),
                bytes = in(reg32) 16 * quads,
                options(nostack),
            );
        }
    }

    /// Starts a copy of `quads` quads of `from`, from `from_quad` on, to those of this array from `quad` on. Its
    /// bytes count at `barrier`.
    #[inline(always)]
    pub fn start_load(
        self,
        quad: u32,
        from: Scratch,
        from_quad: u32,
        quads: u32,
        barrier: Mbarrier,
    ) {
        // SAFETY: as for `start_store`.
        unsafe {
            asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
                in(reg32) self.quad(quad), in(reg64) from.quad(from_quad), in(reg32) 16 * quads,
                in(reg32) barrier.address(), options(nostack));
        }
    }

    /// Starts a copy of `quads` quads of `from`, from `from_quad` on, to those from `quad` on of this array in every
    /// block of the cluster whose bit is set in `ranks`. Its bytes count at the same barrier of each.
    #[inline(always)]
    pub fn start_load_in(
        self,
        ranks: u32,
        quad: u32,
        from: In<f32>,
        from_quad: u32,
        quads: u32,
        barrier: Mbarrier,
    ) {
        // SAFETY: inside the array that the launch gives and inside the array that the kernel declared, in blocks
        // that have started and have not ended; both addresses are aligned to 16 bytes.
        unsafe {
            asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
                 [{}], [{}], {}, [{}], {};",
                in(reg32) self.quad(quad), in(reg64) from.quad(from_quad), in(reg32) 16 * quads,
                in(reg32) barrier.address(), in(reg16) ranks as u16, options(nostack));
        }
    }
}

impl<const N: usize> Shared<f32, N> {
    /// Starts a copy of `quads` quads of this array, from `quad` on, to those of `to` from `to_quad` on. What threads
    /// wrote here is ordered by [`fence_async_shared`], and a barrier lies in between.
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

/// Waits until all groups of stores but the last `LEFT` have read what they store.
#[inline(always)]
pub fn wait_for_reads_of_stores<const LEFT: u32>() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("cp.async.bulk.wait_group.read {};", const LEFT, options(nostack)) }
}

/// Orders what this thread did and saw in global memory before the copies that it, or a thread that a barrier after
/// it lets go on, starts; and copies that it waited for before what it does (`fence.proxy.async.global`).
#[inline(always)]
pub fn fence_async_global() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("fence.proxy.async.global;", options(nostack)) }
}

/// Makes what this thread wrote to shared memory visible to copies, and to products of any warpgroup, that it, or a
/// thread that a barrier after it lets go on, starts (`fence.proxy.async.shared::cta`).
#[inline(always)]
pub fn fence_async_shared() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack)) }
}
