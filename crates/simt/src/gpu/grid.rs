//! Where a thread stands, and the barrier of its block.

use crate::count::op::Kind;
use crate::fault::Index;
use crate::lane::{self, Event};
use crate::worker::with;
use std::panic::Location;

macro_rules! positions {
    ($($(#[$doc:meta])* $name:ident = |$worker:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> u32 {
            with(|$worker| $value)
        }
    )*};
}

positions! {
    /// Index of the thread in its block, x.
    thread_x = |worker| Index::of(worker.lane.into(), worker.job.step.block).0[0];
    /// Index of the thread in its block, y.
    thread_y = |worker| Index::of(worker.lane.into(), worker.job.step.block).0[1];
    /// Threads of a block, x.
    threads_x = |worker| worker.job.step.block[0];
    /// Threads of a block, y.
    threads_y = |worker| worker.job.step.block[1];
    /// Index of the block in the grid, x.
    block_x = |worker| Index::of(worker.block, worker.job.step.grid).0[0];
    /// Index of the block in the grid, y.
    block_y = |worker| Index::of(worker.block, worker.job.step.grid).0[1];
    /// Index of the block in the grid, z.
    block_z = |worker| Index::of(worker.block, worker.job.step.grid).0[2];
}

/// Waits for every thread of the block, and makes what each wrote before it visible to all.
/// Every thread of the block must reach the same barriers in the same order.
#[track_caller]
pub fn barrier() {
    let at = Location::caller();
    with(|worker| worker.count(Kind::Barrier, at));
    lane::wait(Event::Barrier { at, value: 0 });
}

/// A [`barrier`] that tells every thread of the block whether `value` holds in any.
#[track_caller]
pub fn barrier_or(value: bool) -> bool {
    let at = Location::caller();
    with(|worker| worker.count(Kind::Barrier, at));
    let value = value.into();
    lane::wait(Event::Barrier { at, value }) > 0
}
