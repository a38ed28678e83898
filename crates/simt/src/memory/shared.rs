//! Shared memory of the blocks that run together: one block, or a cluster.
//!
//! Each word keeps the last write and two reads since the last barrier of its block: enough to see that two
//! threads met on it, one of them writing, without a log of accesses. Where a thread waits for less than its block,
//! a later read takes the place of one that it follows.

use super::Refusal;
use super::order::{Order, UNDER_WAY};
use super::stamp::Stamp;
use crate::fault::Elements;
use std::collections::VecDeque;
use std::mem;

/// Words of a 128-bit access.
const QUAD: usize = 4;

/// Words to which an array is aligned, at least.
const ALIGNMENT: usize = 4;

/// An array as the kernel declares it.
#[derive(Debug)]
pub struct Declaration {
    name: &'static str,
    words: usize,
    alignment: usize,
    dynamic: bool,
}

impl Declaration {
    /// An array of so many 4-byte elements, aligned to so many bytes.
    pub const fn new(name: &'static str, words: usize, alignment: usize) -> Self {
        Self {
            name,
            words,
            alignment,
            dynamic: false,
        }
    }

    /// As [`new`](Self::new), an array whose bytes the launch gives.
    pub const fn dynamic(name: &'static str, words: usize, alignment: usize) -> Self {
        Self {
            name,
            words,
            alignment,
            dynamic: true,
        }
    }
}

/// A declared array, as the block that runs has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its number.
    pub(crate) array: u16,
    /// Its first word.
    pub(crate) base: u32,
    /// Its words.
    pub(crate) length: u32,
}

/// One word.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    bits: u32,
    write: Stamp,
    /// The first thread that read it since the last barrier, or a later one.
    read: Stamp,
    /// Another thread that read it since then.
    read_too: Stamp,
}

/// An array in a block's memory.
#[derive(Debug)]
struct Array {
    declaration: &'static Declaration,
    place: Place,
}

/// Who accesses shared memory, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    /// Linear index of the thread in the cluster.
    pub(crate) lane: u16,
    pub(crate) site: u16,
}

/// Copies that a thread started and has not waited for: the first word of each.
#[derive(Debug, Default)]
struct Copies {
    open: Vec<u32>,
    closed: VecDeque<Vec<u32>>,
}

/// Shared memory of the blocks that one worker runs together, one such group after the other.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    pub(crate) order: Order,
    threads: usize,
    arrays: Vec<Array>,
    /// Words up to the end of the last array.
    size: usize,
    /// Words that the launch gives to the dynamic array.
    dynamic_words: usize,
    /// Of the block that runs.
    words: Vec<Word>,
    rank: usize,
    /// By rank, of the other blocks of its cluster; empty at the rank of the one that runs.
    others: Vec<Vec<Word>>,
    /// By thread of the cluster.
    copies: Vec<Copies>,
}

impl SharedMemory {
    /// Of so many blocks that run together, with so many threads each.
    pub(crate) fn new(blocks: usize, threads: usize, dynamic_bytes: u32) -> Self {
        Self {
            order: Order::default(),
            threads,
            arrays: Vec::new(),
            size: 0,
            dynamic_words: dynamic_bytes as usize / 4,
            words: Vec::new(),
            rank: 0,
            others: vec![Vec::new(); blocks],
            copies: Vec::new(),
        }
    }

    /// Begins the next blocks: nothing is written yet.
    pub(crate) fn begin(&mut self) {
        for lane in 0..self.copies.len() {
            self.change_memory(lane / self.threads);
            let Copies { open, closed } = mem::take(&mut self.copies[lane]);
            for first in closed.into_iter().flatten().chain(open) {
                self.words[first as usize..][..QUAD].fill(Word::default());
            }
        }
        if self.order.begin(self.others.len(), self.threads) {
            self.words.fill(Word::default());
            for words in &mut self.others {
                words.fill(Word::default());
            }
        }
        self.enter(0);
    }

