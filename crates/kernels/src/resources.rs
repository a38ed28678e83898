//! What ptxas makes of each object: registers, shared bytes, stack and spills. Pinned beside the objects;
//! `tests/resources.rs` holds the pins against a ptxas where there is one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The pins, relative to the workspace.
pub const FILE: &str = "crates/kernels/ptx/resources.json";

const PINS: &str = include_str!("../ptx/resources.json");

/// The pinned resources of every entry of the objects, and what gave them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// Version of the ptxas that gave the numbers; registers differ from one to the next.
    pub ptxas: String,
    /// The architecture that they are for.
    pub arch: String,
    /// By entry: a variant's own has its id.
    pub objects: BTreeMap<String, Resources>,
}

/// What one entry takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Registers a thread.
    pub registers_per_thread: u32,
    /// Shared bytes of a block that the object declares.
    pub shared_bytes: u32,
    /// Stack bytes of a thread.
    pub stack_bytes: u32,
    /// Bytes of a thread's spill stores and loads.
    pub spill_bytes: u32,
}

/// The pins that this program was built with.
pub fn pins() -> Pins {
    serde_json::from_str(PINS).expect("a test holds that the pins are of their schema")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variants::{VARIANTS, Variant};

    #[test]
    fn every_entry_is_pinned_and_nothing_else() {
        let pinned: Vec<String> = pins().objects.into_keys().collect();
        let entries = VARIANTS.iter().flat_map(Variant::entries);
        let mut entries: Vec<&str> = entries.map(|entry| entry.id).collect();
        entries.sort_unstable();
        assert_eq!(pinned, entries);
    }

    #[test]
    fn no_entry_has_a_stack_or_spills() {
        for (entry, pin) in pins().objects {
            assert_eq!((pin.stack_bytes, pin.spill_bytes), (0, 0), "{entry}");
        }
    }
}
