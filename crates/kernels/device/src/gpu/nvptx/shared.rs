//! Arrays that the threads of a block share.

use crate::gpu::F32x4;
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

    /// Where the elements `4 * quad .. 4 * quad + 4` are in it, in bytes.
    #[inline(always)]
    pub(super) fn quad(self, quad: u32) -> u32 {
        self.address + 16 * quad
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
            asm!("st.shared.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg32) self.quad(quad),
                in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, options(nostack));
        }
    }
}

impl<const N: usize> Shared<f32, N> {
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

    /// The elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn get4(self, quad: u32) -> F32x4 {
        let (x, y, z, w);
        // SAFETY: inside the array that the kernel declared; it is aligned to 16 bytes, and so is every quad.
        unsafe {
            asm!("ld.shared.v4.f32 {{{}, {}, {}, {}}}, [{}];", out(reg32) x, out(reg32) y, out(reg32) z,
                out(reg32) w, in(reg32) self.quad(quad), options(pure, readonly, nostack));
        }
        F32x4([x, y, z, w])
    }

    /// The elements `2 * pair` and `2 * pair + 1`, in one 64-bit access.
    #[inline(always)]
    pub fn get2(self, pair: u32) -> [f32; 2] {
        let (x, y);
        // SAFETY: inside the array that the kernel declared; it is aligned to 16 bytes, and so is every pair to 8.
        unsafe {
            asm!("ld.shared.v2.f32 {{{}, {}}}, [{}];", out(reg32) x, out(reg32) y,
                in(reg32) self.address + 8 * pair, options(pure, readonly, nostack));
        }
        [x, y]
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

    /// Writes the elements `2 * pair` and `2 * pair + 1`, in one 64-bit access.
    #[inline(always)]
    pub fn set2(self, pair: u32, value: [f32; 2]) {
        let [x, y] = value;
        // SAFETY: as for `get2`.
        unsafe {
            asm!("st.shared.v2.f32 [{}], {{{}, {}}};", in(reg32) self.address + 8 * pair, in(reg32) x,
                in(reg32) y, options(nostack));
        }
    }

    /// Writes the elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn set4(self, quad: u32, value: F32x4) {
        let [x, y, z, w] = value.0;
        // SAFETY: inside the array that the kernel declared; it is aligned to 16 bytes, and so is every quad.
        unsafe {
            asm!("st.shared.v4.f32 [{}], {{{}, {}, {}, {}}};", in(reg32) self.quad(quad),
                in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, options(nostack));
        }
    }
}

/// Declares a shared array of exactly its elements, and the function that returns it:
/// `shared! { fn partial() -> Shared<f32, 256>; }`. The name is the symbol in the object. An array is aligned to
/// 16 bytes, or with `aligned 1024` after its type to so many. `dynamic` before `fn` leaves its bytes to the launch
/// (`dynamic_shared_bytes` in the table of variants): more than the 48 KiB that an object may declare.
#[allow(unused_macros)] // not every variant has one
macro_rules! shared {
    ($($(#[$meta:meta])* fn $name:ident() -> Shared<$element:ty, $elements:tt> $(, aligned $align:literal)?;)*) => {$(
        $crate::gpu::shared! { @function $(#[$meta])* $name, $element, $elements,
            [".shared .align ", $crate::gpu::shared!(@align $($align)?), " .b8 ", stringify!($name), "[{bytes}];"],
            bytes = const ::core::mem::size_of::<[$element; $elements]>(),
        }
    )*};
    ($(#[$meta:meta])* dynamic fn $name:ident() -> Shared<$element:ty, $elements:tt> $(, aligned $align:literal)?;) => {
        $crate::gpu::shared! { @function $(#[$meta])* $name, $element, $elements,
            [".extern .shared .align ", $crate::gpu::shared!(@align $($align)?), " .b8 ", stringify!($name), "[];"],
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
