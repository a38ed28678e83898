//! Loops whose rounds are written out.

/// `unrolled!(i in 16 { … })` is the body sixteen times, `i` from 0 to 15: arrays that it indexes stay in
/// registers, where the compiler might keep a loop, and with it the arrays in memory.
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
