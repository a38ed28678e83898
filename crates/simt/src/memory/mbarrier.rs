//! Barriers in shared memory, each two words of an array, at which threads and copies arrive.

use super::clock::Clock;
use std::collections::HashMap;

/// An mbarrier.
#[derive(Debug)]
pub(crate) struct Mbarrier {
    /// The array in which it lies, and its first word in the memory of its block.
    pub(crate) array: u16,
    pub(crate) word: u32,
    /// Arrivals that a phase takes.
    expected: u32,
    /// Arrivals that the phase under way lacks.
    pub(crate) arrivals: u32,
    /// Bytes of copies that it lacks; below 0 while more came than were announced.
    pub(crate) bytes: i64,
    /// The phase under way, from 0.
    pub(crate) phase: u32,
    /// What those know that arrived.
    arrived: Clock,
    /// What those know that saw the phase before complete.
    passed: Clock,
    /// The thread that prepared it, and that started the last copy that counts here.
    pub(crate) prepared_by: u16,
    pub(crate) copied_by: u16,
}

/// The mbarriers of the blocks that run together.
#[derive(Debug, Default)]
pub(crate) struct Mbarriers {
    /// By rank of the block and first word in its memory.
    numbers: HashMap<(usize, u32), usize>,
    all: Vec<Mbarrier>,
}

impl Mbarriers {
    /// There is none.
    pub(crate) fn begin(&mut self) {
        self.numbers.clear();
        self.all.clear();
    }

    /// The number that the mbarrier at `word` of the block of this rank has, or gets.
    pub(crate) fn prepare(
        &mut self,
        rank: usize,
        word: u32,
        array: u16,
        arrivals: u32,
        by: u16,
    ) -> usize {
        let number = *self.numbers.entry((rank, word)).or_insert(self.all.len());
        let fresh = Mbarrier {
            array,
            word,
            expected: arrivals,
            arrivals,
            bytes: 0,
            phase: 0,
            arrived: Clock::default(),
            passed: Clock::default(),
            prepared_by: by,
            copied_by: by,
        };
        match self.all.get_mut(number) {
            Some(known) => *known = fresh,
            None => self.all.push(fresh),
        }
        number
    }

    /// The number of the mbarrier at `word` of the block of this rank; none where nothing prepared one.
    pub(crate) fn find(&self, rank: usize, word: u32) -> Option<usize> {
        self.numbers.get(&(rank, word)).copied()
    }

    /// The numbers of those that thread `by` prepared.
    pub(crate) fn prepared_by(&self, by: u16) -> impl Iterator<Item = usize> {
        let all = self.all.iter().enumerate();
        all.filter(move |(_, mbarrier)| mbarrier.prepared_by == by)
            .map(|(number, _)| number)
    }

    pub(crate) fn get(&self, number: usize) -> &Mbarrier {
        &self.all[number]
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> &mut Mbarrier {
        &mut self.all[number]
    }
}

impl Mbarrier {
    /// What waits for the phase waits for `bytes` of copies as well.
    pub(crate) fn expect(&mut self, bytes: u32) {
        self.bytes += i64::from(bytes);
    }

    /// A thread arrives, which knows that.
    pub(crate) fn arrive(&mut self, clock: &Clock) {
        self.arrivals = self.arrivals.saturating_sub(1);
        self.arrived.join(clock);
        self.complete();
    }

    /// `bytes` of copies arrive, which copy number `copies` wrote before `time`.
    pub(crate) fn copied(&mut self, bytes: u32, copies: u16, time: u32) {
        self.bytes -= i64::from(bytes);
        self.arrived.set(copies, time);
        self.complete();
    }

    fn complete(&mut self) {
        if self.arrivals == 0 && self.bytes == 0 {
            self.phase += 1;
            self.arrivals = self.expected;
            self.passed = self.arrived.clone();
        }
    }

    /// What a thread knows that sees the phase of this parity complete; none while it is not.
    pub(crate) fn passed(&self, parity: u32) -> Option<&Clock> {
        (self.phase & 1 != parity & 1).then_some(&self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_takes_its_arrivals_and_its_bytes() {
        let mut mbarriers = Mbarriers::default();
        let number = mbarriers.prepare(0, 8, 0, 2, 5);
        assert_eq!(mbarriers.find(0, 8), Some(number));
        assert_eq!(mbarriers.find(1, 8), None);
        let mbarrier = mbarriers.get_mut(number);
        // The phase before the first counts as complete.
        assert!(mbarrier.passed(0).is_none() && mbarrier.passed(1).is_some());
        let mut clock = Clock::default();
        clock.set(3, 7);
        mbarrier.expect(32);
        mbarrier.arrive(&clock);
        mbarrier.arrive(&Clock::default());
        assert!(mbarrier.passed(0).is_none());
        mbarrier.copied(16, 100, 9);
        assert!(mbarrier.passed(0).is_none());
        mbarrier.copied(16, 100, 11);
        let passed = mbarrier.passed(0).unwrap();
        assert!(passed.knows(3, 6) && passed.knows(100, 10));
        assert!(mbarrier.passed(1).is_none());
        // Bytes that come before they are announced do not complete a phase that lacks an arrival.
        mbarrier.copied(16, 100, 12);
        mbarrier.arrive(&clock);
        mbarrier.expect(16);
        mbarrier.arrive(&clock);
        assert_eq!((mbarrier.phase, mbarrier.bytes), (2, 0));
    }
}
