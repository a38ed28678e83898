//! Scratch memory of a launch.

use crate::count::op::Kind;
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

    /// Writes the words `2 * pair` and `2 * pair + 1`, in one 64-bit access.
    #[track_caller]
    pub fn set2(self, pair: u32, words: [u32; 2]) {
        let (at, kind) = (Location::caller(), Kind::GlobalStore2);
        checked(|worker| worker.scratch_store(kind, self.number, pair, words, at));
    }

    /// Writes the words `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[track_caller]
    pub fn set4(self, quad: u32, words: [u32; 4]) {
        let (at, kind) = (Location::caller(), Kind::GlobalStore4);
        checked(|worker| worker.scratch_store(kind, self.number, quad, words, at));
    }

    /// Writes `value` at `word`, in threads for which `writes` holds.
    #[track_caller]
    pub fn set_if(self, writes: bool, word: u32, value: u32) {
        let at = Location::caller();
        if writes {
            let kind = Kind::GlobalStore;
            checked(|worker| worker.scratch_store(kind, self.number, word, [value], at));
        }
    }
}
