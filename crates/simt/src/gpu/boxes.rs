//! Reads of boxes of an array of several dims, which the device finds by itself: one thread starts them.

use super::bulk::ranks;
use super::{Mbarrier, Shared};
use crate::fault::Elements;
use crate::memory::Refusal;
use crate::worker::{BulkSource, checked};
use std::iter;
use std::panic::Location;

/// Words of a quad.
const QUAD: usize = 4;
/// Quads of 128 bytes, at a multiple of which a box lies.
const LINE: usize = 8;

/// An input as an array of three dims, of which boxes of a fixed size are read.
#[derive(Debug, Clone, Copy)]
pub struct Boxes {
    pub(crate) input: u16,
    /// Elements along each dim of the array, and of a box, the fastest dim first.
    array: [u32; 3],
    size: [u32; 3],
}

impl Boxes {
    /// Boxes of this size of an input as an array of this shape.
    pub(crate) fn new(input: u16, boxes: mage_kernels::variants::Boxes) -> Self {
        Self {
            input,
            array: boxes.array,
            size: boxes.size,
        }
    }

    /// On the device, brings the tensor map near.
    pub fn prefetch(self) {}

    /// Refuses a place for a box that is not a multiple of 128 bytes.
    pub(crate) fn check(quad: u32) -> Result<(), Refusal> {
        match quad as usize % LINE {
            0 => Ok(()),
            astray => Err(Refusal::Misaligned {
                elements: Elements {
                    first: QUAD * quad as usize,
                    count: LINE * QUAD,
                },
                bytes: 16 * astray,
            }),
        }
    }

    /// The words of the box whose first element is `at`, for a place from `first_quad` on, in the order of the 64-byte
    /// swizzle, or of the 32-byte one for rows of 32 bytes: the quads of a row change places as the number of their 128
    /// bytes, modulo the quads of a row, says. Zero where a box reaches beyond the array.
    pub(crate) fn words(self, array: &[u32], at: [u32; 3], first_quad: u32) -> Vec<u32> {
        let [width, height, depth] = self.size.map(|extent| extent as usize);
        let mut words = vec![0; width * height * depth];
        for i in 0..words.len() {
            let steps = [i % width, i / width % height, i / width / height];
            let place: [usize; 3] = std::array::from_fn(|dim| at[dim] as usize + steps[dim]);
            let inside = (0..3).all(|dim| place[dim] < self.array[dim] as usize);
            let [x, y, z] = place;
            let index = (z * self.array[1] as usize + y) * self.array[0] as usize + x;
            let quad = i / QUAD;
            let line = (first_quad as usize + quad) / LINE;
            let swizzled = quad ^ (line % (width / QUAD));
            words[QUAD * swizzled + i % QUAD] = match inside {
                true => array[index],
                false => 0,
            };
        }
        words
    }
}

impl<const N: usize> Shared<f32, N> {
    /// Starts to read the box whose first element is `at`, the fastest dim first, to this array from `quad` on. Its
    /// bytes count at `barrier`.
    #[track_caller]
    pub fn start_box(self, quad: u32, from: Boxes, at: [u32; 3], barrier: Mbarrier) {
        let (source, caller) = (BulkSource::Box { boxes: from, at }, Location::caller());
        let mbarrier = (barrier.place, barrier.index);
        checked(|worker| {
            let here = iter::once(worker.rank());
            worker.start_load(here, self.place, quad, source, mbarrier, caller)
        });
    }

    /// As [`start_box`](Self::start_box), into this array of every block of the cluster whose bit is set in `ranks`,
    /// and counted at the same barrier of each.
    #[track_caller]
    pub fn start_box_in(self, ranks: u32, quad: u32, from: Boxes, at: [u32; 3], barrier: Mbarrier) {
        let (source, caller) = (BulkSource::Box { boxes: from, at }, Location::caller());
        let mbarrier = (barrier.place, barrier.index);
        let ranks = self::ranks(ranks);
        checked(|worker| worker.start_load(ranks, self.place, quad, source, mbarrier, caller));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_swizzled_and_ends_with_its_array() {
        let array: Vec<u32> = (0..16 * 3 * 5).collect();
        let boxes = Boxes {
            input: 0,
            array: [16, 3, 5],
            size: [16, 4, 2],
        };
        let words = boxes.words(&array, [0, 1, 3], 32);
        assert_eq!(words.len(), 128);
        // Rows 0 and 1 are in order, of rows 2 and 3 the quads change places with their neighbours.
        assert_eq!(words[..5], [16 * 10, 161, 162, 163, 164]);
        assert_eq!(words[16], 16 * 11);
        // Row 2 lies beyond the second dim, row 4 is the first of the next along the third.
        assert_eq!(words[32..64], [0; 32]);
        assert_eq!(words[64 + 4 * 2], 16 * (12 + 1));
        // 128 bytes further, the first two rows change places.
        let words = boxes.words(&array, [0, 1, 3], 8);
        assert_eq!(words[4..8], [160, 161, 162, 163]);
    }

    #[test]
    fn rows_of_32_bytes_change_places_in_pairs() {
        let array: Vec<u32> = (0..8 * 8).collect();
        let boxes = Boxes {
            input: 0,
            array: [8, 8, 1],
            size: [8, 8, 1],
        };
        let words = boxes.words(&array, [0; 3], 0);
        assert_eq!(words[..32], array[..32]);
        assert_eq!(words[32..40], [36, 37, 38, 39, 32, 33, 34, 35]);
    }
}
