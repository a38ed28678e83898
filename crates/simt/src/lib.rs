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
//! coroutine with a stack of its own. Lanes run one at a time and in order until they wait or end: at a shuffle,
//! a barrier of the warp, a read of matrices or a tensor-core product for the lanes of their warp; at a product of
//! a warpgroup for its 128 lanes; at a barrier for the threads of their block, at one of the cluster for those of its
//! blocks; at an mbarrier for the phase that they name. The blocks of a cluster run together, and clusters, or blocks
//! where there are none, in parallel on the host's cores; nothing that is reported depends on how many there are. A
//! launch that meets a fault is run again in order, so that the fault reported is always the first. Launches with the
//! same arguments may follow each other, as those of a variant that has one before its own: each ends before the next
//! begins.
//!
//! Asynchronous and bulk copies and boxes move their data when they are started, and nobody may touch it until it has
//! been waited for; products of a warpgroup likewise. So what a kernel gets wrong about a wait is a fault, however fast
//! the copy would have been.
//!
//! Tensor-core products round their operands as the device does: to binary16 by the kernel's own conversions, in TF32
//! to the upper 19 bits. Two such values have an exact product in FP32, and sums are rounded to FP32 after each
//! addition, in the order of k. The device keeps a few more bits and truncates, so that results agree within rounding
//! and not bit for bit. A kernel that depends on that truncation does not show it here.
//!
//! # Checks
//!
//! Always on; the first [`Fault`] ends the launch, with array, index, thread, block and line of the kernel:
//!
//! - an access beyond the end of an array, global or shared, and beyond the shared memory that the launch gives;
//! - an access of 64 or 128 bits at an address that is not a multiple of as much, a box at one that is not of 128 bytes;
//! - a read of shared memory that no thread of the block has written, of scratch memory that neither this launch nor one
//!   before has, and a use of an mbarrier that none prepared;
//! - a data race: two threads access an element of shared memory, of scratch memory or of an output, one of them writes,
//!   and nothing orders them: no barrier of block, cluster or warp, no arrival at an mbarrier that the other has waited
//!   for. A shuffle orders no memory, lockstep within a warp is not relied on, and nothing but the end of a launch orders
//!   two blocks that are not of one cluster. Of the threads that read a word between two writes, two are remembered.
//!   Lanes of a warp that write one value to one word of shared memory in one instruction are one write;
//! - a read or a write of what an asynchronous copy may still be filling, in shared or in scratch memory, and a write of
//!   what a bulk store or a product of a warpgroup may still be reading: nothing has waited for it, or another thread has
//!   and no barrier lies between;
//! - a bulk store or a product of a warpgroup that reads what a thread wrote with no later `fence_async_shared`;
//! - a barrier that some threads of the block, or a shuffle or product that some lanes of the warp or warpgroup, never
//!   reach: because they returned, or because they wait at another place than the rest of their warp. This is stricter
//!   than the hardware, which lets returned threads pass;
//! - a wait at an mbarrier, or for the cluster, that can never end, with what it lacks;
//! - a shuffle from a lane that a last, partial warp does not have, a block that the cluster does not have;
//! - a panic of the kernel. Plain integer arithmetic wraps as on the device where overflow is not checked.
//!
//! Not checked: that accumulators are left alone between a product of a warpgroup and its wait, that shared memory
//! outlives bulk stores, that `fence_async_global` stands between what a launch itself writes to scratch memory and bulk
//! copies of it, and the limits of a device on registers and shared memory.
//!
//! # Counts
//!
//! A *site* is a place in the source (line and column) with what it does to which array. A *warp instruction*
//! is made of the executions of one site by the lanes of a warp that have the same number, where each lane
//! numbers its executions of a site from 0 and begins anew wherever it waits. So lanes that leave a loop early drop
//! out of its later instructions, as on hardware that reconverges after each pass. Lanes of a warp that wait apart, as
//! some of them at an mbarrier, make instructions apart. The addresses of all accesses between two waits are kept to
//! form instructions: 4 bytes for each lane of a warp and access.
//!
//! - Each launch of several for itself, with the sum of them ([`Counts::before`], [`Counts::sum`]).
//! - Global memory, scratch memory included: the 32-byte sectors that an instruction touches, each counted once for it, also for
//!   128-bit accesses.
//! - Shared memory: 32 banks of 4 bytes. An instruction of 4 bytes a lane takes as many *wavefronts* as the
//!   fullest bank has different words; one of 8 or 16 bytes a lane takes that for each half or quarter warp, and those
//!   add up. *Conflicts* are the wavefronts beyond one, or beyond one for each part that takes part. What copies
//!   and products of a warpgroup read and write beside their threads is not among them.
//! - Asynchronous copies of 16 bytes: a read of global and a write of shared memory, each counted as such for itself.
//!   Bulk copies and boxes: how many, and their bytes.
//! - Tensor-core products: warp instructions, and multiply-adds by their shape.
//! - Maths: what goes through [`gpu`]: `fma` is one multiply-add; `div` a special function, a multiplication
//!   and two multiply-adds; `exp` a multiplication and a special function; `exp2`, `reciprocal` and `rsqrt` a
//!   special function each. **Plain `+`, `-`, `*` and comparisons of `f32` are the host's own and are not counted**:
//!   unchanged source does not show them. Nor are integer arithmetic, branches, address computations and conversions.
//!
//! The counts are those of the source. A compiler may merge, hoist or drop accesses, and what the hardware
//! counts differs by as much.
//!
//! # Not emulated
//!
//! A barrier of the whole grid, or flags of its blocks, in scratch memory, for which all blocks would have to run
//! together. A kernel that needs them does not compile against [`gpu`] here; the device crate's list of variants names
//! it for the device alone, it is left out of [`kernel()`], and running it gives [`Error::DeviceOnly`], which names the
//! instruction. So does a twin that reads shared memory which nothing wrote: here that is a fault.

mod claims;
mod count;
mod execute;
mod fault;
pub mod gpu;
mod lane;
mod launch;
mod memory;
#[allow(dead_code, clippy::all)] // as `variants`, and what those for the device alone use
mod parts;
mod run;
mod schedule;
mod source;
mod structure;
#[path = "../../kernels/device/src/variants/mod.rs"]
#[allow(unexpected_cfgs, clippy::all)] // written for another target, under its own crate's lints
mod variants;
mod worker;

pub use claims::{Finding, Verdict, judge};
pub use count::{Bulk, Counts, Global, Line, Shared, Tally, Work};
pub use execute::{CAPABILITY, Execution, device_only, execute, execute_on, kernel};
pub use fault::{
    Access, Beside, Elements, Error, Fault, Index, Lacking, Meeting, Place, Rendezvous, Rest,
    Threads,
};
pub use launch::{Finished, Launch};
pub use source::Source;
pub use structure::Structure;
