//! The standard normal distribution as numpy draws it: Marsaglia and Tsang's ziggurat of 256 strips of
//! equal area `V` (2000, doi 10.18637/jss.v005.i08), tables as Doornik's variant lays them out.

use super::generator::Generator;
use super::ziggurat_table::STRIPS;

/// Where the tail begins: the right edge of the widest strip.
const R: f64 = 3.654_152_885_361_009;
/// `1 / R`, rounded once.
const INVERSE_R: f64 = 0.273_661_237_329_758_3;
/// Area of a strip; of the lowest one with its tail.
const V: f64 = 0.004_928_673_233_974_652;
/// Magnitudes are drawn as 52-bit integers.
const SCALE: f64 = (1u64 << 52) as f64;

/// One strip: a 52-bit magnitude below `accept` lies inside the curve whatever its height.
#[derive(Clone, Copy)]
struct Strip {
    accept: u64,
    width: f64,
    height: f64,
}

static TABLE: [Strip; 256] = table();

const fn table() -> [Strip; 256] {
    let mut table = [Strip {
        accept: 0,
        width: 0.0,
        height: 1.0,
    }; 256];
    // Strip 0 is the lowest: it has the tail in it, so its rectangle is V over the height at R.
    let base = f64::from_bits(STRIPS[255].1);
    table[0].accept = (R * base / V * SCALE).round_ties_even() as u64;
    table[0].width = V / base / SCALE;
    let mut i = 1;
    while i < 256 {
        let (inner, x) = (f64::from_bits(STRIPS[i - 1].0), f64::from_bits(STRIPS[i].0));
        table[i].accept = (inner / x * SCALE).round_ties_even() as u64;
        table[i].width = x / SCALE;
        table[i].height = f64::from_bits(STRIPS[i].1);
        i += 1;
    }
    table
}

/// One draw of `standard_normal()`.
///
/// `exp` decides one draw in a hundred by comparison and `ln_1p` gives the tail's values (one in 4000),
/// both from the platform's library. An error in its last place changes an input only where a comparison
/// or the rounding to f32 is as close as that; the hash of every published file tells.
pub fn standard_normal(generator: &mut Generator) -> f64 {
    loop {
        let word = generator.next_u64();
        let index = (word & 0xff) as usize;
        let negative = word >> 8 & 1 == 1;
        let magnitude = word >> 9 & ((1 << 52) - 1);
        let strip = TABLE[index];
        let x = magnitude as f64 * strip.width;
        let x = if negative { -x } else { x };
        if magnitude < strip.accept {
            return x;
        }
        if index == 0 {
            // numpy takes the tail's sign from this bit of the magnitude, not from `negative`.
            return tail(generator, magnitude >> 8 & 1 == 1);
        }
        let above = TABLE[index - 1].height;
        let y = (above - strip.height) * generator.next_f64() + strip.height;
        if y < (-0.5 * x * x).exp() {
            return x;
        }
    }
}

/// Marsaglia's method for the tail beyond [`R`].
fn tail(generator: &mut Generator, negative: bool) -> f64 {
    loop {
        let x = -INVERSE_R * (-generator.next_f64()).ln_1p();
        let y = -(-generator.next_f64()).ln_1p();
        if y + y > x * x {
            return if negative { -(R + x) } else { R + x };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_evidence::hash::sha256_hex;

    /// The strip whose height the table rounds up: see the table's own page.
    const NEAR_TIE: usize = 38;

    #[test]
    fn strips_follow_from_the_recurrence() {
        let ulps = |a: f64, b: f64| a.to_bits().abs_diff(b.to_bits());
        assert_eq!(STRIPS[0], (0.0f64.to_bits(), 1.0f64.to_bits()));
        assert_eq!(f64::from_bits(STRIPS[255].0), R);
        assert_eq!(INVERSE_R, 1.0 / R);
        for i in (1..256).rev() {
            let (x, height) = (f64::from_bits(STRIPS[i].0), f64::from_bits(STRIPS[i].1));
            // One place is left to the platform's exp and ln; the strips do not add theirs up, as every
            // step starts from the table.
            assert!(ulps(height, (-0.5 * x * x).exp()) <= 1, "height {i}");
            if i > 1 {
                let inner = (-2.0 * (height + V / x).ln()).sqrt();
                assert!(
                    ulps(f64::from_bits(STRIPS[i - 1].0), inner) <= 2,
                    "x {}",
                    i - 1
                );
            }
        }
        // The pyramid closes: the topmost strip has the same area, within what rounding leaves.
        let (x, height) = (f64::from_bits(STRIPS[1].0), f64::from_bits(STRIPS[1].1));
        assert!((x * (1.0 - height) / V - 1.0).abs() < 1e-10);
    }

    /// Every rounding of the recurrence is to the nearest, strip 38's height apart.
    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn strips_are_correctly_rounded_but_for_one() {
        for (i, &(x, height)) in STRIPS.iter().enumerate().skip(1) {
            let x = f64::from_bits(x);
            let nearest = (-0.5 * x * x).exp().to_bits();
            assert_eq!(height, nearest + u64::from(i == NEAR_TIE), "height {i}");
        }
    }

    /// SHA-256 of `ki_double`, `wi_double` and `fi_double` (little-endian) in numpy 2.4.6's `libnpyrandom.a`.
    #[test]
    fn tables_are_numpys() {
        let hash = |column: fn(&Strip) -> u64| {
            let bytes: Vec<u8> = TABLE.iter().flat_map(|s| column(s).to_le_bytes()).collect();
            sha256_hex(&bytes)
        };
        let accept = "565295797825931547a1036f5b012a247be54abbe077c39fe06c8ed1e9d0a5a9";
        let width = "33c6472209e1d09ea3548f0291e5e1ad67fb4f1d0305e9f1086689584b7bb7fa";
        let height = "acd898d9d87e212f657755ba43b21e40958090a7ff2103c9e79f4ea1b0fe2bc5";
        assert_eq!(hash(|s| s.accept), accept);
        assert_eq!(hash(|s| s.width.to_bits()), width);
        assert_eq!(hash(|s| s.height.to_bits()), height);
    }
}
