//! What a kernel must not do, in words that let its author mend it.

use crate::source::Source;
use mage_evidence::Invalid;
use std::fmt;
use thiserror::Error;

/// Why a kernel did not run to its end here.
#[derive(Debug, Error)]
pub enum Error {
    /// The inputs are not those of their operation.
    #[error("inputs: {0}")]
    Inputs(#[from] Invalid),
    /// The launch cannot be: dims that the variant does not take, too many threads, a parameter of another type.
    #[error("{0}")]
    Launch(String),
    /// The variant uses an instruction that is not emulated.
    #[error("device only: {variant} uses {instruction}")]
    DeviceOnly {
        /// The variant.
        variant: String,
        /// The instruction, and what it does.
        instruction: &'static str,
    },
    /// The host refuses memory for the stacks of the lanes.
    #[error("no memory for the stack of a lane: {0}")]
    Stack(std::io::Error),
    /// The kernel is wrong.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A fault of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// An access beyond the end of an array.
    #[error(
        "out of bounds: {access} of {array}{elements}, which has {length} elements, by {place}"
    )]
    OutOfBounds {
        /// Read or write.
        access: Access,
        /// Name of the array.
        array: String,
        /// The elements that were asked for.
        elements: Elements,
        /// How many the array has.
        length: usize,
        /// Which thread, and where.
        place: Place,
    },
    /// A 64-bit or 128-bit access at an address that is not a multiple of its 8 or 16 bytes.
    #[error(
        "misaligned: {}-bit {access} of {array}{elements}, {bytes} bytes past a multiple of {}, by {place}",
        32 * elements.count, 4 * elements.count
    )]
    Misaligned {
        /// Read or write.
        access: Access,
        /// Name of the array.
        array: String,
        /// The elements that were asked for.
        elements: Elements,
        /// How far off the address is.
        bytes: usize,
        /// Which thread, and where.
        place: Place,
    },
    /// A read of shared memory that no thread of the block has written.
    #[error("uninitialised: read of {array}{elements}, which nothing wrote, by {place}")]
    Uninitialised {
        /// Name of the array.
        array: String,
        /// The element.
        elements: Elements,
        /// Which thread, and where.
        place: Place,
    },
    /// Two threads access an element with no barrier between, and one of them writes.
    #[error(
        "data race on {array}{elements}: {first_access} by {first}, then {second_access} by {second}, \
         with no barrier between"
    )]
    Race {
        /// Name of the array.
        array: String,
        /// The element.
        elements: Elements,
        /// What the thread that ran first did.
        first_access: Access,
        /// The thread that ran first, and where it did so.
        first: Place,
        /// What the other thread did.
        second_access: Access,
        /// The other thread, and where it did so.
        second: Place,
    },
    /// An access of what an asynchronous copy or product uses, with no wait for it before.
    #[error(
        "asynchronous {work} not waited for: {access} of {array}{elements} by {place}, \
         which a {work} started by {start} may still be {}",
        work.uses()
    )]
    Early {
        /// Read or write.
        access: Access,
        /// Name of the array.
        array: String,
        /// The element.
        elements: Elements,
        /// Which thread, and where.
        place: Place,
        /// What uses the element.
        work: Beside,
        /// The thread that started it, and where it did so.
        start: Place,
    },
    /// A barrier, a shuffle or a product that some threads of its group never reach.
    #[error("divergence in block {block}: {waiting} wait at the {meeting}; {rest}")]
    Divergence {
        /// The block.
        block: Index,
        /// Those that reached it, by their linear index in the block.
        waiting: Threads,
        /// Where they wait.
        meeting: Meeting,
        /// What the others of the group do.
        rest: Rest,
    },
    /// Threads that wait for what no thread can bring about any more.
    #[error(
        "deadlock in block {block}: {waiting} wait at the {meeting} for {lacking}, and no thread can go on"
    )]
    Deadlock {
        /// The block.
        block: Index,
        /// Those that wait there, by their linear index in the block.
        waiting: Threads,
        /// Where they wait.
        meeting: Meeting,
        /// What does not come.
        lacking: Lacking,
    },
    /// A copy or product that reads what a thread wrote and did not make visible to such.
    #[error(
        "no fence: {place} reads {array}{elements} by a copy or a product of a warpgroup, which {writer} wrote \
         without a later fence_async_shared"
    )]
    Unfenced {
        /// Name of the array.
        array: String,
        /// The element.
        elements: Elements,
        /// The thread that reads, and where.
        place: Place,
        /// The thread that wrote it, and where.
        writer: Place,
    },
    /// An access of scratch memory with no wait before for the launch before, which may run on.
    #[error(
        "launch before not waited for: {access} of {array}{elements} by {place}, with no wait_for_prerequisites before"
    )]
    Prerequisites {
        /// Read or write.
        access: Access,
        /// Name of the array.
        array: String,
        /// The elements.
        elements: Elements,
        /// Which thread, and where.
        place: Place,
    },
    /// A block that the cluster does not have.
    #[error("block {rank} of a cluster of {blocks} blocks is asked for by {place}")]
    NoBlock {
        /// The block that was asked for, by its rank.
        rank: u32,
        /// How many the cluster has.
        blocks: u32,
        /// Which thread, and where.
        place: Place,
    },
    /// A shuffle from a lane that the warp does not have, or a product that takes more lanes than there are.
    #[error("lane {lane} of a warp or warpgroup of {lanes} lanes is asked for by {place}")]
    NoLane {
        /// The lane that was asked for.
        lane: u32,
        /// How many the warp has.
        lanes: u32,
        /// Which thread, and where.
        place: Place,
    },
    /// The kernel panicked: an index outside a local array or, where overflow is checked, an overflow.
    #[error("panic in thread {thread} of block {block}: {message}")]
    Panic {
        /// The thread.
        thread: Index,
        /// Its block.
        block: Index,
        /// The panic's message.
        message: String,
    },
}

