//! Products of small matrices by a whole warp.

use core::arch::asm;

/// `c + a b` of a 16 x 8 by an 8 x 8 matrix in TF32 (the upper 19 bits of each value count), summed in FP32:
/// `mma.sync.aligned.m16n8k8`. All lanes must take part.
///
/// With `g = lane / 4` and `t = lane % 4`, a lane holds of `a` the elements (row, column) `(g, t)`,
/// `(g + 8, t)`, `(g, t + 4)`, `(g + 8, t + 4)`; of `b` `(t, g)`, `(t + 4, g)`; of `c` and the result
/// `(g, 2t)`, `(g, 2t + 1)`, `(g + 8, 2t)`, `(g + 8, 2t + 1)`.
#[inline(always)]
pub fn mma_tf32(a: [f32; 4], b: [f32; 2], c: [f32; 4]) -> [f32; 4] {
    let [mut d0, mut d1, mut d2, mut d3] = c;
    // SAFETY: registers only; whole warps reach it together.
    unsafe {
        asm!("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, \
            {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg32) d0, inout(reg32) d1, inout(reg32) d2, inout(reg32) d3,
            in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
            options(pure, nomem, nostack));
    }
    [d0, d1, d2, d3]
}

/// `x` as a sum of two: the nearest value of 11 significant bits (`cvt.rna.tf32.f32`), and the rest, of which
/// [`mma_tf32`] drops what lies below `2^-22 |x|`.
#[inline(always)]
pub fn split_tf32(x: f32) -> (f32, f32) {
    let high: f32;
    // SAFETY: registers only.
    unsafe {
        asm!("cvt.rna.tf32.f32 {}, {};", out(reg32) high, in(reg32) x, options(pure, nomem, nostack));
    }
    (high, x - high)
}

/// As [`split_tf32`], but with the first 11 significant bits for the nearest 11: two instructions in place of five.
/// Of the rest, which has the sign of `x`, [`mma_tf32`] drops what lies below `2^-21 |x|`.
#[inline(always)]
pub fn cut_tf32(x: f32) -> (f32, f32) {
    let high = f32::from_bits(x.to_bits() & 0xffff_e000);
    (high, x - high)
}
