//! Four consecutive floats, the unit of a 128-bit access.

/// Four consecutive FP32 values, aligned to 16 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct F32x4(pub [f32; 4]);

impl F32x4 {
    /// Four zeros.
    pub const ZERO: Self = Self([0.0; 4]);

    /// `(v0 + v1) + (v2 + v3)`.
    #[inline(always)]
    pub fn sum(self) -> f32 {
        let [x, y, z, w] = self.0;
        (x + y) + (z + w)
    }

    /// `f` of each value.
    #[inline(always)]
    pub fn map(self, f: impl Fn(f32) -> f32) -> Self {
        let [x, y, z, w] = self.0;
        Self([f(x), f(y), f(z), f(w)])
    }
}