/// Read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// What runs beside the threads that start it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// A copy that fills shared memory.
    Copy,
    /// A copy that reads shared memory.
    Store,
    /// A product of a warpgroup, which reads shared memory.
    Product,
}

impl Beside {
    fn uses(self) -> &'static str {
        match self {
            Self::Copy => "filling",
            Self::Store | Self::Product => "reading",
        }
    }
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy | Self::Store => "copy",
            Self::Product => "product",
        })
    }
}

/// Elements of an array, of one access; shown as `[3]` or `[4..8]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elements {
    /// The first.
    pub first: usize,
    /// How many: 1, or 4 of a 128-bit access.
    pub count: usize,
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "[{}]", self.first),
            count => write!(f, "[{}..{}]", self.first, self.first + count),
        }
    }
}

/// Index of a thread in its block or of a block in the grid; shown as `(x, y, z)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index(pub [u32; 3]);

impl Index {
    /// The index that stands at `linear`, x fastest, in a box of this `extent`.
    pub(crate) fn of(linear: u32, extent: [u32; 3]) -> Self {
        let [x, y, _] = extent;
        Self([linear % x, linear / x % y, linear / x / y])
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x}, {y}, {z})")
    }
}

/// A thread at a place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The thread in its block.
    pub thread: Index,
    /// Its block.
    pub block: Index,
    /// The line of the kernel.
    pub source: Source,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            thread,
            block,
            source,
        } = self;
        write!(f, "thread {thread} of block {block} at {source}")
    }
}

/// Threads of a block, by their linear index, ascending; shown as `threads 0-31, 40`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threads(pub Vec<u32>);

impl fmt::Display for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 {
            "thread"
        } else {
            "threads"
        })?;
        let mut separator = " ";
        for run in self.0.chunk_by(|a, b| a + 1 == *b) {
            write!(f, "{separator}{}", run[0])?;
            if let [_, .., last] = run {
                write!(f, "-{last}")?;
            }
            separator = ", ";
        }
        Ok(())
    }
}

/// A rendezvous: a place where the threads of a group wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meeting {
    /// Barrier or shuffle.
    pub rendezvous: Rendezvous,
    /// Where it stands.
    pub source: Source,
}

impl fmt::Display for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.rendezvous, self.source)
    }
}

/// What threads wait for each other at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendezvous {
    /// All threads of the block.
    Barrier,
    /// All lanes of the warp.
    Shuffle,
    /// All lanes of the warp.
    WarpBarrier,
    /// All lanes of the warp.
    Matrices,
    /// All lanes of the warp.
    Product,
    /// All lanes of the warpgroup.
    GroupProduct,
    /// The threads that an mbarrier expects.
    Mbarrier,
    /// All threads of the cluster that have not returned.
    ClusterBarrier,
}

impl fmt::Display for Rendezvous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Barrier => "barrier",
            Self::Shuffle => "shuffle",
            Self::WarpBarrier => "warp barrier",
            Self::Matrices => "read of matrices",
            Self::Product => "tensor-core product",
            Self::GroupProduct => "product of a warpgroup",
            Self::Mbarrier => "mbarrier wait",
            Self::ClusterBarrier => "barrier of the cluster",
        })
    }
}

/// What threads wait for in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lacking {
    /// What completes a phase of an mbarrier.
    Phase {
        /// The phase, from 0.
        phase: u32,
        /// The array in which it lies.
        array: String,
        /// Its two words there.
        elements: Elements,
        /// Threads that have not arrived.
        arrivals: u32,
        /// Bytes that copies have not brought.
        bytes: i64,
    },
    /// Threads of a block of the cluster.
    Threads {
        /// The block.
        block: Index,
        /// Those that do not arrive.
        threads: Threads,
    },
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phase {
                phase,
                array,
                elements,
                arrivals,
                bytes,
            } => write!(
                f,
                "phase {phase} of the mbarrier at {array}{elements}, which lacks arrivals: {arrivals}, bytes: {bytes}"
            ),
            Self::Threads { block, threads } => write!(f, "{threads} of block {block}"),
        }
    }
}

/// Threads that do not reach a [`Meeting`], and the meeting at which they wait in its place; none where they
/// returned from the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest(pub Vec<(Threads, Option<Meeting>)>);

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (threads, elsewhere)) in self.0.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "; " })?;
            match elsewhere {
                Some(meeting) => write!(f, "{threads} never reach it: they wait at the {meeting}")?,
                None => write!(f, "{threads} never reach it: they returned")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_shown_in_runs() {
        let text = |threads: &[u32]| Threads(threads.to_vec()).to_string();
        assert_eq!(text(&[3]), "thread 3");
        assert_eq!(text(&[0, 1, 2, 5, 7, 8]), "threads 0-2, 5, 7-8");
    }

    #[test]
    fn a_linear_index_has_x_fastest() {
        assert_eq!(Index::of(0, [4, 3, 2]).0, [0, 0, 0]);
        assert_eq!(Index::of(7, [4, 3, 2]).0, [3, 1, 0]);
        assert_eq!(Index::of(23, [4, 3, 2]).to_string(), "(3, 2, 1)");
    }
}
