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
    /// The elements `2 * pair` and `2 * pair + 1`, as [`get4_past_l1`](Self::get4_past_l1) reads four.
    #[inline(always)]
    pub fn get2_past_l1(self, pair: u32) -> [f32; 2] {
        let (x, y);
        // SAFETY: as for `get4_fixed`; arrays are aligned to 16 bytes, and so is every pair to 8.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "ld.global.nc.L1::no_allocate.v2.f32 {{{}, {}}}, [global]; }}",
                in(reg64) self.0.cast::<[f32; 2]>().wrapping_add(pair as usize),
                out(reg32) x, out(reg32) y, options(readonly, nostack));
        }
        [x, y]
    }

    /// The elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn get4(self, quad: u32) -> F32x4 {
        // SAFETY: as for `get`; arrays are aligned to 16 bytes, and so is every fourth element.
        unsafe { *self.0.cast::<F32x4>().add(quad as usize) }
    }

    /// As [`get4`](Self::get4), by the path for what no launch writes (`ld.global.nc`): the driver's compiler may
    /// move the read across writes of the output.
    #[inline(always)]
    pub fn get4_fixed(self, quad: u32) -> F32x4 {
        let (x, y, z, w);
        // SAFETY: as for `get4`; the output lies apart from every input.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "ld.global.nc.v4.f32 {{{}, {}, {}, {}}}, [global]; }}",
                in(reg64) self.quad(quad),
                out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w,
                options(readonly, nostack));
        }
        F32x4([x, y, z, w])
    }

    /// As [`get4`](Self::get4), for elements that the launch reads once: the caches give them up first
    /// (`ld.global.cs`).
    #[inline(always)]
    pub fn get4_once(self, quad: u32) -> F32x4 {
        let (x, y, z, w);
        // SAFETY: as for `get4`.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "ld.global.cs.v4.f32 {{{}, {}, {}, {}}}, [global]; }}",
                in(reg64) self.quad(quad),
                out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w,
                options(readonly, nostack));
        }
        F32x4([x, y, z, w])
    }

    /// As [`get4_fixed`](Self::get4_fixed), for elements that the block reads once: past the L1 cache
    /// (`ld.global.nc.L1::no_allocate`).
    #[inline(always)]
    pub fn get4_past_l1(self, quad: u32) -> F32x4 {
        let (x, y, z, w);
        // SAFETY: as for `get4_fixed`.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "ld.global.nc.L1::no_allocate.v4.f32 {{{}, {}, {}, {}}}, [global]; }}",
                in(reg64) self.quad(quad),
                out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w,
                options(readonly, nostack));
        }
        F32x4([x, y, z, w])
    }

    /// As [`get4`](Self::get4) if `present`, else zeros and no access: one predicated instruction, no branch, as
    /// [`get4_fixed`](Self::get4_fixed).
    #[inline(always)]
    pub fn get4_if(self, present: bool, quad: u32) -> F32x4 {
        let (x, y, z, w);
        // SAFETY: as for `get4` if `present`; else nothing is read.
        unsafe {
            asm!("{{ .reg .pred present;", ".reg .b64 global;", "setp.ne.u32 present, {}, 0;",
                "cvta.to.global.u64 global, {};",
                "mov.b32 {2}, 0;", "mov.b32 {3}, 0;", "mov.b32 {4}, 0;", "mov.b32 {5}, 0;",
                "@present ld.global.nc.v4.f32 {{{2}, {3}, {4}, {5}}}, [global]; }}",
                in(reg32) present as u32, in(reg64) self.quad(quad),
                out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w,
                // Not `pure`: reads stay where the kernel has them, before what they are to overlap with.
                options(readonly, nostack));
        }
        F32x4([x, y, z, w])
    }

    /// Address of the elements `4 * quad .. 4 * quad + 4`.
    #[inline(always)]
    pub(super) fn quad(self, quad: u32) -> *const F32x4 {
        self.0.cast::<F32x4>().wrapping_add(quad as usize)
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

    /// As [`set4`](Self::set4), for elements that nothing reads soon: the caches give them up first
    /// (`st.global.cs`).
    #[inline(always)]
    pub fn set4_once(self, quad: u32, value: F32x4) {
        let [x, y, z, w] = value.0;
        // SAFETY: as for `set4`.
        unsafe {
            asm!("{{ .reg .b64 global;", "cvta.to.global.u64 global, {};",
                "st.global.cs.v4.f32 [global], {{{}, {}, {}, {}}}; }}",
                in(reg64) self.quad(quad),
                in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, options(nostack));
        }
    }

    /// Address of the elements `4 * quad .. 4 * quad + 4`.
    #[inline(always)]
    pub(super) fn quad(self, quad: u32) -> *mut F32x4 {
        self.0.cast::<F32x4>().wrapping_add(quad as usize)
    }
}
