//! Stages in shared memory, which are filled and read round by round: 32 steps along K of binary16 halves, 64 bytes of high
//! halves and 64 of low ones a row of A or column of B.

use crate::gpu::{Accumulators, Columns};

/// A stage of `STAGES`, and which round of the stages it is.
#[derive(Clone, Copy)]
pub struct Turn<const STAGES: u32> {
    /// The stage.
    pub stage: u32,
    /// The round.
    pub round: u32,
}

impl<const STAGES: u32> Turn<STAGES> {
    /// The first stage in the first round.
    pub const FIRST: Self = Self { stage: 0, round: 0 };

    /// Moves to the next stage.
    pub fn advance(&mut self) {
        *self = match self.stage + 1 < STAGES {
            true => Self {
                stage: self.stage + 1,
                ..*self
            },
            false => Self {
                stage: 0,
                round: self.round + 1,
            },
        };
    }

    /// Moves `by` stages on; a round has so many times `by`.
    pub fn advance_by(&mut self, by: u32) {
        *self = match self.stage + by < STAGES {
            true => Self {
                stage: self.stage + by,
                ..*self
            },
            false => Self {
                stage: self.stage + by - STAGES,
                round: self.round + 1,
            },
        };
    }
}

/// Starts the products of the stage whose parts are `a` and `b`, which is full: of the high halves, and of a high and a low one
/// each; from zero on, or with `SUM` added to what there is.
#[inline(always)]
pub fn start_products<const SUM: bool>(
    a: Columns,
    b: Columns,
    high: &mut Accumulators<64>,
    low: &mut Accumulators<64>,
) {
    high.fence_shared();
    low.fence_shared();
    low.multiply_shared::<SUM>(a.along_k(2), b);
    high.multiply_shared::<SUM>(a, b);
    low.multiply_shared::<true>(a, b.along_k(2));
    low.multiply_shared::<true>(a.along_k(3), b.along_k(1));
    high.multiply_shared::<true>(a.along_k(1), b.along_k(1));
    low.multiply_shared::<true>(a.along_k(1), b.along_k(3));
    high.commit();
}
