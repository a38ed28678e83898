//! Arithmetic whose instruction and rounding a kernel chooses. Plain `+`, `-` and `*` round each result, and
//! are never contracted into a fused multiply-add.

use core::arch::asm;

/// `x * y + z`, rounded once (`fma.rn.f32`).
#[inline(always)]
pub fn fma(x: f32, y: f32, z: f32) -> f32 {
    core::intrinsics::fmaf32(x, y, z)
}

/// The larger of `x` and `y`, NaN where either is (`max.NaN.f32`).
#[inline(always)]
pub fn max(x: f32, y: f32) -> f32 {
    let z;
    // SAFETY: registers only.
    unsafe {
        asm!("max.NaN.f32 {}, {}, {};", out(reg32) z, in(reg32) x, in(reg32) y, options(pure, nomem, nostack));
    }
    z
}

macro_rules! approximate {
    ($($(#[$doc:meta])* $name:ident = $instruction:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: f32) -> f32 {
            let y;
            // SAFETY: registers only.
            unsafe {
                asm!(concat!($instruction, " {}, {};"), out(reg32) y, in(reg32) x,
                    options(pure, nomem, nostack));
            }
            y
        }
    )*};
}

approximate! {
    /// `1 / x` within 1 ulp; subnormal `x` counts as zero (`rcp.approx.ftz.f32`).
    reciprocal = "rcp.approx.ftz.f32";
    /// `1 / sqrt(x)` within a relative error of 2^-22.9; subnormal `x` counts as zero (`rsqrt.approx.ftz.f32`).
    rsqrt = "rsqrt.approx.ftz.f32";
    /// `2^x` within 2 ulp; a subnormal result is zero (`ex2.approx.ftz.f32`).
    exp2 = "ex2.approx.ftz.f32";
}

/// `e^x` as `2^(x log2 e)`: within a relative error of `2^-22 + |x| 2^-23`, exact at the limits 0 and infinity.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2(x * core::f32::consts::LOG2_E)
}

/// `x / y` for finite `x` and normal `y` whose reciprocal is normal too: the approximate quotient, corrected
/// once by its remainder, is within 1 ulp and exact where the quotient is. No branch for the other cases,
/// which a rounded division (`div.rn.f32`) pays for with a call.
#[inline(always)]
pub fn div(x: f32, y: f32) -> f32 {
    let inverse = reciprocal(y);
    let quotient = x * inverse;
    fma(fma(-quotient, y, x), inverse, quotient)
}
