//! Arrays that the threads of a block share.

use super::F32x4;
use crate::memory::shared::Declaration;
use crate::worker::{checked, with};
use std::marker::PhantomData;
use std::panic::Location;

/// An array of `N` elements in shared memory, declared with [`shared!`](crate::shared!). It starts with nothing
/// in it. Between a write by one thread and an access of the same element by another lies a barrier.
#[derive(Debug, Clone, Copy)]
pub struct Shared<T, const N: usize> {
    /// Its number and its first word in the block's memory.
    array: (u16, u32),
    element: PhantomData<T>,
}

impl<const N: usize> Shared<f32, N> {
    /// The array of this declaration, from [`shared!`](crate::shared!) only.
    pub fn declared(declaration: &'static Declaration) -> Self {
        Self {
            array: with(|worker| worker.array(declaration)),
            element: PhantomData,
        }
    }

    /// The element at `index`, below `N`.
    #[track_caller]
    #[inline]
    pub fn get(self, index: u32) -> f32 {
        let at = Location::caller();
        f32::from_bits(load(self.array, N, index, at))
    }

    /// Writes `value` at `index`, below `N`.
    #[track_caller]
    #[inline]
    pub fn set(self, index: u32, value: f32) {
        let at = Location::caller();
        store(self.array, N, index, value.to_bits(), at);
    }

    /// Writes the elements `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[track_caller]
    #[inline]
    pub fn set4(self, quad: u32, value: F32x4) {
        let at = Location::caller();
        let bits = value.0.map(f32::to_bits);
        checked(|worker| worker.shared_store4(self.array, N, quad, bits, at));
    }
}

// Not inlined: a call here is smaller than the access.
#[inline(never)]
fn load(array: (u16, u32), length: usize, index: u32, at: &'static Location<'static>) -> u32 {
    checked(|worker| worker.shared_load(array, length, index, at))
}

#[inline(never)]
fn store(array: (u16, u32), length: usize, index: u32, word: u32, at: &'static Location<'static>) {
    checked(|worker| worker.shared_store(array, length, index, word, at));
}

/// Declares a shared array of exactly its elements, and the function that returns it:
/// `shared! { fn partial() -> Shared<f32, 256>; }`.
#[macro_export]
macro_rules! shared {
    ($($(#[$meta:meta])* fn $name:ident() -> Shared<$element:ty, $elements:tt>;)*) => {$(
        $(#[$meta])*
        fn $name() -> $crate::gpu::Shared<$element, $elements> {
            static DECLARATION: $crate::gpu::Declaration =
                $crate::gpu::Declaration::new(stringify!($name), $elements);
            $crate::gpu::Shared::declared(&DECLARATION)
        }
    )*};
}
