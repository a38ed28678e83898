//! The barrier of a cluster, and its blocks.

use super::{At, Checked, Worker};
use crate::count::op::{Kind, Op};
use crate::fault::{Access, Fault};
use crate::memory::clock::Clock;
use crate::memory::shared;

/// The barrier of the threads of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
    /// How often each thread has arrived; more often than any waits for once it has returned.
    arrivals: Vec<u32>,
    /// What those know that arrived, by how often they had done so before.
    clocks: Vec<Clock>,
    /// How often all had arrived, when it was last looked at.
    complete: u32,
}

impl Barrier {
    /// Nobody of so many threads has arrived.
    pub(super) fn begin(&mut self, blocks: u32, threads: u32) {
        self.arrivals.clear();
        self.arrivals.resize((blocks * threads) as usize, 0);
        self.clocks.clear();
        self.complete = 0;
    }

    /// Thread `lane` has returned.
    pub(super) fn end(&mut self, lane: u16) {
        self.arrivals[usize::from(lane)] = u32::MAX;
    }

    /// Whether a thread has arrived so many times.
    pub(crate) fn has_arrived(&self, lane: usize, times: u32) -> bool {
        self.arrivals[lane] >= times
    }

    /// What those know that arrived so many times, if all have.
    fn passed(&mut self, times: u32) -> Option<&Clock> {
        if self.complete < times {
            self.complete = self.arrivals.iter().copied().min().unwrap_or_default();
        }
        match self.complete < times || times == 0 {
            true => None,
            false => self.clocks.get(times as usize - 1),
        }
    }
}

impl Worker {
    /// The lane arrives at the barrier of its cluster, and makes what it did and saw visible to those that wait.
    pub(crate) fn arrive_cluster(&mut self, at: At) {
        let clock = self.shared.order.release(self.id);
        self.arrive_cluster_with(&clock, at);
    }

    /// As [`arrive_cluster`](Self::arrive_cluster), with no more than the mbarriers that the lane published.
    pub(crate) fn arrive_cluster_relaxed(&mut self, at: At) {
        let clock = self.published.get(&self.id).cloned().unwrap_or_default();
        self.arrive_cluster_with(&clock, at);
    }

    fn arrive_cluster_with(&mut self, clock: &Clock, at: At) {
        self.count(Kind::ClusterBarrier, at);
        let arrivals = &mut self.cluster.arrivals[usize::from(self.id)];
        let before = *arrivals as usize;
        *arrivals += 1;
        if self.cluster.clocks.len() <= before {
            self.cluster.clocks.resize(before + 1, Clock::default());
        }
        self.cluster.clocks[before].join(clock);
    }

    /// How often the lane has arrived.
    pub(crate) fn cluster_arrivals(&self) -> u32 {
        self.cluster.arrivals[usize::from(self.id)]
    }

    /// Whether a thread that waits for all to have arrived so many times goes on: it sees what they did then.
    pub(crate) fn passes_cluster(&mut self, lane: u16, times: u32) -> bool {
        match self.cluster.passed(times) {
            Some(clock) => {
                self.shared.order.acquire(lane, clock);
                true
            }
            None => false,
        }
    }

    /// That rank, if the cluster has a block of it.
    pub(super) fn block_in(&self, rank: u32, at: At) -> Checked<usize> {
        match rank < self.job.step.cluster {
            true => Ok(rank as usize),
            false => Err(Box::new(Fault::NoBlock {
                rank,
                blocks: self.job.step.cluster,
                place: self.place(at),
            })),
        }
    }

    /// Writes the words from `first` on of a shared array in another block of the cluster, as what `kind` does.
    pub(crate) fn store_in(
        &mut self,
        kind: Kind,
        rank: u32,
        place: shared::Place,
        first: u32,
        words: &[u32],
        at: At,
    ) -> Checked<()> {
        let rank = self.block_in(rank, at)?;
        let site = self.sites.find(at, Op::on(kind, place.array));
        let visit = self.visit(site);
        match self
            .shared
            .set_in(rank, place, first as usize, words, visit)
        {
            Ok(()) => {
                self.sites
                    .access(site, self.warp_lane(), place.base + first);
                Ok(())
            }
            Err(refusal) => Err(self.shared_fault(place, refusal, Access::Write, at)),
        }
    }
}
