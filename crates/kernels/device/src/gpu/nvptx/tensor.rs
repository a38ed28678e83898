//! Tensor-core products of a warp (`mma.sync`), in binary16 and in TF32, and what feeds them.
//!
//! In all of them g is the lane divided by four and t the remainder. A pair is two binary16 values in one
//! register, the first in the lower half.

use crate::gpu::Shared;
use core::arch::asm;

/// Rounds two values to binary16, and rounds to binary16 what that leaves: `(high, low)`, each a pair. `high +
/// low` is the value within a relative error of `2^-22`, or within `2^-25` where that is more. Beyond 65504 in
/// magnitude `high` is infinite.
#[inline(always)]
pub fn split_f16(first: f32, second: f32) -> (u32, u32) {
    let (high, low);
    // SAFETY: registers only.
    unsafe {
        asm!(
            "{{",
            ".reg .b16 h0, h1;",
            ".reg .f32 f0, f1;",
            "cvt.rn.f16x2.f32 {high}, {second}, {first};",
            "mov.b32 {{h0, h1}}, {high};",
            "cvt.f32.f16 f0, h0;",
            "cvt.f32.f16 f1, h1;",
            "sub.rn.f32 f0, {first}, f0;",
            "sub.rn.f32 f1, {second}, f1;",
            "cvt.rn.f16x2.f32 {low}, f1, f0;",
            "}}",
            first = in(reg32) first,
            second = in(reg32) second,
            high = out(reg32) high,
            low = out(reg32) low,
            options(pure, nomem, nostack),
        );
    }
    (high, low)
}

/// The larger magnitude, in each place of two pairs; NaN where either is (`max.NaN.f16x2`).
#[inline(always)]
pub fn max_magnitudes(x: u32, y: u32) -> u32 {
    let z;
    // SAFETY: registers only.
    unsafe {
        asm!("{{",
            ".reg .b32 m, n;",
            "abs.f16x2 m, {x};",
            "abs.f16x2 n, {y};",
            "max.NaN.f16x2 {z}, m, n;",
            "}}",
            x = in(reg32) x, y = in(reg32) y, z = out(reg32) z, options(pure, nomem, nostack));
    }
    z
}

/// Both values of a pair.
#[inline(always)]
pub fn unpack_f16(pair: u32) -> [f32; 2] {
    let (x, y);
    // SAFETY: registers only.
    unsafe {
        asm!("{{",
            ".reg .b16 h0, h1;",
            "mov.b32 {{h0, h1}}, {pair};",
            "cvt.f32.f16 {x}, h0;",
            "cvt.f32.f16 {y}, h1;",
            "}}",
            pair = in(reg32) pair, x = out(reg32) x, y = out(reg32) y, options(pure, nomem, nostack));
    }
    [x, y]
}

/// `d += a b` for a (16,16), b (16,8) and d (16,8) spread over a warp (`mma.sync.m16n8k16`). Pairs of a: row g,
/// columns 2t and 2t+1; row g+8, the same columns; row g, columns 2t+8 and 2t+9; row g+8, those. Pairs of b:
/// column g, rows 2t and 2t+1; rows 2t+8 and 2t+9. d: row g, columns 2t and 2t+1; row g+8, the same.
#[inline(always)]
pub fn mma_f16(d: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
    // SAFETY: registers only; whole warps reach it together.
    unsafe {
        asm!(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
             {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg32) d[0], inout(reg32) d[1], inout(reg32) d[2], inout(reg32) d[3],
            in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3],
            in(reg32) b[0], in(reg32) b[1],
            options(pure, nomem, nostack),
        );
    }
}

impl<const N: usize> Shared<u32, N> {
    /// Four 8 x 8 matrices of binary16, each row a quad (`ldmatrix.x4`). Lane l names the `quad` that holds row
    /// `l % 8` of matrix `l / 8`, and gets the pair of columns 2t and 2t+1 in row g of each.
    #[inline(always)]
    pub fn matrices(self, quad: u32) -> [u32; 4] {
        let (w, x, y, z);
        // SAFETY: inside the array that the kernel declared; whole warps reach it together.
        unsafe {
            asm!("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) w, out(reg32) x, out(reg32) y, out(reg32) z,
                in(reg32) self.quad(quad), options(pure, readonly, nostack));
        }
        [w, x, y, z]
    }
}

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

/// The mask of the first 11 significant bits, for [`cut_tf32_by`]. Of it no compiler knows more than that it depends on
/// `dim`, which lies below 2^20.
#[inline(always)]
pub fn tf32_mask(dim: u32) -> u32 {
    0xffff_e000 | dim >> 20
}

/// As [`cut_tf32`] with [`tf32_mask`]. Where the driver's compiler knows the mask it also knows that the product drops
/// the same bits, gives it `x` in place of the first part, and copies `x` to where the product wants it: a third
/// instruction.
#[inline(always)]
pub fn cut_tf32_by(x: f32, mask: u32) -> (f32, f32) {
    let high = f32::from_bits(x.to_bits() & mask);
    (high, x - high)
}
