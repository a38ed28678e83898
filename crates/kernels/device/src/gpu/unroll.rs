//! Repetition without a loop. An array that a loop indexes lies in memory unless the compiler unrolls the loop,
//! which it does as it sees fit; these leave no loop to unroll, so that arrays stay in registers.

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
