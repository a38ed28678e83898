//! Barriers in shared memory (`mbarrier`), at which some threads arrive and others wait.

use crate::gpu::Shared;
use core::arch::asm;

/// A barrier of 8 bytes. Its phase is complete when as many threads have arrived as it expects; the next begins
/// at once.
#[derive(Clone, Copy)]
pub struct Mbarrier(u32);

impl Mbarrier {
    /// The barrier at words `2 * index` and `2 * index + 1` of `array`.
    #[inline(always)]
    pub fn at<T, const N: usize>(array: Shared<T, N>, index: u32) -> Self {
        Self(array.address() + 8 * index)
    }

    /// Prepares the barrier for `arrivals` a phase, by one thread, before a barrier of the block.
    #[inline(always)]
    pub fn init(self, arrivals: u32) {
        // SAFETY: inside the array that the kernel declared.
        unsafe {
            asm!("mbarrier.init.shared.b64 [{}], {};", in(reg32) self.0, in(reg32) arrivals, options(nostack));
        }
    }

    /// Arrives, and makes what this thread did before visible to those that wait.
    #[inline(always)]
    pub fn arrive(self) {
        // SAFETY: inside the array that the kernel declared.
        unsafe { asm!("mbarrier.arrive.shared.b64 _, [{}];", in(reg32) self.0, options(nostack)) }
    }

    /// Arrives, as [`arrive`](Self::arrive), and has the phase wait for `bytes` of copies as well.
    #[inline(always)]
    pub fn arrive_and_expect(self, bytes: u32) {
        // SAFETY: inside the array that the kernel declared.
        unsafe {
            asm!("mbarrier.arrive.expect_tx.shared.b64 _, [{}], {};", in(reg32) self.0, in(reg32) bytes,
                options(nostack));
        }
    }

    /// Arrives at this barrier of block `rank` of the cluster: tells it that this thread is done with reading. It makes
    /// no writes visible there, which would take a fence of the whole device.
    #[inline(always)]
    pub fn arrive_in(self, rank: u32) {
        // SAFETY: as for `arrive`; the other block has started and has not ended.
        unsafe {
            asm!(
                "{{",
                ".reg .b32 there;",
                "mapa.shared::cluster.u32 there, {}, {};",
                "mbarrier.arrive.shared::cluster.b64 _, [there];",
                "}}",
                in(reg32) self.0,
                in(reg32) rank,
                options(nostack),
            );
        }
    }

    /// Where it stands in the shared window, in bytes.
    #[inline(always)]
    pub(super) fn address(self) -> u32 {
        self.0
    }

    /// Waits until phase `phase` is complete, of which the last bit counts. It must be the one under way or the
    /// one before.
    #[inline(always)]
    pub fn wait(self, phase: u32) {
        while !self.is_complete(phase & 1) {}
    }

    /// Whether the phase of this parity is complete; the device may wait a while for it
    /// (`mbarrier.try_wait.parity`).
    #[inline(always)]
    fn is_complete(self, parity: u32) -> bool {
        let complete: u32;
        // SAFETY: inside the array that the kernel declared.
        unsafe {
            asm!(
                "{{",
                ".reg .pred p;",
                "mbarrier.try_wait.parity.shared.b64 p, [{barrier}], {parity};",
                "selp.u32 {complete}, 1, 0, p;",
                "}}",
                barrier = in(reg32) self.0,
                parity = in(reg32) parity,
                complete = out(reg32) complete,
                options(nostack),
            );
        }
        complete != 0
    }
}

/// Makes the barriers that this thread prepared visible to the cluster, and to copies
/// (`fence.mbarrier_init`); a barrier of the cluster follows.
#[inline(always)]
pub fn publish_barriers() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("fence.mbarrier_init.release.cluster;", options(nostack)) }
}
