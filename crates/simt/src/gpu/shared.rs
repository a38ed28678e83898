//! Arrays that the threads of a block share.

use super::F32x4;
use crate::count::op::Kind;
use crate::memory::shared::{Declaration, Place};
use crate::worker::{checked, with};
use std::marker::PhantomData;
use std::panic::Location;

/// An array of `N` elements in shared memory, declared with [`shared!`](crate::shared!). It starts with nothing
/// in it. Between a write by one thread and an access of the same element by another lies a barrier.
#[derive(Debug, Clone, Copy)]
pub struct Shared<T, const N: usize> {
    pub(super) place: Place,
    element: PhantomData<T>,
}

impl<T, const N: usize> Shared<T, N> {
    /// The array of this declaration, from [`shared!`](crate::shared!) only.
    pub fn declared(declaration: &'static Declaration) -> Self {
        Self {
            place: with(|worker| worker.array(declaration)),
            element: PhantomData,
        }
    }
}

impl<const N: usize> Shared<u32, N> {
    /// The same memory as FP32 values.
    #[inline]
    pub fn as_f32(self) -> Shared<f32, N> {
        Shared {
            place: self.place,
            element: PhantomData,
        }
    }

    /// The element at `index`, below `N`.
    #[track_caller]
    #[inline]
    pub fn get(self, index: u32) -> u32 {
        load(self.place, index, Location::caller())
    }

    /// Writes `value` at `index`, below `N`.
    #[track_caller]
    #[inline]
    pub fn set(self, index: u32, value: u32) {
        store(self.place, index, value, Location::caller());
    }

    /// Writes the elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[track_caller]
    #[inline]
    pub fn set4(self, quad: u32, value: [u32; 4]) {
        let (at, kind) = (Location::caller(), Kind::SharedStore4);
        checked(|worker| worker.shared_store_group(kind, self.place, quad, value, at));
    }
}

impl<const N: usize> Shared<f32, N> {
    /// The element at `index`, below `N`.
    #[track_caller]
    #[inline]
    pub fn get(self, index: u32) -> f32 {
        f32::from_bits(load(self.place, index, Location::caller()))
    }

    /// The elements `2 * pair` and `2 * pair + 1`, in one 64-bit access.
    #[track_caller]
    #[inline]
    pub fn get2(self, pair: u32) -> [f32; 2] {
        let (at, kind) = (Location::caller(), Kind::SharedLoad2);
        checked(|worker| worker.shared_load_group(kind, self.place, pair, at)).map(f32::from_bits)
    }

    /// The elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[track_caller]
    #[inline]
    pub fn get4(self, quad: u32) -> F32x4 {
        let (at, kind) = (Location::caller(), Kind::SharedLoad4);
        let words: [u32; 4] =
            checked(|worker| worker.shared_load_group(kind, self.place, quad, at));
        F32x4(words.map(f32::from_bits))
    }

    /// Writes `value` at `index`, below `N`.
    #[track_caller]
    #[inline]
    pub fn set(self, index: u32, value: f32) {
        store(self.place, index, value.to_bits(), Location::caller());
    }

    /// Writes the elements `2 * pair` and `2 * pair + 1`, in one 64-bit access.
    #[track_caller]
    #[inline]
    pub fn set2(self, pair: u32, value: [f32; 2]) {
        let (at, kind) = (Location::caller(), Kind::SharedStore2);
        let bits = value.map(f32::to_bits);
        checked(|worker| worker.shared_store_group(kind, self.place, pair, bits, at));
    }

    /// Writes the elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[track_caller]
    #[inline]
    pub fn set4(self, quad: u32, value: F32x4) {
        let (at, kind) = (Location::caller(), Kind::SharedStore4);
        let bits = value.0.map(f32::to_bits);
        checked(|worker| worker.shared_store_group(kind, self.place, quad, bits, at));
    }
}

// Not inlined: a call here is smaller than the access.
#[inline(never)]
fn load(place: Place, index: u32, at: &'static Location<'static>) -> u32 {
    checked(|worker| worker.shared_load(place, index, at))
}

#[inline(never)]
fn store(place: Place, index: u32, word: u32, at: &'static Location<'static>) {
    checked(|worker| worker.shared_store(place, index, word, at));
}

/// Declares a shared array of exactly its elements, and the function that returns it:
/// `shared! { fn partial() -> Shared<f32, 256>; }`. An array is aligned to 16 bytes, or with `aligned 1024` after its
/// type to so many. `dynamic` before `fn` leaves its bytes to the launch.
#[macro_export]
macro_rules! shared {
    ($($(#[$meta:meta])* fn $name:ident() -> Shared<$element:ty, $elements:tt> $(, aligned $align:literal)?;)*) => {$(
        $crate::shared! { @function $(#[$meta])* $name, $element, $elements, new, [$($align)?] }
    )*};
    ($(#[$meta:meta])* dynamic fn $name:ident() -> Shared<$element:ty, $elements:tt> $(, aligned $align:literal)?;) => {
        $crate::shared! { @function $(#[$meta])* $name, $element, $elements, dynamic, [$($align)?] }
    };
    (@align []) => { 16 };
    (@align [$align:literal]) => { $align };
    (@function $(#[$meta:meta])* $name:ident, $element:ty, $elements:tt, $new:ident, $align:tt) => {
        $(#[$meta])*
        fn $name() -> $crate::gpu::Shared<$element, $elements> {
            static DECLARATION: $crate::gpu::Declaration = $crate::gpu::Declaration::$new(
                stringify!($name),
                $elements,
                $crate::shared!(@align $align),
            );
            $crate::gpu::Shared::declared(&DECLARATION)
        }
    };
}