    /// The block of this rank runs.
    pub(crate) fn enter(&mut self, rank: usize) {
        self.change_memory(rank);
        self.order.enter(rank);
    }

    fn change_memory(&mut self, rank: usize) {
        if rank != self.rank {
            mem::swap(&mut self.words, &mut self.others[self.rank]);
            mem::swap(&mut self.words, &mut self.others[rank]);
            self.rank = rank;
        }
    }

    /// The declared array in the block that runs.
    pub(crate) fn array(&mut self, declaration: &'static Declaration) -> Place {
        let known = |array: &Array| std::ptr::eq(array.declaration, declaration);
        let number = self.arrays.iter().position(known).unwrap_or_else(|| {
            let alignment = (declaration.alignment / 4).max(ALIGNMENT);
            let base = self.size.next_multiple_of(alignment);
            let length = match declaration.dynamic {
                true => declaration.words.min(self.dynamic_words),
                false => declaration.words,
            };
            self.size = base + length.next_multiple_of(ALIGNMENT);
            self.arrays.push(Array {
                declaration,
                place: Place {
                    array: self.arrays.len() as u16,
                    base: base as u32,
                    length: length as u32,
                },
            });
            self.arrays.len() - 1
        });
        if self.words.len() < self.size {
            self.words.resize(self.size, Word::default());
        }
        self.arrays[number].place
    }

