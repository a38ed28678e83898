//! Shared memory of one block.
//!
//! Each word keeps the last write and two reads of the present epoch, the time between two barriers: enough
//! to see that two threads met on it, one of them writing, without a log of accesses.

use super::Refusal;
use super::stamp::Stamp;
use crate::fault::Elements;

/// Words of a 128-bit access.
const QUAD: usize = 4;

/// Words to which an array is aligned.
const ALIGNMENT: usize = 4;

/// An array as the kernel declares it.
#[derive(Debug)]
pub struct Declaration {
    name: &'static str,
    words: usize,
}

impl Declaration {
    /// An array of so many 4-byte elements.
    pub const fn new(name: &'static str, words: usize) -> Self {
        Self { name, words }
    }
}

/// One word.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    bits: u32,
    write: Stamp,
    /// The first thread that read it in its epoch.
    read: Stamp,
    /// Another thread that read it in that epoch.
    read_too: Stamp,
}

/// An array in a block's memory.
#[derive(Debug)]
struct Array {
    declaration: &'static Declaration,
    base: usize,
}

/// Who accesses shared memory, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visit {
    pub(crate) lane: u16,
    pub(crate) site: u16,
}

/// Shared memory of the blocks that one worker runs, one after the other.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    arrays: Vec<Array>,
    words: Vec<Word>,
    /// Counts the barriers of all blocks, from 1.
    epoch: u32,
    /// The epoch in which the present block began: what was written before it is not there.
    begin: u32,
}

impl SharedMemory {
    /// Begins a block: nothing is written yet.
    pub(crate) fn begin_block(&mut self) {
        if self.epoch >= u32::MAX / 2 {
            self.words.fill(Word::default());
            self.epoch = 0;
        }
        self.epoch += 1;
        self.begin = self.epoch;
    }

    /// The block passes a barrier.
    pub(crate) fn barrier(&mut self) {
        self.epoch += 1;
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The number of the declared array and its first word.
    pub(crate) fn array(&mut self, declaration: &'static Declaration) -> (u16, u32) {
        let known = |array: &Array| std::ptr::eq(array.declaration, declaration);
        let number = self.arrays.iter().position(known).unwrap_or_else(|| {
            let base = self.words.len();
            let words = declaration.words.next_multiple_of(ALIGNMENT);
            self.words.resize(base + words, Word::default());
            self.arrays.push(Array { declaration, base });
            self.arrays.len() - 1
        });
        (number as u16, self.arrays[number].base as u32)
    }

    pub(crate) fn name(&self, array: u16) -> &'static str {
        self.arrays[usize::from(array)].declaration.name
    }

    /// Bytes of all arrays that were asked for.
    pub(crate) fn bytes(&self) -> u32 {
        4 * self.words.len() as u32
    }

    /// The word at `index` of the array of `length` words that begins at `base`.
    #[inline]
    pub(crate) fn get(
        &mut self,
        base: u32,
        length: usize,
        index: u32,
        visit: Visit,
    ) -> Result<u32, Refusal> {
        check(index as usize, 1, length)?;
        let word = &mut self.words[base as usize + index as usize];
        let elements = Elements {
            first: index as usize,
            count: 1,
        };
        if word.write.when() < self.begin {
            return Err(Refusal::Uninitialised { elements });
        }
        if word.write.when() == self.epoch && word.write.lane() != visit.lane {
            return Err(race(elements, word.write, true));
        }
        if word.read.when() != self.epoch {
            word.read = Stamp::new(self.epoch, visit.lane, visit.site);
        } else if word.read.lane() != visit.lane && word.read_too.when() != self.epoch {
            word.read_too = Stamp::new(self.epoch, visit.lane, visit.site);
        }
        Ok(word.bits)
    }

    /// Writes the word at `index` of that array.
    #[inline]
    pub(crate) fn set(
        &mut self,
        base: u32,
        length: usize,
        index: u32,
        bits: u32,
        visit: Visit,
    ) -> Result<(), Refusal> {
        check(index as usize, 1, length)?;
        self.write(base as usize, index as usize, bits, visit)
    }

    /// Writes the words from `4 * quad` on of that array. Arrays are aligned, and so is every quad.
    #[inline]
    pub(crate) fn set4(
        &mut self,
        base: u32,
        length: usize,
        quad: u32,
        bits: [u32; QUAD],
        visit: Visit,
    ) -> Result<(), Refusal> {
        let first = QUAD * quad as usize;
        check(first, QUAD, length)?;
        for (i, bits) in bits.into_iter().enumerate() {
            self.write(base as usize, first + i, bits, visit)?;
        }
        Ok(())
    }

    #[inline]
    fn write(&mut self, base: usize, index: usize, bits: u32, visit: Visit) -> Result<(), Refusal> {
        let word = &mut self.words[base + index];
        let others = [
            (word.write, true),
            (word.read, false),
            (word.read_too, false),
        ];
        for (other, wrote) in others {
            if other.when() == self.epoch && other.lane() != visit.lane {
                return Err(race(
                    Elements {
                        first: index,
                        count: 1,
                    },
                    other,
                    wrote,
                ));
            }
        }
        word.write = Stamp::new(self.epoch, visit.lane, visit.site);
        word.bits = bits;
        Ok(())
    }
}

#[inline]
fn check(first: usize, count: usize, length: usize) -> Result<(), Refusal> {
    match first + count <= length {
        true => Ok(()),
        false => Err(Refusal::OutOfBounds {
            elements: Elements { first, count },
            length,
        }),
    }
}

#[cold]
fn race(elements: Elements, other: Stamp, other_wrote: bool) -> Refusal {
    Refusal::Race {
        elements,
        other_wrote,
        block: None,
        lane: other.lane(),
        site: other.site(),
    }
}
