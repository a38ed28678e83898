//! Arrays in global memory.

use super::Refusal;
use super::stamp::Stamp;
use crate::fault::Elements;
use std::array::from_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Words of a 128-bit access.
const QUAD: usize = 4;

/// An array that a kernel reads.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) words: Arc<[u32]>,
    /// Words by which the array starts past a multiple of 128 bytes.
    pub(crate) offset: usize,
}

/// An array that a kernel writes.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    /// Words by which the array starts past a multiple of 128 bytes.
    pub(crate) offset: usize,
    words: Vec<AtomicU32>,
    /// The thread that wrote each word last; the time is its block's linear index plus 1.
    writers: Vec<AtomicU64>,
    /// The time of that write, in its block.
    times: Vec<AtomicU32>,
}

/// Who writes to an output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer {
    /// Linear index in the grid.
    pub(crate) block: u32,
    pub(crate) lane: u16,
    pub(crate) site: u16,
    /// The time of the write, and that of the last barrier of the block.
    pub(crate) now: u32,
    pub(crate) floor: u32,
}

impl Input {
    /// The word at `index` and its address in words.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Result<(u32, u32), Refusal> {
        match self.words.get(index) {
            Some(&word) => Ok((word, (self.offset + index) as u32)),
            None => Err(out_of_bounds(index, 1, self.words.len())),
        }
    }

    /// The `N` words from `first` on, 2 or 4, and the address of the first.
    #[inline]
    pub(crate) fn get_group<const N: usize>(
        &self,
        first: usize,
    ) -> Result<([u32; N], u32), Refusal> {
        check(first, N, self.words.len(), self.offset)?;
        let words = from_fn(|i| self.words[first + i]);
        Ok((words, (self.offset + first) as u32))
    }
}

impl Input {
    /// The words of so many quads from the element `first` on.
    pub(crate) fn quads(&self, first: usize, quads: u32) -> Result<Vec<u32>, Refusal> {
        let count = QUAD * quads as usize;
        if first + count > self.words.len() {
            return Err(out_of_bounds(first, count, self.words.len()));
        }
        check(first, QUAD, self.words.len(), self.offset)?;
        Ok(self.words[first..first + count].to_vec())
    }
}

impl Output {
    /// An array of NaN.
    pub(crate) fn new(name: String, length: usize, offset: usize) -> Self {
        let poison = f32::NAN.to_bits();
        Self {
            name,
            offset,
            words: (0..length).map(|_| AtomicU32::new(poison)).collect(),
            writers: (0..length).map(|_| AtomicU64::new(0)).collect(),
            times: (0..length).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Writes the word at `index`; gives its address in words.
    #[inline]
    pub(crate) fn set(&self, index: u32, word: u32, writer: Writer) -> Result<u32, Refusal> {
        let index = index as usize;
        if index >= self.words.len() {
            return Err(out_of_bounds(index, 1, self.words.len()));
        }
        self.write(index, word, writer)?;
        Ok((self.offset + index) as u32)
    }

    /// Writes the `N` words from `N * index` on, 2 or 4; gives the address of the first.
    #[inline]
    pub(crate) fn set_group<const N: usize>(
        &self,
        index: u32,
        words: [u32; N],
        writer: Writer,
    ) -> Result<u32, Refusal> {
        let first = N * index as usize;
        check(first, N, self.words.len(), self.offset)?;
        for (i, word) in words.into_iter().enumerate() {
            self.write(first + i, word, writer)?;
        }
        Ok((self.offset + first) as u32)
    }

    fn write(&self, index: usize, word: u32, writer: Writer) -> Result<(), Refusal> {
        let stamp = Stamp::new(writer.block + 1, writer.lane, writer.site);
        let last = Stamp::from_bits(self.writers[index].swap(stamp.bits(), Relaxed));
        // Only this block's own worker changes the time while the last writer is of this block.
        let same_block = last.when() == stamp.when();
        let ordered = match same_block {
            true => last.lane() == stamp.lane() || self.times[index].load(Relaxed) < writer.floor,
            false => last.when() == 0,
        };
        if !ordered {
            return Err(Refusal::Race {
                elements: Elements {
                    first: index,
                    count: 1,
                },
                other_wrote: true,
                block: Some(last.when() - 1),
                lane: last.lane(),
                site: last.site(),
            });
        }
        self.times[index].store(writer.now, Relaxed);
        self.words[index].store(word, Relaxed);
        Ok(())
    }

    /// A launch has ended: all that it wrote is before the next.
    pub(crate) fn end_launch(&self) {
        for writer in &self.writers {
            writer.store(Stamp::default().bits(), Relaxed);
        }
    }

    /// The content, as floats.
    pub(crate) fn floats(&self) -> Vec<f32> {
        let words = self.words.iter();
        words
            .map(|word| f32::from_bits(word.load(Relaxed)))
            .collect()
    }
}

/// Whether an access of `count` words lies inside an array and is aligned.
#[inline]
fn check(first: usize, count: usize, length: usize, offset: usize) -> Result<(), Refusal> {
    if first + count > length {
        return Err(out_of_bounds(first, count, length));
    }
    let astray = (offset + first) % count;
    if astray != 0 {
        return Err(Refusal::Misaligned {
            elements: Elements { first, count },
            bytes: 4 * astray,
        });
    }
    Ok(())
}

#[cold]
fn out_of_bounds(first: usize, count: usize, length: usize) -> Refusal {
    Refusal::OutOfBounds {
        elements: Elements { first, count },
        length,
    }
}
