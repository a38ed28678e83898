//! Barriers in shared memory.

use super::{At, Checked, Worker};
use crate::count::op::{Kind, Op};
use crate::fault::{Access, Elements, Lacking};
use crate::memory::Refusal;
use crate::memory::clock::Clock;
use crate::memory::shared::Place;
use crate::memory::stamp::Stamp;

/// Words of an mbarrier.
const WORDS: u32 = 2;

impl Worker {
    /// Prepares the mbarrier at words `2 * index` and after of a shared array, for so many arrivals a phase.
    pub(crate) fn prepare_mbarrier(
        &mut self,
        place: Place,
        index: u32,
        arrivals: u32,
        at: At,
    ) -> Checked<()> {
        let (rank, first) = (self.rank() as usize, WORDS * index);
        let word = place.base + first;
        let number = self
            .mbarriers
            .prepare(rank, word, place.array, arrivals, self.id);
        let copies = self.shared.order.copies_at(number);
        let site = self.sites.find(at, Op::on(Kind::Arrival, place.array));
        let stamp = Stamp::new(self.shared.order.tick(), copies, site);
        self.shared
            .fill(rank, place, first as usize, &[0; 2], self.id, stamp)
            .map_err(|refusal| self.shared_fault(place, refusal, Access::Write, at))?;
        let after = self.shared.order.tick();
        self.shared.order.know(self.id, copies, after);
        Ok(())
    }

    /// Makes the mbarriers that the lane prepared visible to its cluster.
    pub(crate) fn publish_mbarriers(&mut self) {
        let time = self.shared.order.tick();
        let clock = self.published.entry(self.id).or_default();
        for number in self.mbarriers.prepared_by(self.id) {
            clock.set(self.shared.order.copies_at(number), time);
        }
    }

    /// The number of the mbarrier at words `2 * index` and after of a shared array of a block.
    pub(super) fn mbarrier(&self, rank: usize, place: Place, index: u32, at: At) -> Checked<usize> {
        let first = WORDS * index;
        let elements = Elements {
            first: first as usize,
            count: WORDS as usize,
        };
        let word = place.base + first;
        let refusal = match self.mbarriers.find(rank, word) {
            None => Refusal::Uninitialised { elements },
            Some(number) => {
                let write = self.shared.written(rank, word);
                if self.shared.order.is_before(write, self.id) {
                    return Ok(number);
                }
                Refusal::Race {
                    elements,
                    other_wrote: true,
                    block: None,
                    lane: self.mbarriers.get(number).prepared_by,
                    site: write.site(),
                }
            }
        };
        Err(self.shared_fault(place, refusal, Access::Read, at))
    }

    /// The lane arrives at an mbarrier, of the block of this rank, and has the phase wait for `bytes` of copies.
    pub(crate) fn arrive(
        &mut self,
        rank: u32,
        place: Place,
        index: u32,
        bytes: u32,
        at: At,
    ) -> Checked<()> {
        let rank = self.block_in(rank, at)?;
        let number = self.mbarrier(rank, place, index, at)?;
        self.count(Kind::Arrival, at);
        let clock = self.shared.order.release(self.id);
        let mbarrier = self.mbarriers.get_mut(number);
        mbarrier.expect(bytes);
        mbarrier.arrive(&clock);
        Ok(())
    }

    /// The copies of the lane that it has not waited for arrive at an mbarrier: who waits there sees what they brought.
    pub(crate) fn arrive_after_copies(&mut self, place: Place, index: u32, at: At) -> Checked<()> {
        let number = self.mbarrier(self.rank() as usize, place, index, at)?;
        self.count(Kind::Arrival, at);
        let copies = self.shared.order.copies_at(number);
        let time = self.shared.order.tick();
        self.shared.hand_over(self.id, copies, time);
        let mut clock = Clock::default();
        clock.set(copies, self.shared.order.tick());
        let mbarrier = self.mbarriers.get_mut(number);
        mbarrier.copied_by = self.id;
        mbarrier.arrive(&clock);
        Ok(())
    }

    /// The number of an mbarrier at which the lane waits.
    pub(crate) fn wait(&mut self, place: Place, index: u32, at: At) -> Checked<usize> {
        let number = self.mbarrier(self.rank() as usize, place, index, at)?;
        self.count(Kind::Wait, at);
        Ok(number)
    }

    /// Whether a thread that waits for the phase of this parity goes on: it sees what those did that arrived.
    pub(crate) fn passes(&mut self, lane: u16, number: usize, parity: u32) -> bool {
        match self.mbarriers.get(number).passed(parity) {
            Some(clock) => {
                self.shared.order.acquire(lane, clock);
                true
            }
            None => false,
        }
    }

    /// What the phase under way of an mbarrier lacks.
    pub(crate) fn lacking(&self, number: usize) -> Lacking {
        let mbarrier = self.mbarriers.get(number);
        let (array, first) = self.shared.array_of(mbarrier.array, mbarrier.word);
        Lacking::Phase {
            phase: mbarrier.phase,
            array,
            elements: Elements {
                first,
                count: WORDS as usize,
            },
            arrivals: mbarrier.arrivals,
            bytes: mbarrier.bytes,
        }
    }
}
