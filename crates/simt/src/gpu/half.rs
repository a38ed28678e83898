//! Rounding to binary16 and back, and to TF32.

/// The value of a binary16.
#[inline]
pub(super) fn from_f16(half: u16) -> f32 {
    let half = u32::from(half);
    let (sign, magnitude) = ((half & 0x8000) << 16, half & 0x7fff);
    let bits = match magnitude {
        0x7c00.. => 0x7f80_0000 | magnitude << 13, // infinite or NaN
        // The exponents differ by 112: a multiplication, so that subnormal numbers come out right.
        _ => (f32::from_bits(magnitude << 13) * 2f32.powi(112)).to_bits(),
    };
    f32::from_bits(sign | bits)
}

/// The nearest binary16, of two as near the even one; infinite from 65520 in magnitude on.
#[inline]
pub(super) fn to_f16(value: f32) -> u16 {
    /// The least normal binary16, and what is infinite.
    const NORMAL: u32 = (127 - 14) << 23;
    const INFINITE: u32 = (127 + 16) << 23;
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16 & 0x8000) as u16, bits & 0x7fff_ffff);
    let half = match magnitude {
        0x7f80_0001.. => 0x7fff,
        INFINITE.. => 0x7c00,
        // Rounding may carry into the exponent, and into infinity.
        NORMAL.. => (magnitude - (112 << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13,
        // A sum whose last place is that of the subnormal numbers.
        _ => (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits(),
    };
    sign | half as u16
}

/// The nearest value of 11 significant bits, of two as near the one farther from zero.
#[inline]
pub(super) fn to_tf32(value: f32) -> f32 {
    match value.is_finite() {
        true => f32::from_bits(cut((value.to_bits()).wrapping_add(0x1000))),
        false => value,
    }
}

/// The upper 19 bits, which are all that a product in TF32 reads of a value.
#[inline]
pub(super) fn cut(bits: u32) -> u32 {
    bits & 0xffff_e000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a binary16 by its definition.
    fn defined(half: u16) -> f64 {
        let (exponent, fraction) = (i32::from(half >> 10 & 31), f64::from(half & 1023));
        let magnitude = match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction > 0.0 => f64::NAN,
            31 => f64::INFINITY,
            _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
        };
        if half >> 15 == 1 {
            -magnitude
        } else {
            magnitude
        }
    }

    #[test]
    fn every_binary16_has_its_value_and_comes_back() {
        for half in 0..=u16::MAX {
            let value = from_f16(half);
            if value.is_nan() {
                assert!(defined(half).is_nan());
                assert!(from_f16(to_f16(value)).is_nan());
            } else {
                assert_eq!(f64::from(value), defined(half), "{half:#x}");
                assert_eq!(to_f16(value), half);
            }
        }
    }

    #[test]
    fn values_between_two_go_to_the_nearer_or_the_even() {
        for half in 0..0x7bffu16 {
            let (low, high) = (defined(half), defined(half + 1));
            let middle = (0.5 * (low + high)) as f32; // exact
            let even = half + half % 2;
            for (sign, bit) in [(1.0, 0), (-1.0, 0x8000)] {
                assert_eq!(to_f16(sign * middle), even | bit, "{half:#x}");
                assert_eq!(to_f16(sign * middle.next_down()), half | bit);
                assert_eq!(to_f16(sign * middle.next_up()), (half + 1) | bit);
            }
        }
        assert_eq!(to_f16(65519.0), 0x7bff);
        assert_eq!(to_f16(65520.0), 0x7c00);
        assert_eq!(to_f16(-1e9), 0xfc00);
        assert_eq!(to_f16(f32::NEG_INFINITY), 0xfc00);
        assert_eq!(to_f16(f32::from_bits(1)), 0);
    }

    #[test]
    fn tf32_keeps_eleven_significant_bits() {
        let ulp = 2f32.powi(-10);
        assert_eq!(to_tf32(1.0 + 0.25 * ulp), 1.0);
        assert_eq!(to_tf32(1.0 + 0.5 * ulp), 1.0 + ulp);
        assert_eq!(to_tf32(-1.0 - 0.5 * ulp), -1.0 - ulp);
        assert_eq!(to_tf32(1.0 + 1.5 * ulp), 1.0 + 2.0 * ulp);
        assert_eq!(to_tf32(2.0 - 0.25 * ulp), 2.0);
        assert_eq!(to_tf32(f32::INFINITY), f32::INFINITY);
        assert!(to_tf32(f32::NAN).is_nan());
        assert_eq!(f32::from_bits(cut((1.0 + 0.9 * ulp).to_bits())), 1.0);
    }
}
