//! Scratch memory: arrays in global memory that kernels write and read, and that launches in a sequence share.
//!
//! Each word keeps the last write and two reads of the launch under way. What ran together, a block or a cluster, is
//! ordered as in shared memory; nothing orders two such groups but the end of their launch. So of the reads one is of
//! another group than the other, if two groups read the word: whichever group writes it then meets one of them.

use super::Refusal;
use super::order::{Order, UNDER_WAY};
use super::stamp::Stamp;
use crate::fault::Elements;
use std::sync::{Mutex, PoisonError};

/// Words that are locked together.
const CHUNK: usize = 1024;

/// An array that kernels write and read. It begins at a multiple of 128 bytes.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) name: String,
    length: usize,
    chunks: Vec<Mutex<Box<[Word]>>>,
}

/// One word.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    bits: u32,
    /// Whether it was ever written.
    written: bool,
    write: Access,
    reads: [Access; 2],
}

/// An access in the launch under way.
#[derive(Debug, Clone, Copy, Default)]
struct Access {
    /// The linear index of the first of the blocks that run together, plus 1; 0 of nobody.
    group: u32,
    /// The thread of those blocks that made or started it.
    by: u16,
    /// When, and by whom where a copy made it.
    stamp: Stamp,
}

/// Who accesses scratch memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visitor<'a> {
    pub(crate) order: &'a Order,
    /// The linear index of the first of the blocks that run together.
    pub(crate) first_block: u32,
    /// Threads of a block.
    pub(crate) threads: u32,
    /// The thread of those blocks.
    pub(crate) by: u16,
    /// What its access is remembered as.
    pub(crate) stamp: Stamp,
}

impl Scratch {
    /// So many words that nothing wrote.
    pub(crate) fn new(name: String, length: usize) -> Self {
        let chunk = |words| Mutex::new(vec![Word::default(); words].into());
        let chunks = (0..length.div_ceil(CHUNK)).map(|i| chunk(CHUNK.min(length - CHUNK * i)));
        Self {
            name,
            length,
            chunks: chunks.collect(),
        }
    }

    /// The words from `first` on.
    pub(crate) fn read(
        &self,
        first: usize,
        count: usize,
        visitor: Visitor<'_>,
    ) -> Result<Vec<u32>, Refusal> {
        let mut words = Vec::with_capacity(count);
        self.each(first, count, |index, word| {
            words.push(word.read(index, visitor)?);
            Ok(())
        })?;
        Ok(words)
    }

    /// Writes words from `first` on.
    pub(crate) fn write(
        &self,
        first: usize,
        words: &[u32],
        visitor: Visitor<'_>,
    ) -> Result<(), Refusal> {
        self.each(first, words.len(), |index, word| {
            word.write(index, words[index - first], visitor)
        })
    }

    /// The copies that this thread started to words from `first` on are done: they are writes of it now.
    pub(crate) fn end_copies(
        &self,
        first: usize,
        count: usize,
        visitor: Visitor<'_>,
    ) -> Result<(), Refusal> {
        self.each(first, count, |_, word| {
            let site = word.write.stamp.site();
            let (now, by) = (visitor.stamp.when(), visitor.by);
            word.write.stamp = Stamp::new(now, by, site);
            Ok(())
        })
    }

    /// A launch has ended: all that it did is before the next.
    pub(crate) fn end_launch(&self) {
        for chunk in &self.chunks {
            for word in &mut *chunk.lock().unwrap_or_else(PoisonError::into_inner) {
                word.write = Access::default();
                word.reads = [Access::default(); 2];
            }
        }
    }

    /// Acts on so many words from `first` on, in order.
    fn each(
        &self,
        first: usize,
        count: usize,
        mut act: impl FnMut(usize, &mut Word) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let end = first + count;
        if end > self.length {
            return Err(Refusal::OutOfBounds {
                elements: Elements { first, count },
                length: self.length,
            });
        }
        let mut index = first;
        while index < end {
            let chunk = &self.chunks[index / CHUNK];
            let mut words = chunk.lock().unwrap_or_else(PoisonError::into_inner);
            let of_chunk = end.min((index / CHUNK + 1) * CHUNK);
            for index in index..of_chunk {
                act(index, &mut words[index % CHUNK])?;
            }
            index = of_chunk;
        }
        Ok(())
    }
}

impl Word {
    fn read(&mut self, index: usize, visitor: Visitor<'_>) -> Result<u32, Refusal> {
        if !self.written {
            return Err(Refusal::Uninitialised {
                elements: one(index),
            });
        }
        visitor.follows(self.write, index, true)?;
        self.remember(visitor);
        Ok(self.bits)
    }

    fn write(&mut self, index: usize, bits: u32, visitor: Visitor<'_>) -> Result<(), Refusal> {
        visitor.follows(self.write, index, true)?;
        for read in self.reads {
            visitor.follows(read, index, false)?;
        }
        self.write = visitor.access();
        self.written = true;
        self.bits = bits;
        Ok(())
    }

    /// Remembers a read.
    fn remember(&mut self, visitor: Visitor<'_>) {
        let own = visitor.access();
        let foreign = |read: &Access| read.group != 0 && read.group != own.group;
        let [first, second] = &mut self.reads;
        if first.group == 0 {
            *first = own;
        } else if foreign(first) || foreign(second) {
            if second.group == 0 || second.group == first.group {
                *second = own;
            }
        } else if let Some(read) = [first, second]
            .into_iter()
            .find(|read| read.group == 0 || visitor.order.is_before(read.stamp, visitor.by))
        {
            *read = own;
        }
    }
}

impl Visitor<'_> {
    fn access(&self) -> Access {
        Access {
            group: self.first_block + 1,
            by: self.by,
            stamp: self.stamp,
        }
    }

    /// Refuses an access that met another, which nothing orders before it.
    #[inline]
    fn follows(&self, other: Access, index: usize, wrote: bool) -> Result<(), Refusal> {
        let together = other.group == self.first_block + 1;
        if other.group == 0 || (together && self.order.is_before(other.stamp, self.by)) {
            return Ok(());
        }
        let site = other.stamp.site();
        let elements = one(index);
        if together && other.stamp.when() == UNDER_WAY {
            return Err(Refusal::Early {
                elements,
                lane: other.by,
                site,
            });
        }
        let by = u32::from(other.by);
        Err(Refusal::Race {
            elements,
            other_wrote: wrote,
            block: Some(other.group - 1 + by / self.threads),
            lane: (by % self.threads) as u16,
            site,
        })
    }
}

fn one(first: usize) -> Elements {
    Elements { first, count: 1 }
}
