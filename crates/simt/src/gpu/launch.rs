//! What the second launch of two knows of the first. Here one runs after the other; an access of scratch memory in a launch
//! that begins [before what the other wrote is there](crate::Launch::programmatic), with no wait before, is a fault.

use crate::worker::with;

/// Waits until all is there that the launch before this one wrote.
pub fn wait_for_prerequisites() {
    with(|worker| worker.wait_for_prerequisites());
}
