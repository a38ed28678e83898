//! What happened before what, among the threads of the blocks that run together: one block, or a cluster.
//!
//! They run one at a time, so that one count, the time, numbers what they do. It goes on whenever something orders
//! accesses: a barrier, an arrival, a fence. What a thread did before the last barrier of its block is known to every
//! thread of that block; what else a thread knows is in its [`Clock`].

use super::clock::Clock;
use super::stamp::Stamp;
use crate::count::memory::LANES;
use std::ops::Range;

/// The time of an access that is still under way: a copy that nobody waited for.
pub(crate) const UNDER_WAY: u32 = u32::MAX;

/// What happened before what.
#[derive(Debug, Default)]
pub(crate) struct Order {
    now: u32,
    /// When the blocks that run began: what was written before is not there.
    begin: u32,
    /// Threads of a block.
    threads: usize,
    /// Of the block that runs: when its last barrier was.
    floor: u32,
    /// The threads of the block that runs.
    own: Range<u16>,
    /// When the last barrier of each block was.
    floors: Vec<u32>,
    /// What each thread knows beside that.
    clocks: Vec<Clock>,
    /// When each thread last made what it wrote visible to copies and to products of warpgroups.
    fences: Vec<u32>,
    /// Whether a thread may know something beside that.
    clocked: bool,
}

impl Order {
    /// Begins so many blocks: nothing is written yet. Whether the times begin anew, so that no stamp counts any more.
    pub(crate) fn begin(&mut self, blocks: usize, threads: usize) -> bool {
        let anew = self.now >= u32::MAX / 2;
        if anew {
            self.now = 0;
        }
        self.now += 1;
        self.begin = self.now;
        self.threads = threads;
        self.floors.clear();
        self.floors.resize(blocks, self.now);
        if self.clocked || self.clocks.len() != blocks * threads {
            self.clocks.clear();
            self.clocks.resize(blocks * threads, Clock::default());
            self.clocked = false;
        }
        self.fences.clear();
        anew
    }

    /// The block of this rank runs.
    pub(crate) fn enter(&mut self, rank: usize) {
        self.floor = self.floors[rank];
        let first = rank * self.threads;
        self.own = first as u16..(first + self.threads) as u16;
    }

    pub(crate) fn now(&self) -> u32 {
        self.now
    }

    pub(crate) fn floor(&self) -> u32 {
        self.floor
    }

    /// Whether a stamp is of blocks that ran before.
    pub(crate) fn is_past(&self, stamp: Stamp) -> bool {
        stamp.when() < self.begin
    }

    /// The number that stands for the copies that count at an mbarrier: after those of the threads.
    pub(crate) fn copies_at(&self, mbarrier: usize) -> u16 {
        u16::try_from(self.clocks.len() + mbarrier).expect("a cluster has fewer than 65536 threads")
    }

    /// The mbarrier at which copies of this number count; none of a thread's number.
    pub(crate) fn mbarrier_of(&self, lane: u16) -> Option<usize> {
        usize::from(lane).checked_sub(self.clocks.len())
    }

    /// Whether the access of that stamp happened before what thread `by` does now.
    #[inline]
    pub(crate) fn is_before(&self, stamp: Stamp, by: u16) -> bool {
        (stamp.when() < self.floor && self.own.contains(&stamp.lane())) || self.is_known(stamp, by)
    }

    /// Whether two writes of a word are of one instruction of a warp: of several lanes that write one value, one does.
    pub(crate) fn is_one_write(&self, one: Stamp, other: Stamp) -> bool {
        let warp = |stamp: Stamp| {
            let lane = usize::from(stamp.lane());
            (lane / self.threads, lane % self.threads / LANES)
        };
        one.when() == other.when()
            && one.when() != UNDER_WAY
            && one.site() == other.site()
            && warp(one) == warp(other)
    }

    #[inline(never)]
    fn is_known(&self, stamp: Stamp, by: u16) -> bool {
        let when = stamp.when();
        when < self.begin
            || (stamp.lane() == by && when != UNDER_WAY)
            || self.clocks[usize::from(by)].knows(stamp.lane(), when)
    }

    /// Whether times within the span from barrier to barrier matter.
    pub(crate) fn is_clocked(&self) -> bool {
        self.clocked
    }

    /// All threads of the block of this rank meet.
    pub(crate) fn barrier(&mut self, rank: usize) {
        let first = rank * self.threads;
        self.now += 1;
        self.floors[rank] = self.now;
        self.floor = self.now;
        if self.clocked || self.floors.len() > 1 {
            self.share(first..first + self.threads);
        }
    }

    /// The threads of a warp meet.
    pub(crate) fn meet(&mut self, threads: Range<usize>) {
        self.now += 1;
        self.share(threads);
    }

    /// Lets each of these threads know what all did and know.
    fn share(&mut self, threads: Range<usize>) {
        let mut joined = Clock::default();
        for clock in &self.clocks[threads.clone()] {
            joined.join(clock);
        }
        for thread in threads.clone() {
            joined.set(thread as u16, self.now);
        }
        self.clocks[threads].fill(joined);
        self.clocked = true;
    }

    /// What thread `by` did and knows, for those that wait for it.
    pub(crate) fn release(&mut self, by: u16) -> Clock {
        self.now += 1;
        self.clocked = true;
        let mut clock = self.clocks[usize::from(by)].clone();
        clock.set(by, self.now);
        clock
    }

    /// Thread `by` knows that too.
    pub(crate) fn acquire(&mut self, by: u16, clock: &Clock) {
        self.clocked = true;
        self.clocks[usize::from(by)].join(clock);
    }

    /// Thread `by` makes what it wrote visible to copies and products.
    pub(crate) fn fence(&mut self, by: u16) {
        self.now += 1;
        self.clocked = true;
        self.fences.resize(self.clocks.len(), 0);
        self.fences[usize::from(by)] = self.now;
    }

    /// Whether the write of that stamp is visible to copies and products.
    pub(crate) fn is_fenced(&self, stamp: Stamp) -> bool {
        let lane = usize::from(stamp.lane());
        lane >= self.clocks.len()
            || self
                .fences
                .get(lane)
                .is_some_and(|&time| stamp.when() < time)
    }

    /// Thread `by` knows what copies of this number wrote before `time`.
    pub(crate) fn know(&mut self, by: u16, copies: u16, time: u32) {
        self.clocked = true;
        self.clocks[usize::from(by)].set(copies, time);
    }

    /// A time that nothing else has, after all that was.
    pub(crate) fn tick(&mut self) -> u32 {
        self.now += 1;
        self.clocked = true;
        self.now
    }
}
