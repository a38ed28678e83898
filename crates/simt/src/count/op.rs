//! What a source site does each time that a lane passes it.

/// What a site does, and to which array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Op(u16);

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident),* $(,)?) => {
        /// What a site does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u16)]
        pub(crate) enum Kind {
            $($(#[$doc])* $kind,)*
        }

        /// Every kind, at the position of its number.
        const KINDS: &[Kind] = &[$(Kind::$kind),*];
    };
}

kinds! {
    GlobalLoad,
    GlobalLoad2,
    GlobalLoad4,
    GlobalStore,
    GlobalStore2,
    GlobalStore4,
    /// The read of an asynchronous copy of 16 bytes.
    CopyRead,
    /// Its write.
    CopyWrite,
    SharedLoad,
    SharedLoad2,
    SharedLoad4,
    SharedStore,
    SharedStore2,
    SharedStore4,
    Barrier,
    WarpBarrier,
    ClusterBarrier,
    Shuffle,
    Fma,
    Div,
    Exp,
    /// Reciprocal or reciprocal square root.
    Special,
    /// Tensor-core products of a warp, 16 x 8 x 16 and 16 x 8 x 8.
    ProductF16,
    ProductTf32,
    /// A warp's part of the tensor-core products of a warpgroup, 16 x 64 x 16 and 16 x 128 x 16.
    Product64,
    Product128,
    /// At an mbarrier.
    Arrival,
    Wait,
    /// Copies that no thread carries out, from global memory and to it. Their bytes are counted one by one.
    BulkLoad,
    BulkStore,
}

/// Bits of the number of an array.
const ARRAY_BITS: u16 = 10;

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
        (self as u16) < Self::Barrier as u16
    }

    /// Bytes that one lane moves.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::GlobalLoad4
            | Self::GlobalStore4
            | Self::CopyRead
            | Self::CopyWrite
            | Self::SharedLoad4
            | Self::SharedStore4 => 16,
            Self::GlobalLoad2 | Self::GlobalStore2 | Self::SharedLoad2 | Self::SharedStore2 => 8,
            Self::GlobalLoad | Self::GlobalStore | Self::SharedLoad | Self::SharedStore => 4,
            _ => 0,
        }
    }

    /// Multiply-adds of a tensor-core product that a warp makes.
    pub(crate) fn multiply_adds(self) -> u64 {
        match self {
            Self::ProductF16 => 16 * 8 * 16,
            Self::ProductTf32 => 16 * 8 * 8,
            Self::Product64 => 16 * 64 * 16,
            Self::Product128 => 16 * 128 * 16,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_keeps_its_kind_and_is_told_from_others() {
        for &kind in KINDS {
            assert_eq!(Op::on(kind, 7).kind(), kind);
            assert_ne!(Op::on(kind, 7), Op::of(kind));
        }
        assert!(KINDS.len() << ARRAY_BITS <= 1 << u16::BITS);
    }
}
