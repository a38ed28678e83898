//! What a source site does each time that a lane passes it.

/// What a site does, and to which array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Op(u16);

/// What a site does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Kind {
    GlobalLoad,
    GlobalLoad4,
    GlobalStore,
    GlobalStore4,
    SharedLoad,
    SharedStore,
    SharedStore4,
    Barrier,
    Shuffle,
    Fma,
    Div,
    Exp,
    /// Reciprocal or reciprocal square root.
    Special,
}

/// Every kind, at the position of its number.
const KINDS: [Kind; 13] = [
    Kind::GlobalLoad,
    Kind::GlobalLoad4,
    Kind::GlobalStore,
    Kind::GlobalStore4,
    Kind::SharedLoad,
    Kind::SharedStore,
    Kind::SharedStore4,
    Kind::Barrier,
    Kind::Shuffle,
    Kind::Fma,
    Kind::Div,
    Kind::Exp,
    Kind::Special,
];

/// Bits of the number of an array.
const ARRAY_BITS: u16 = 12;

/// Arrays that a launch may have in one memory.
pub(crate) const MAX_ARRAYS: usize = 1 << ARRAY_BITS;

impl Op {
    /// What `kind` does to the array of this number, below [`MAX_ARRAYS`].
    pub(crate) const fn on(kind: Kind, array: u16) -> Self {
        Self((kind as u16) << ARRAY_BITS | array)
    }

    /// What `kind` does, where that is nothing to an array.
    pub(crate) const fn of(kind: Kind) -> Self {
        Self::on(kind, 0)
    }

    pub(crate) fn kind(self) -> Kind {
        KINDS[usize::from(self.0 >> ARRAY_BITS)]
    }

    /// The number that no other operation has.
    pub(crate) fn number(self) -> u16 {
        self.0
    }
}

impl Kind {
    /// Whether it is an access of memory, whose addresses are kept.
    pub(crate) fn is_access(self) -> bool {
        (self as u16) < Kind::Barrier as u16
    }

    /// Bytes that one lane moves.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::GlobalLoad4 | Self::GlobalStore4 | Self::SharedStore4 => 16,
            Self::GlobalLoad | Self::GlobalStore | Self::SharedLoad | Self::SharedStore => 4,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_keeps_its_kind_and_is_told_from_others() {
        for kind in KINDS {
            assert_eq!(Op::on(kind, 7).kind(), kind);
            assert_ne!(Op::on(kind, 7), Op::of(kind));
        }
    }
}