    pub(crate) fn name(&self, array: u16) -> &'static str {
        self.arrays[usize::from(array)].declaration.name
    }

    /// The name of an array, and the position in it of a word of a block's memory.
    pub(crate) fn array_of(&self, array: u16, word: u32) -> (String, usize) {
        let base = self.arrays[usize::from(array)].place.base;
        (self.name(array).to_owned(), (word - base) as usize)
    }

    /// Bytes of all arrays that were asked for, those that the kernel declares rounded up to 16.
    pub(crate) fn bytes(&self) -> u32 {
        let words = |array: &Array| match array.declaration.dynamic {
            true => array.place.length,
            false => array.place.length.next_multiple_of(ALIGNMENT as u32),
        };
        4 * self.arrays.iter().map(words).sum::<u32>()
    }

    /// The word at `index` of an array.
    #[inline]
    pub(crate) fn get(&mut self, place: Place, index: u32, visit: Visit) -> Result<u32, Refusal> {
        check(index as usize, 1, place.length)?;
        self.read(place.base, index, visit)
    }

    /// The `N` words from `N * index` on of an array. Arrays are aligned, and so is every such group.
    #[inline]
    pub(crate) fn get_group<const N: usize>(
        &mut self,
        place: Place,
        index: u32,
        visit: Visit,
    ) -> Result<[u32; N], Refusal> {
        let first = N * index as usize;
        check(first, N, place.length)?;
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            *word = self.read(place.base, (first + i) as u32, visit)?;
        }
        Ok(words)
    }

    /// Writes the word at `index` of an array.
    #[inline]
    pub(crate) fn set(
        &mut self,
        place: Place,
        index: u32,
        bits: u32,
        visit: Visit,
    ) -> Result<(), Refusal> {
        check(index as usize, 1, place.length)?;
        let stamp = self.stamp(visit);
        self.write(place.base, index as usize, bits, visit.lane, stamp)
    }

    /// Writes the `N` words from `N * index` on of an array.
    #[inline]
    pub(crate) fn set_group<const N: usize>(
        &mut self,
        place: Place,
        index: u32,
        bits: [u32; N],
        visit: Visit,
    ) -> Result<(), Refusal> {
        let first = N * index as usize;
        check(first, N, place.length)?;
        let stamp = self.stamp(visit);
        for (i, bits) in bits.into_iter().enumerate() {
            self.write(place.base, first + i, bits, visit.lane, stamp)?;
        }
        Ok(())
    }

    /// Begins a copy to the quad at `quad` of an array, of these words.
    pub(crate) fn start_copy(
        &mut self,
        place: Place,
        quad: u32,
        bits: [u32; QUAD],
        visit: Visit,
    ) -> Result<(), Refusal> {
        let first = QUAD * quad as usize;
        check(first, QUAD, place.length)?;
        let stamp = Stamp::new(UNDER_WAY, visit.lane, visit.site);
        for (i, bits) in bits.into_iter().enumerate() {
            self.write(place.base, first + i, bits, visit.lane, stamp)?;
        }
        let blocks = self.others.len();
        self.copies
            .resize_with(blocks * self.threads, Copies::default);
        let copies = &mut self.copies[usize::from(visit.lane)];
        copies.open.push(place.base + first as u32);
        Ok(())
    }

    /// Closes the group of the copies that thread `lane` started.
    pub(crate) fn close_copies(&mut self, lane: u16) {
        if let Some(copies) = self.copies.get_mut(usize::from(lane)) {
            let group = mem::take(&mut copies.open);
            copies.closed.push_back(group);
        }
    }

    /// Ends all groups of copies of thread `lane` but the last `left`: they are writes of that thread now.
    pub(crate) fn end_copies(&mut self, lane: u16, left: usize) {
        let Some(copies) = self.copies.get_mut(usize::from(lane)) else {
            return;
        };
        let ended = copies.closed.len().saturating_sub(left);
        for first in copies.closed.drain(..ended).flatten() {
            for word in &mut self.words[first as usize..][..QUAD] {
                word.write = Stamp::new(self.order.now(), lane, word.write.site());
            }
        }
    }

    /// Lets all copies of thread `lane` that it has not waited for count as copies of that number, done at that time.
    pub(crate) fn hand_over(&mut self, lane: u16, copies: u16, time: u32) {
        let Some(started) = self.copies.get_mut(usize::from(lane)) else {
            return;
        };
        for first in started
            .closed
            .drain(..)
            .flatten()
            .chain(started.open.drain(..))
        {
            for word in &mut self.words[first as usize..][..QUAD] {
                word.write = Stamp::new(time, copies, word.write.site());
            }
        }
    }

    /// Writes words from `first` on of an array in the block of this rank, as thread `by` or as a copy that it starts:
    /// the stamp says which.
    pub(crate) fn fill(
        &mut self,
        rank: usize,
        place: Place,
        first: usize,
        bits: &[u32],
        by: u16,
        stamp: Stamp,
    ) -> Result<(), Refusal> {
        check(first, bits.len(), place.length)?;
        let words = match rank == self.rank {
            true => &mut self.words,
            false => &mut self.others[rank],
        };
        if words.len() < self.size {
            words.resize(self.size, Word::default());
        }
        let begin = place.base as usize + first;
        let words = &mut words[begin..begin + bits.len()];
        for (i, (word, &bits)) in words.iter_mut().zip(bits).enumerate() {
            word.write(&self.order, first + i, bits, by, stamp)?;
        }
        Ok(())
    }

    /// As [`fill`](Self::fill), by a thread itself.
    pub(crate) fn set_in(
        &mut self,
        rank: usize,
        place: Place,
        first: usize,
        bits: &[u32],
        visit: Visit,
    ) -> Result<(), Refusal> {
        let stamp = self.stamp(visit);
        self.fill(rank, place, first, bits, visit.lane, stamp)
    }

    /// The write of the word at `word` in the block of this rank.
    pub(crate) fn written(&self, rank: usize, word: u32) -> Stamp {
        let words = match rank == self.rank {
            true => &self.words,
            false => &self.others[rank],
        };
        words
            .get(word as usize)
            .map_or(Stamp::default(), |w| w.write)
    }

    /// Words from `first` on of an array, as a copy or a product reads them that runs beside its threads.
    pub(crate) fn read_beside(
        &mut self,
        place: Place,
        first: usize,
        count: usize,
        visit: Visit,
    ) -> Result<Vec<u32>, Refusal> {
        check(first, count, place.length)?;
        let mut words = Vec::with_capacity(count);
        for index in first..first + count {
            words.push(self.read(place.base, index as u32, visit)?);
            let write = self.words[place.base as usize + index].write;
            if !self.order.is_fenced(write) {
                return Err(Refusal::Unfenced {
                    elements: one(index),
                    lane: write.lane(),
                    site: write.site(),
                });
            }
        }
        Ok(words)
    }

    /// What [`read_beside`](Self::read_beside) read and read on from the time `since` on is read no more: nobody may
    /// have written it meanwhile.
    pub(crate) fn end_beside(
        &mut self,
        place: Place,
        first: usize,
        count: usize,
        visit: Visit,
        since: u32,
    ) -> Result<(), Refusal> {
        for index in first..first + count {
            let write = self.words[place.base as usize + index].write;
            if write.when() >= since {
                return Err(Refusal::Overwritten {
                    elements: one(index),
                    lane: write.lane(),
                    site: write.site(),
                    by: visit.lane,
                    start: visit.site,
                });
            }
            self.read(place.base, index as u32, visit)?;
        }
        Ok(())
    }

    #[inline]
    fn stamp(&self, visit: Visit) -> Stamp {
        Stamp::new(self.order.now(), visit.lane, visit.site)
    }

    #[inline]
    fn read(&mut self, base: u32, index: u32, visit: Visit) -> Result<u32, Refusal> {
        let word = &mut self.words[base as usize + index as usize];
        if self.order.is_past(word.write) {
            return Err(Refusal::Uninitialised {
                elements: one(index as usize),
            });
        }
        if !self.order.is_before(word.write, visit.lane) {
            return Err(meeting(&self.order, one(index as usize), word.write, true));
        }
        if word.read.when() < self.order.floor() {
            word.read = Stamp::new(self.order.now(), visit.lane, visit.site);
        } else if word.read.lane() != visit.lane && word.read_too.when() < self.order.floor() {
            word.read_too = Stamp::new(self.order.now(), visit.lane, visit.site);
        } else if self.order.is_clocked() {
            let reads = [&mut word.read, &mut word.read_too];
            let older = |read: &&mut Stamp| self.order.is_before(**read, visit.lane);
            if let Some(read) = reads.into_iter().find(older) {
                *read = Stamp::new(self.order.now(), visit.lane, visit.site);
            }
        }
        Ok(word.bits)
    }

    #[inline]
    fn write(
        &mut self,
        base: u32,
        index: usize,
        bits: u32,
        by: u16,
        stamp: Stamp,
    ) -> Result<(), Refusal> {
        let word = &mut self.words[base as usize + index];
        word.write(&self.order, index, bits, by, stamp)
    }
}

