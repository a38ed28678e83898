//! GELU by its approximation with tanh, as one exponential and one reciprocal.

use crate::gpu::{exp2, fma, reciprocal};

/// `-2 sqrt(2 / pi) log2(e)`: the exponent's linear term.
pub const LINEAR: f32 = -2.302_208_2;
/// `0.044715` times [`LINEAR`]: its cubic term.
pub const CUBIC: f32 = -0.102_943_24;

/// `0.5 z (1 + tanh u)` is `z / (1 + 2^p)` with `p = -2 u log2(e)`, which neither cancels for negative z nor
/// overflows into NaN.
#[inline(always)]
pub fn gelu(z: f32) -> f32 {
    let p = z * fma(CUBIC, z * z, LINEAR);
    z * reciprocal(1.0 + exp2(p))
}
