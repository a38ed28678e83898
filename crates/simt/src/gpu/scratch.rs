//! Scratch memory of a launch.

use crate::worker::checked;
use std::panic::Location;

/// Global memory that holds what the launches before left. It starts with nothing in it. Nothing orders what two
/// blocks of one launch do to it.
#[derive(Debug, Clone, Copy)]
pub struct Scratch {
    pub(super) number: u16,
}

impl Scratch {
    pub(super) fn new(number: u16) -> Self {
        Self { number }
    }

    /// The word at `word`.
    #[track_caller]
    pub fn get(self, word: u32) -> u32 {
        let at = Location::caller();
        checked(|worker| worker.scratch_load(self.number, word, at))
    }

    /// Writes `value` at `word`, in threads for which `writes` holds.
    #[track_caller]
    pub fn set_if(self, writes: bool, word: u32, value: u32) {
        let at = Location::caller();
        if writes {
            checked(|worker| worker.scratch_store(self.number, word, value, at));
        }
    }
}
