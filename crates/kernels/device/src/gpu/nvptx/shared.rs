//! Arrays that the threads of a block share.

use crate::gpu::{F32x4, In};
use core::arch::asm;
use core::marker::PhantomData;

/// An array of `N` elements in shared memory, declared with [`shared!`](crate::gpu::shared). It starts with
/// any content. Between a write by one thread and an access of the same element by another lies a barrier.
#[derive(Clone, Copy)]
pub struct Shared<T, const N: usize> {
    /// Address in the shared window.
    address: u32,
    element: PhantomData<T>,
}

impl<T, const N: usize> Shared<T, N> {
    /// The array at `address`, from [`shared!`](crate::gpu::shared) only.
    ///
    /// # Safety
    /// `address` is that of `4 * N` bytes of shared memory, aligned to 16.
    #[inline(always)]
    pub unsafe fn at(address: u32) -> Self {
        Self {
            address,
            element: PhantomData,
        }
    }

    /// Where it begins in the shared window, in bytes.
    #[inline(always)]
    pub(super) fn address(self) -> u32 {
        self.address
    }
}

impl<const N: usize> Shared<u32, N> {
    /// The same memory as FP32 values.
    #[inline(always)]
    pub fn as_f32(self) -> Shared<f32, N> {
        Shared {
            address: self.address,
            element: PhantomData,
        }
    }

    /// The element at `index`, below `N`.
    #[inline(always)]
    pub fn get(self, index: u32) -> u32 {
        let value;
        // SAFETY: inside the array that the kernel declared.
        unsafe {
            asm!("ld.shared.u32 {}, [{}];", out(reg32) value, in(reg32) self.address + 4 * index,
                options(pure, readonly, nostack));
        }
        value
    }

    /// Writes `value` at `index`, below `N`.
    #[inline(always)]
    pub fn set(self, index: u32, value: u32) {
        // SAFETY: inside the array that the kernel declared.
        unsafe {
            asm!("st.shared.u32 [{}], {};", in(reg32) self.address + 4 * index, in(reg32) value,
                options(nostack));
        }
    }

    /// Writes the elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn set4(self, quad: u32, value: [u32; 4]) {
        let [x, y, z, w] = value;
        // SAFETY: inside the array that the kernel declared; it is aligned to 16 bytes, and so is every quad.
        unsafe {
            asm!("st.shared.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg32) self.address + 16 * quad,
                in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, options(nostack));
        }
    }
}

impl<const N: usize> Shared<f32, N> {
    /// The elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn get4(self, quad: u32) -> F32x4 {
        let (x, y, z, w);
        // SAFETY: inside the array that the kernel declared; it is aligned to 16 bytes, and so is every quad.
        unsafe {
            asm!("ld.shared.v4.f32 {{{}, {}, {}, {}}}, [{}];", out(reg32) x, out(reg32) y, out(reg32) z,
                out(reg32) w, in(reg32) self.address + 16 * quad, options(pure, readonly, nostack));
        }
        F32x4([x, y, z, w])
    }

    /// The element at `index`, below `N`.
    #[inline(always)]
    pub fn get(self, index: u32) -> f32 {
        let value;
        // SAFETY: inside the array that the kernel declared.
        unsafe {
            asm!("ld.shared.f32 {}, [{}];", out(reg32) value, in(reg32) self.address + 4 * index,
                options(pure, readonly, nostack));
        }
        value
    }

    /// Writes `value` at `index`, below `N`.
    #[inline(always)]
    pub fn set(self, index: u32, value: f32) {
        // SAFETY: inside the array that the kernel declared.
        unsafe {
            asm!("st.shared.f32 [{}], {};", in(reg32) self.address + 4 * index, in(reg32) value,
                options(nostack));
        }
    }

    /// Writes the elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn set4(self, quad: u32, value: F32x4) {
        let [x, y, z, w] = value.0;
        // SAFETY: inside the array that the kernel declared; it is aligned to 16 bytes, and so is every quad.
        unsafe {
            asm!("st.shared.v4.f32 [{}], {{{}, {}, {}, {}}};", in(reg32) self.address + 16 * quad,
                in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, options(nostack));
        }
    }
}

impl<const N: usize> Shared<f32, N> {
    /// Starts a copy of the elements `4 * from_quad .. 4 * from_quad + 4` of `from` to those of this array from
    /// `4 * quad` on, which goes through no register (`cp.async`).
    #[inline(always)]
    pub fn start_copy4(self, quad: u32, from: In<f32>, from_quad: u32) {
        // SAFETY: inside the arrays that the kernel declared and that the launch gives; both are aligned to 16 bytes,
        // and so is every quad.
        unsafe {
            asm!("cp.async.cg.shared.global [{}], [{}], 16;", in(reg32) self.address + 16 * quad,
                in(reg64) from.quad(from_quad), options(nostack));
        }
    }
}

/// Closes the group of the copies that this thread started so far.
#[inline(always)]
pub fn close_copies() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("cp.async.commit_group;", options(nostack)) }
}

/// Waits until all groups of copies of this thread but the last `LEFT` are done.
#[inline(always)]
pub fn wait_for_copies<const LEFT: u32>() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("cp.async.wait_group {};", const LEFT, options(nostack)) }
}

/// Declares a shared array of exactly its elements, and the function that returns it:
/// `shared! { fn partial() -> Shared<f32, 256>; }`. The name is the symbol in the object. An array is aligned to
/// 16 bytes, or with `aligned 1024` after its type to so many. `dynamic` before `fn` leaves its bytes to the
/// launch.
#[allow(unused_macros)] // not every variant has one
macro_rules! shared {
    ($($(#[$meta:meta])* fn $name:ident() -> Shared<$element:ty, $elements:tt> $(, aligned $align:literal)?;)*) => {$(
        $crate::gpu::shared! { @function $(#[$meta])* $name, $element, $elements,
            [".shared .align ", $crate::gpu::shared!(@align $($align)?), " .b8 ", stringify!($name), "[{bytes}];"],
            bytes = const ::core::mem::size_of::<[$element; $elements]>(),
        }
    )*};
    ($(#[$meta:meta])* dynamic fn $name:ident() -> Shared<$element:ty, $elements:tt>, aligned $align:literal;) => {
        $crate::gpu::shared! { @function $(#[$meta])* $name, $element, $elements,
            [".extern .shared .align ", $align, " .b8 ", stringify!($name), "[];"],
        }
    };
    (@align) => { 16 };
    (@align $align:literal) => { $align };
    (@function $(#[$meta:meta])* $name:ident, $element:ty, $elements:tt, [$($declaration:tt)*], $($operand:tt)*) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        #[inline(always)]
        fn $name() -> $crate::gpu::Shared<$element, $elements> {
            mod declaration {
                ::core::arch::global_asm!(concat!($($declaration)*), $($operand)*);
            }
            let address: u32;
            // SAFETY: the address of the array declared above, of the size and alignment that `at` asks for.
            unsafe {
                ::core::arch::asm!(concat!("mov.u32 {}, ", stringify!($name), ";"), out(reg32) address,
                    options(pure, nomem, nostack));
                $crate::gpu::Shared::at(address)
            }
        }
    };
}
#[allow(unused_imports)]
pub(crate) use shared;
