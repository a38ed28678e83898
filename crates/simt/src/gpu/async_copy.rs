//! Copies from global to shared memory that run beside the thread that started them. A copy belongs to the next group
//! that its thread closes; until that group is [waited for](wait_for_copies), where it arrives is neither read nor
//! written.

use super::{In, Mbarrier, Shared};
use crate::worker::{checked, with};
use std::panic::Location;

impl<const N: usize> Shared<f32, N> {
    /// Starts a copy of the elements `4 * from_quad .. 4 * from_quad + 4` of `from` to those of this array from
    /// `4 * quad` on.
    #[track_caller]
    pub fn start_copy4(self, quad: u32, from: In<f32>, from_quad: u32) {
        let at = Location::caller();
        let first = from.at(0) + 4 * from_quad as usize;
        checked(|worker| worker.start_copy(self.place, quad, from.number, first, at));
    }

    /// As [`start_copy4`](Self::start_copy4); on the device, through the L1 cache.
    #[track_caller]
    pub fn start_copy4_cached(self, quad: u32, from: In<f32>, from_quad: u32) {
        self.start_copy4(quad, from, from_quad);
    }
}

/// Closes a group: all copies that this thread started since the last one, which may be none.
pub fn close_copies() {
    with(|worker| worker.close_copies());
}

/// Waits until all groups of copies of this thread but the last `LEFT` are done. A barrier makes what arrived visible
/// to the other threads.
pub fn wait_for_copies<const LEFT: u32>() {
    with(|worker| worker.end_copies(LEFT));
}

impl Mbarrier {
    /// Arrives once all copies that this thread started before are done: whoever waits for the phase sees what they
    /// brought.
    #[track_caller]
    pub fn arrive_after_copies(self) {
        let at = Location::caller();
        checked(|worker| worker.arrive_after_copies(self.place, self.index, at));
    }
}
