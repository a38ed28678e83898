//! Copies between shared and global memory that no thread carries out: one thread starts them. A quad is 16 bytes.

use super::{In, Mbarrier, Out, Scratch, Shared};
use crate::worker::{BulkSource, Destination, checked, with};
use std::iter;
use std::panic::Location;

/// Blocks of a cluster that CUDA allows, and more.
const MAX_RANKS: u32 = 16;

/// The ranks whose bit is set.
pub(super) fn ranks(mask: u32) -> impl Iterator<Item = u32> {
    (0..MAX_RANKS).filter(move |rank| mask >> rank & 1 == 1)
}

impl<const N: usize> Shared<u32, N> {
    /// Starts, in threads for which `starts` holds, a copy of `quads` quads of this array, from `quad` on, to those of
    /// `to` from `to_quad` on. What threads wrote here is ordered by [`fence_async_shared`] and a barrier lies
    /// in between.
    #[track_caller]
    pub fn start_store(self, starts: bool, quad: u32, to: Scratch, to_quad: u32, quads: u32) {
        let (at, to) = (Location::caller(), Destination::Scratch(to.number));
        if starts {
            checked(|worker| worker.start_store(self.place, quad, to, to_quad, quads, at));
        }
    }

    /// Starts a copy of `quads` quads of `from`, from `from_quad` on, to those of this array from `quad` on. Its
    /// bytes count at `barrier`.
    #[track_caller]
    pub fn start_load(
        self,
        quad: u32,
        from: Scratch,
        from_quad: u32,
        quads: u32,
        barrier: Mbarrier,
    ) {
        let (at, mbarrier) = (Location::caller(), (barrier.place, barrier.index));
        let source = BulkSource::Scratch {
            number: from.number,
            first: 4 * from_quad as usize,
            quads,
        };
        checked(|worker| {
            let here = iter::once(worker.rank());
            worker.start_load(here, self.place, quad, source, mbarrier, at)
        });
    }

    /// Starts a copy of `quads` quads of `from`, from `from_quad` on, to those from `quad` on of this array in every
    /// block of the cluster whose bit is set in `ranks`. Its bytes count at the same barrier of each.
    #[track_caller]
    pub fn start_load_in(
        self,
        ranks: u32,
        quad: u32,
        from: In<f32>,
        from_quad: u32,
        quads: u32,
        barrier: Mbarrier,
    ) {
        let (at, source) = (Location::caller(), source(from, from_quad, quads));
        let mbarrier = (barrier.place, barrier.index);
        let ranks = self::ranks(ranks);
        checked(|worker| worker.start_load(ranks, self.place, quad, source, mbarrier, at));
    }
}

impl<const N: usize> Shared<f32, N> {
    /// Starts a copy of `quads` quads of this array, from `quad` on, to those of `to` from `to_quad` on. What threads
    /// wrote here is ordered by [`fence_async_shared`], and a barrier lies in between.
    #[track_caller]
    pub fn start_store(self, quad: u32, to: Out<f32>, to_quad: u32, quads: u32) {
        let (at, to) = (Location::caller(), Destination::Output(to.number));
        checked(|worker| worker.start_store(self.place, quad, to, to_quad, quads, at));
    }

    /// Starts a copy of `quads` quads of `from`, from `from_quad` on, to those of this array from `quad` on. Its
    /// bytes count at `barrier`.
    #[track_caller]
    pub fn start_load(
        self,
        quad: u32,
        from: In<f32>,
        from_quad: u32,
        quads: u32,
        barrier: Mbarrier,
    ) {
        let (at, source) = (Location::caller(), source(from, from_quad, quads));
        let mbarrier = (barrier.place, barrier.index);
        checked(|worker| {
            let here = iter::once(worker.rank());
            worker.start_load(here, self.place, quad, source, mbarrier, at)
        });
    }
}

fn source(from: In<f32>, from_quad: u32, quads: u32) -> BulkSource {
    BulkSource::Quads {
        input: from.number,
        first: from.at(0) + 4 * from_quad as usize,
        quads,
    }
}

/// Closes the group of the stores that this thread started so far.
pub fn close_stores() {
    with(|worker| worker.close_stores());
}

/// Waits until all stores that this thread started are in global memory.
#[track_caller]
pub fn wait_for_stores() {
    let at = Location::caller();
    checked(|worker| worker.end_stores(at));
}

/// Waits until all groups of stores but the last `LEFT` have read what they store.
#[track_caller]
pub fn wait_for_reads_of_stores<const LEFT: u32>() {
    let at = Location::caller();
    checked(|worker| worker.end_reads_of_stores(LEFT, at));
}

/// On the device, orders what this thread did and saw in global memory before the copies that it, or a thread that a
/// barrier after it lets go on, starts.
pub fn fence_async_global() {}

/// Makes what this thread wrote to shared memory visible to copies, and to products of any warpgroup, that it, or a
/// thread that a barrier after it lets go on, starts.
pub fn fence_async_shared() {
    with(|worker| worker.fence());
}
