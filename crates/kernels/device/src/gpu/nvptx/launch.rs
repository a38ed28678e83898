//! What two launches of a sequence know of each other (programmatic dependent launch, compute capability 9.0): the second
//! may begin while the first runs, where the table of variants has it so (`overlaps`).

use core::arch::asm;

/// Lets the launch after this one begin, once every block has come here or has ended (`griddepcontrol.launch_dependents`).
#[inline(always)]
pub fn launch_dependents() {
    // SAFETY: starts what the host launched anyway.
    unsafe { asm!("griddepcontrol.launch_dependents;", options(nostack)) }
}

/// Waits until the launch before this one has ended: all that it wrote is there (`griddepcontrol.wait`). Before that, or
/// before a barrier after it in another thread, nothing is read that the launch before writes, or written that it reads.
#[inline(always)]
pub fn wait_for_prerequisites() {
    // SAFETY: only waits.
    unsafe { asm!("griddepcontrol.wait;", options(nostack)) }
}
