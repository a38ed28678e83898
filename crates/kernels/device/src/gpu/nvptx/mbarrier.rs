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
    pub fn at<const N: usize>(array: Shared<u32, N>, index: u32) -> Self {
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
