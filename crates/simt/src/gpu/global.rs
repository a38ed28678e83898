//! Kernel parameters: arrays in global memory.

use super::F32x4;
use crate::count::op::Kind;
use crate::worker::checked;
use std::marker::PhantomData;
use std::panic::Location;

/// An input array. Any number of threads may read any element.
#[derive(Debug, Clone, Copy)]
pub struct In<T> {
    pub(super) number: u16,
    /// The element that is its first.
    first: usize,
    element: PhantomData<T>,
}

impl<T> In<T> {
    pub(super) fn new(number: u16) -> Self {
        Self {
            number,
            first: 0,
            element: PhantomData,
        }
    }

    /// The array from the element at `index` on.
    #[inline]
    #[must_use]
    pub fn from(self, index: u32) -> Self {
        Self {
            number: self.number,
            first: self.first + index as usize,
            element: PhantomData,
        }
    }

    /// Where the element at `index` lies in the whole array.
    #[inline]
    pub(super) fn at(&self, index: u32) -> usize {
        self.first + index as usize
    }
}

impl In<f32> {
    /// The element at `index`.
    #[track_caller]
    #[inline]
    pub fn get(self, index: u32) -> f32 {
        let at = Location::caller();
        f32::from_bits(load(self.number, self.at(index), at))
    }

    /// The elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[track_caller]
    #[inline]
    pub fn get4(self, quad: u32) -> F32x4 {
        let at = Location::caller();
        let (kind, first) = (Kind::GlobalLoad4, self.at(0) + 4 * quad as usize);
        F32x4(checked(|worker| worker.load_group(kind, self.number, first, at)).map(f32::from_bits))
    }

    /// As [`get4`](Self::get4); on the device, a read that may move across writes of the output.
    #[track_caller]
    #[inline]
    pub fn get4_fixed(self, quad: u32) -> F32x4 {
        self.get4(quad)
    }

    /// As [`get4`](Self::get4); on the device, a read of what the caches may give up first.
    #[track_caller]
    #[inline]
    pub fn get4_once(self, quad: u32) -> F32x4 {
        self.get4(quad)
    }

    /// As [`get4`](Self::get4); on the device, past the L1 cache.
    #[track_caller]
    #[inline]
    pub fn get4_past_l1(self, quad: u32) -> F32x4 {
        self.get4(quad)
    }

    /// The elements `2 * pair` and `2 * pair + 1`, in one 64-bit access; on the device, past the L1 cache.
    #[track_caller]
    #[inline]
    pub fn get2_past_l1(self, pair: u32) -> [f32; 2] {
        let at = Location::caller();
        let (kind, first) = (Kind::GlobalLoad2, self.at(0) + 2 * pair as usize);
        checked(|worker| worker.load_group(kind, self.number, first, at)).map(f32::from_bits)
    }

    /// As [`get4`](Self::get4) if `present`, else zeros and no access.
    #[track_caller]
    #[inline]
    pub fn get4_if(self, present: bool, quad: u32) -> F32x4 {
        match present {
            true => self.get4(quad),
            false => F32x4::ZERO,
        }
    }
}

impl In<u32> {
    /// The element at `index`.
    #[track_caller]
    #[inline]
    pub fn get(self, index: u32) -> u32 {
        let at = Location::caller();
        load(self.number, self.at(index), at)
    }
}

/// The output array. No two threads write the same element, and none is read.
#[derive(Debug, Clone, Copy)]
pub struct Out<T> {
    pub(super) number: u16,
    element: PhantomData<T>,
}

impl<T> Out<T> {
    pub(super) fn new(number: u16) -> Self {
        Self {
            number,
            element: PhantomData,
        }
    }
}

impl Out<f32> {
    /// Writes `value` at `index`.
    #[track_caller]
    #[inline]
    pub fn set(self, index: u32, value: f32) {
        let at = Location::caller();
        store(self.number, index, value.to_bits(), at);
    }

    /// Writes the elements `2 * pair` and `2 * pair + 1`, in one 64-bit access.
    #[track_caller]
    #[inline]
    pub fn set2(self, pair: u32, value: [f32; 2]) {
        let (at, words) = (Location::caller(), value.map(f32::to_bits));
        checked(|worker| worker.store_group(Kind::GlobalStore2, self.number, pair, words, at));
    }

    /// Writes the elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[track_caller]
    #[inline]
    pub fn set4(self, quad: u32, value: F32x4) {
        let (at, words) = (Location::caller(), value.0.map(f32::to_bits));
        checked(|worker| worker.store_group(Kind::GlobalStore4, self.number, quad, words, at));
    }

    /// As [`set4`](Self::set4); on the device, a write of what the caches may give up first.
    #[track_caller]
    #[inline]
    pub fn set4_once(self, quad: u32, value: F32x4) {
        self.set4(quad, value);
    }
}

// Not inlined: a call here is smaller than the access.
#[inline(never)]
fn load(number: u16, index: usize, at: &'static Location<'static>) -> u32 {
    checked(|worker| worker.load(number, index, at))
}

#[inline(never)]
fn store(number: u16, index: u32, word: u32, at: &'static Location<'static>) {
    checked(|worker| worker.store(number, index, word, at));
}
