//! What the second launch of two knows of the first (programmatic dependent launch, compute capability 9.0): it begins when
//! the blocks of the first have ended, before all that they wrote is there, where the table of variants has it so
//! (`programmatic`).

use core::arch::asm;

/// Waits until all is there that the launch before this one wrote (`griddepcontrol.wait`). Before that, or before a barrier
/// after it in another thread, nothing is read that the launch before writes, or written that it reads.
#[inline(always)]
pub fn wait_for_prerequisites() {
    // SAFETY: only waits.
    unsafe { asm!("griddepcontrol.wait;", options(nostack)) }
}
