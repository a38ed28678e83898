//! Barriers in shared memory, at which some threads arrive and others wait.

use super::Shared;
use crate::lane::{self, Event};
use crate::memory::shared::Place;
use crate::worker::{checked, with};
use std::panic::Location;

/// A barrier of 8 bytes. Its phase is complete when as many threads have arrived as it expects; the next begins
/// at once.
#[derive(Debug, Clone, Copy)]
pub struct Mbarrier {
    pub(super) place: Place,
    pub(super) index: u32,
}

impl Mbarrier {
    /// The barrier at words `2 * index` and `2 * index + 1` of `array`.
    pub fn at<T, const N: usize>(array: Shared<T, N>, index: u32) -> Self {
        Self {
            place: array.place,
            index,
        }
    }

    /// Prepares the barrier for `arrivals` a phase, by one thread, before a barrier of the block.
    #[track_caller]
    pub fn init(self, arrivals: u32) {
        let at = Location::caller();
        checked(|worker| worker.prepare_mbarrier(self.place, self.index, arrivals, at));
    }

    /// Arrives, and makes what this thread did before visible to those that wait.
    #[track_caller]
    pub fn arrive(self) {
        self.arrive_and_expect(0);
    }

    /// Arrives, as [`arrive`](Self::arrive), and has the phase wait for `bytes` of copies as well.
    #[track_caller]
    pub fn arrive_and_expect(self, bytes: u32) {
        let at = Location::caller();
        checked(|worker| worker.arrive(worker.rank(), self.place, self.index, bytes, at));
    }

    /// Arrives at this barrier of block `rank` of the cluster: tells it that this thread is done with reading.
    #[track_caller]
    pub fn arrive_in(self, rank: u32) {
        let at = Location::caller();
        checked(|worker| worker.arrive(rank, self.place, self.index, 0, at));
    }

    /// Waits until phase `phase` is complete, of which the last bit counts. It must be the one under way or the
    /// one before.
    #[track_caller]
    pub fn wait(self, phase: u32) {
        let (at, parity) = (Location::caller(), phase & 1);
        let number = checked(|worker| worker.wait(self.place, self.index, at));
        lane::wait(Event::Mbarrier { at, number, parity });
    }
}

/// Makes the barriers that this thread prepared visible to the cluster, and to copies; a barrier of the cluster
/// follows.
pub fn publish_barriers() {
    with(|worker| worker.publish_mbarriers());
}
