//! Stages in shared memory, which are filled and read round by round.

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
