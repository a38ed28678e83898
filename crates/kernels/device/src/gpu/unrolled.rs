//! Repetition without a loop. An array that a loop indexes lies in memory unless the compiler unrolls the loop,
//! which it does as it sees fit; these leave no loop to unroll, so that arrays stay in registers.

/// `unrolled!(i in 16 { … })` is the body sixteen times, `i` from 0 to 15. The body may return from the
/// kernel, and holds no borrow longer than a round.
#[allow(unused_macros)] // not every variant has one
macro_rules! unrolled {
    ($i:ident in 16 $body:block) => {
        $crate::gpu::unrolled!(@ $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($i:ident in 8 $body:block) => {
        $crate::gpu::unrolled!(@ $i $body 0 1 2 3 4 5 6 7)
    };
    ($i:ident in 4 $body:block) => {
        $crate::gpu::unrolled!(@ $i $body 0 1 2 3)
    };
    (@ $i:ident $body:block $($n:literal)*) => {
        $({ let $i: usize = $n; $body })*
    };
}
#[allow(unused_imports)]
pub(crate) use unrolled;

/// The most repetitions of [`each`] and [`array`].
const MOST: usize = 16;

/// Calls `f` with 0, 1, and so on below `N`, at most 16.
#[inline(always)]
pub fn each<const N: usize>(mut f: impl FnMut(usize)) {
    const { assert!(N <= MOST) };
    if N > 0 {
        f(0);
    }
    if N > 1 {
        f(1);
    }
    if N > 2 {
        f(2);
    }
    if N > 3 {
        f(3);
    }
    if N > 4 {
        f(4);
    }
    if N > 5 {
        f(5);
    }
    if N > 6 {
        f(6);
    }
    if N > 7 {
        f(7);
    }
    if N > 8 {
        f(8);
    }
    if N > 9 {
        f(9);
    }
    if N > 10 {
        f(10);
    }
    if N > 11 {
        f(11);
    }
    if N > 12 {
        f(12);
    }
    if N > 13 {
        f(13);
    }
    if N > 14 {
        f(14);
    }
    if N > 15 {
        f(15);
    }
}

/// The array of `f(0)`, `f(1)`, and so on, of `N` elements, from 1 to 16.
#[inline(always)]
pub fn array<T: Copy, const N: usize>(mut f: impl FnMut(usize) -> T) -> [T; N] {
    const { assert!(0 < N && N <= MOST) };
    let mut values = [f(0); N];
    each::<N>(|i| {
        if i > 0 {
            values[i] = f(i);
        }
    });
    values
}
