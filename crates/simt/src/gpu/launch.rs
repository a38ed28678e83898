//! What two launches of a sequence know of each other. Here one runs after the other; an access of scratch memory in a launch
//! that [overlaps](crate::Launch::overlapping) the one before, with no wait before, is a fault.

use crate::worker::with;

/// Lets the launch after this one begin, once every block has come here or has ended.
pub fn launch_dependents() {}

/// Waits until the launch before this one has ended: all that it wrote is there.
pub fn wait_for_prerequisites() {
    with(|worker| worker.wait_for_prerequisites());
}
