//! `numpy.random.default_rng(seed)`: PCG64 and the two draws that the inputs need, bit for bit.

use super::{seed_sequence, ziggurat};
use rand_core::Rng;
use rand_pcg::Lcg128Xsl64;

/// The generator behind `numpy.random.default_rng(seed)`.
#[derive(Debug, Clone)]
pub struct Generator {
    pcg: Lcg128Xsl64,
    /// The upper half of a 64-bit word whose lower half served a 32-bit draw. It waits for the next
    /// 32-bit draw, in whichever call that comes; 64-bit draws pass it by.
    half: Option<u32>,
}

impl Generator {
    /// `default_rng(seed)`.
    pub fn new(seed: u64) -> Self {
        let [state_high, state_low, stream_high, stream_low] = seed_sequence::state(seed);
        let join = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        Self {
            pcg: Lcg128Xsl64::new(join(state_high, state_low), join(stream_high, stream_low)),
            half: None,
        }
    }

    /// The next 64 random bits (`bit_generator.random_raw()`).
    pub fn next_u64(&mut self) -> u64 {
        self.pcg.next_u64()
    }

    /// Uniform in [0, 1), 53 bits (`random()`).
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// `normal(0, 0.25)` cast to f32, as numpy computes both.
    pub fn normal_quarter(&mut self) -> f32 {
        // The sum is numpy's `loc + scale * z`: it turns a negative zero into zero.
        (0.0 + 0.25 * ziggurat::standard_normal(self)) as f32
    }

    /// `integers(0, n)`, which is one stream for dtype int64 (numpy's default) and uint32: where the
    /// range fits 32 bits, both take Lemire's method on buffered 32-bit halves. A range of one value
    /// draws nothing. `n` must not be 0.
    ///
    /// Source: D. Lemire, "Fast random integer generation in an interval", 2019.
    pub fn integer_below(&mut self, n: u32) -> u32 {
        debug_assert!(n > 0, "an empty range");
        if n == 1 {
            return 0;
        }
        let mut product = u64::from(self.next_u32()) * u64::from(n);
        if (product as u32) < n {
            // 2^32 mod n: low halves below it belong to the values that would come up once too often.
            let threshold = n.wrapping_neg() % n;
            while (product as u32) < threshold {
                product = u64::from(self.next_u32()) * u64::from(n);
            }
        }
        (product >> 32) as u32
    }

    fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.next_u64();
        self.half = Some((word >> 32) as u32);
        word as u32
    }
}
