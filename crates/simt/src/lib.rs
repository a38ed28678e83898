//! The kernels of the device crate on the CPU, lane by lane: the same source files, each access checked and
//! each instruction counted. No GPU, no CUDA and no compiler for one is needed.
//!
//! [`execute()`] runs a variant of the table; [`Launch`] runs any kernel that is written against [`gpu`], whose
//! names are those of the device crate's module. [`Structure`] turns counts into ratios, [`judge`] holds the
//! note's structural claims against them.
//!
//! # Execution
//!
//! A block's threads are lanes, 32 to a warp in the order of their linear index (x fastest). Each lane is a
//! coroutine with a stack of its own. Lanes run one at a time and in order until they wait or end: at a
//! shuffle for the lanes of their warp, at a barrier for the threads of their block. Blocks run in parallel
//! on the host's cores; nothing that is reported depends on how many there are. A launch that meets a fault
//! is run again block by block, so that the fault reported is always the first in that order.
//!
//! # Checks
//!
//! Always on; the first [`Fault`] ends the launch, with array, index, thread, block and line of the kernel:
//!
//! - an access beyond the end of an array, global or shared;
//! - a 128-bit access at an address that is not a multiple of 16 bytes;
//! - a read of shared memory that no thread of the block has written;
//! - a data race: two threads access an element of shared memory or of an output, one of them writes, and no
//!   barrier lies between. A shuffle orders no memory, lockstep within a warp is not relied on, and nothing
//!   orders two blocks;
//! - a barrier that some threads of the block, or a shuffle that some lanes of the warp, never reach: because
//!   they returned or because they wait at another place. This is stricter than the hardware, which lets
//!   returned threads pass;
//! - a shuffle from a lane that a last, partial warp does not have;
//! - a panic of the kernel. Plain integer arithmetic wraps as on the device where overflow is not checked.
//!
//! # Counts
//!
//! A *site* is a place in the source (line and column) with what it does to which array. A *warp instruction*
//! is made of the executions of one site by the lanes of a warp that have the same number, where each lane
//! numbers its executions of a site from 0 and begins anew at each rendezvous (barrier or shuffle). So lanes
//! that leave a loop early drop out of its later instructions, as on hardware that reconverges after each
//! pass. The addresses of all accesses between two rendezvous are kept to form instructions: 4 bytes for each
//! lane of a warp and access.
//!
//! - Global memory: the 32-byte sectors that an instruction touches, each counted once for it, also for
//!   128-bit accesses.
//! - Shared memory: 32 banks of 4 bytes. An instruction of 4 bytes a lane takes as many *wavefronts* as the
//!   fullest bank has different words; one of 16 bytes a lane takes that for each quarter warp, and those add
//!   up. *Conflicts* are the wavefronts beyond one, or beyond one for each quarter that takes part.
//! - Maths: what goes through [`gpu`]: `fma` is one multiply-add; `div` a special function, a multiplication
//!   and two multiply-adds; `exp` a multiplication and a special function; `exp2`, `reciprocal` and `rsqrt` a
//!   special function each. **Plain `+`, `-`, `*` and comparisons of `f32` are the host's own and are not counted**:
//!   unchanged source does not show them. Nor are integer arithmetic, branches and address computations.
//!
//! The counts are those of the source. A compiler may merge, hoist or drop accesses, and what the hardware
//! counts differs by as much.
//!
//! # Not emulated yet
//!
//! Asynchronous copies, tensor-core products, shared memory sized by the launch, scratch memory, atomics,
//! clusters and distributed shared memory, outputs that are read. A kernel that needs one of them does not
//! compile against [`gpu`] here; the device crate's list of variants names it for the device alone, it is left
//! out of [`kernel()`], and running it gives [`Error::DeviceOnly`].

mod claims;
mod count;
mod execute;
mod fault;
pub mod gpu;
mod lane;
mod launch;
mod memory;
#[allow(clippy::all)] // as `variants`
mod parts;
mod schedule;
mod source;
mod structure;
#[path = "../../kernels/device/src/variants/mod.rs"]
#[allow(unexpected_cfgs, clippy::all)] // written for another target, under its own crate's lints
mod variants;
mod worker;

pub use claims::{Finding, Verdict, judge};
pub use count::{Bulk, Counts, Global, Line, Shared, Tally, Work};
pub use execute::{CAPABILITY, Execution, execute, execute_on, kernel};
pub use fault::{Access, Elements, Error, Fault, Index, Meeting, Place, Rendezvous, Rest, Threads};
pub use launch::{Finished, Launch};
pub use source::Source;
pub use structure::Structure;
