//! Blocks of a cluster: its barrier, and shared memory of the other blocks.

use super::{F32x4, Mbarrier, Shared};
use crate::count::op::Kind;
use crate::lane::{self, Event};
use crate::worker::{checked, with};
use std::panic::Location;

/// Index of the block in its cluster.
pub fn cluster_rank() -> u32 {
    with(|worker| worker.rank())
}

/// Tells the cluster that this thread is here, and makes what it wrote before visible to every thread that
/// waits for it. A [`cluster_wait`] follows.
#[track_caller]
pub fn cluster_arrive() {
    let at = Location::caller();
    with(|worker| worker.arrive_cluster(at));
}

/// As [`cluster_arrive`], but what this thread wrote is not made visible, except for barriers that it published.
#[track_caller]
pub fn cluster_arrive_relaxed() {
    let at = Location::caller();
    with(|worker| worker.arrive_cluster_relaxed(at));
}

/// Waits until every thread of the cluster that has not ended has arrived.
#[track_caller]
pub fn cluster_wait() {
    let at = Location::caller();
    let arrivals = with(|worker| worker.cluster_arrivals());
    lane::wait(Event::Cluster { at, arrivals });
}

impl<const N: usize> Shared<u32, N> {
    /// Writes `value` at `index` of this array in block `rank` of the cluster.
    #[track_caller]
    pub fn set_in(self, rank: u32, index: u32, value: u32) {
        let (at, kind) = (Location::caller(), Kind::SharedStore);
        checked(|worker| worker.store_in(kind, rank, self.place, index, &[value], at));
    }
}

impl<const N: usize> Shared<f32, N> {
    /// Writes the elements `4 * quad .. 4 * quad + 4` of this array in block `rank` of the cluster.
    #[track_caller]
    pub fn set4_in(self, rank: u32, quad: u32, value: F32x4) {
        let (at, kind) = (Location::caller(), Kind::SharedStore4);
        let words = value.0.map(f32::to_bits);
        checked(|worker| worker.store_in(kind, rank, self.place, 4 * quad, &words, at));
    }

    /// As [`set4_in`](Self::set4_in), by a write that only `barrier` of that block orders: the 16 bytes count there, and
    /// whoever waits for its phase sees them. No fence is needed.
    #[track_caller]
    pub fn send4(self, rank: u32, quad: u32, value: F32x4, barrier: Mbarrier) {
        let (at, mbarrier) = (Location::caller(), (barrier.place, barrier.index));
        let words = value.0.map(f32::to_bits);
        checked(|worker| worker.send(rank, self.place, quad, words, mbarrier, at));
    }
}