impl Word {
    #[inline]
    fn write(
        &mut self,
        order: &Order,
        index: usize,
        bits: u32,
        by: u16,
        stamp: Stamp,
    ) -> Result<(), Refusal> {
        let others = [
            (self.write, true),
            (self.read, false),
            (self.read_too, false),
        ];
        for (other, wrote) in others {
            let again = wrote && self.bits == bits && order.is_one_write(other, stamp);
            if !again && !order.is_before(other, by) {
                return Err(meeting(order, one(index), other, wrote));
            }
        }
        self.write = stamp;
        self.bits = bits;
        Ok(())
    }
}

fn one(first: usize) -> Elements {
    Elements { first, count: 1 }
}

#[inline]
fn check(first: usize, count: usize, length: u32) -> Result<(), Refusal> {
    match first + count <= length as usize {
        true => Ok(()),
        false => Err(Refusal::OutOfBounds {
            elements: Elements { first, count },
            length: length as usize,
        }),
    }
}

/// The fault of an access that met another, which nothing orders before it.
#[cold]
fn meeting(order: &Order, elements: Elements, other: Stamp, wrote: bool) -> Refusal {
    let copies = other.when() == UNDER_WAY || order.mbarrier_of(other.lane()).is_some();
    match copies {
        true => Refusal::Early {
            elements,
            lane: other.lane(),
            site: other.site(),
        },
        false => Refusal::Race {
            elements,
            other_wrote: wrote,
            block: None,
            lane: other.lane(),
            site: other.site(),
        },
    }
}
