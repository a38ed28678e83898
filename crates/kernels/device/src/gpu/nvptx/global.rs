//! Kernel parameters: arrays in global memory, each a naked pointer in the object.

use crate::gpu::F32x4;
use core::arch::asm;

/// An input array. Any number of threads may read any element.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The element at `index`.
    #[inline(always)]
    pub fn get(self, index: u32) -> T {
        // SAFETY: the launch gives an array of the size that the dims imply, and the kernel's indices lie in it.
        unsafe { *self.0.add(index as usize) }
    }
}

impl<T> In<T> {
    /// The array from the element at `index` on.
    #[inline(always)]
    pub fn from(self, index: u32) -> Self {
        // SAFETY: as for `get`; the kernel reads from the result only what the whole array has.
        Self(unsafe { self.0.add(index as usize) })
    }
}

impl In<f32> {
    /// The elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn get4(self, quad: u32) -> F32x4 {
        // SAFETY: as for `get`; arrays are aligned to 16 bytes, and so is every fourth element.
        unsafe { *self.0.cast::<F32x4>().add(quad as usize) }
    }
}

impl In<f32> {
    /// The address of the elements from `4 * quad` on.
    #[inline(always)]
    pub(super) fn quad(self, quad: u32) -> u64 {
        self.0 as u64 + 16 * u64::from(quad)
    }
}

impl In<f32> {
    /// As [`get4`](Self::get4), for elements that the block reads once: past the L1 cache, and never merged with other
    /// accesses.
    #[inline(always)]
    pub fn get4_once(self, quad: u32) -> F32x4 {
        let (x, y, z, w);
        // SAFETY: as for `get4`; no kernel writes an input.
        unsafe {
            asm!("ld.global.nc.L1::no_allocate.v4.f32 {{{}, {}, {}, {}}}, [{}];", out(reg32) x, out(reg32) y,
                out(reg32) z, out(reg32) w, in(reg64) self.quad(quad), options(readonly, nostack));
        }
        F32x4([x, y, z, w])
    }
}

/// The output array. No two threads write the same element, and none is read.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// Writes `value` at `index`.
    #[inline(always)]
    pub fn set(self, index: u32, value: T) {
        // SAFETY: the launch gives an array of the size that the dims imply, apart from every input; the
        // kernel's indices lie in it, and each belongs to one thread.
        unsafe { *self.0.add(index as usize) = value }
    }
}

impl Out<f32> {
    /// Writes the elements `2 * pair` and `2 * pair + 1`, in one 64-bit access.
    #[inline(always)]
    pub fn set2(self, pair: u32, value: [f32; 2]) {
        /// Two consecutive floats.
        #[repr(C, align(8))]
        struct Pair([f32; 2]);
        // SAFETY: as for `set`; arrays are aligned to 16 bytes, and so to 8 is every second element.
        unsafe { *self.0.cast::<Pair>().add(pair as usize) = Pair(value) }
    }

    /// Writes the elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn set4(self, quad: u32, value: F32x4) {
        // SAFETY: as for `set`; arrays are aligned to 16 bytes, and so is every fourth element.
        unsafe { *self.0.cast::<F32x4>().add(quad as usize) = value }
    }
}
