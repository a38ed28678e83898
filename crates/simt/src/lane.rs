//! A lane: a kernel that runs on a stack of its own, and can wait there.

use crate::fault::Fault;
use crate::gpu::Kernel;
use crate::worker::{Shape, with};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::hint::black_box;
use std::panic::Location;
use std::ptr::NonNull;

/// A kernel's lane. It is resumed with the value of the shuffle at which it waits, or any value.
pub(crate) type Lane = Coroutine<u32, Event, ()>;

/// Why a lane waits.
#[derive(Debug)]
pub(crate) enum Event {
    /// It is at a barrier, and is to be told whether `value` is above 0 in any thread.
    Barrier {
        at: &'static Location<'static>,
        value: u32,
    },
    /// It is at a shuffle, has a `value` to offer, and asks for that of lane `from`.
    Shuffle {
        at: &'static Location<'static>,
        value: u32,
        from: u32,
    },
    /// It is where all lanes of the warp do something together.
    Warp {
        at: &'static Location<'static>,
        together: Together,
    },
    /// It is where all lanes of the warpgroup make a product together.
    Group { at: &'static Location<'static> },
    /// It waits for the phase of this parity of the mbarrier of this number.
    Mbarrier {
        at: &'static Location<'static>,
        number: usize,
        parity: u32,
    },
    /// It waits for every thread of the cluster to have arrived so many times.
    Cluster {
        at: &'static Location<'static>,
        arrivals: u32,
    },
    /// It did what it must not do, and will not go on.
    Fault(Box<Fault>),
}

/// What all lanes of a warp do together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Together {
    /// They wait for each other.
    Barrier,
    /// They share out the matrices that they read.
    Matrices,
    /// They make a product.
    Product(Shape),
}

thread_local! {
    /// The way out of the lane that runs; none while no lane runs.
    static WAY_OUT: Cell<Option<NonNull<Yielder<u32, Event>>>> = const { Cell::new(None) };
}

/// Frames of [`run`] over which the stacks of lanes are spread, and bytes of each.
const SPREAD: usize = 16;
const FRAME: usize = 192;

/// A lane of this linear index, at the beginning of `kernel`.
pub(crate) fn new(stack: DefaultStack, kernel: Kernel, index: usize) -> Lane {
    Coroutine::with_stack(stack, move |yielder, _| {
        WAY_OUT.set(Some(NonNull::from(yielder)));
        run(kernel, index % SPREAD);
    })
}

/// Runs `kernel`, so many frames down the stack. Every stack begins at a page: were all lanes as deep, the
/// lines that they use would fall into the same few sets of the cache, and each switch would miss.
#[inline(never)]
fn run(kernel: Kernel, frames: usize) {
    let frame = [0u8; FRAME];
    black_box(&frame);
    match frames {
        0 => {
            let arguments = with(|worker| worker.arguments.clone());
            (kernel.run)(&mut arguments.iter());
        }
        _ => run(kernel, frames - 1),
    }
    black_box(&frame);
}

/// Lets a lane run until it waits or ends.
pub(crate) fn resume(lane: &mut Lane, value: u32) -> CoroutineResult<Event, ()> {
    /// Takes away the way out, also if the kernel panics.
    struct Outside;
    impl Drop for Outside {
        fn drop(&mut self) {
            WAY_OUT.set(None);
        }
    }
    let _outside = Outside;
    lane.resume(value)
}

/// Waits; gives the value with which the lane is resumed. Called by the lane that runs.
pub(crate) fn wait(event: Event) -> u32 {
    let Some(way_out) = WAY_OUT.get() else {
        panic!("what is in `gpu` works in a kernel that is launched, not outside")
    };
    // SAFETY: the way out is set by a lane when it begins or goes on, and taken away whenever control leaves
    // it, so that this is the lane that set it; the yielder lives on its stack until its closure returns.
    #[allow(unsafe_code)]
    let value = unsafe { way_out.as_ref() }.suspend(event);
    WAY_OUT.set(Some(way_out));
    value
}

/// Ends the lane that runs, as one that did what it must not do.
#[cold]
pub(crate) fn stop(fault: Fault) -> ! {
    wait(Event::Fault(Box::new(fault)));
    unreachable!("a lane that is stopped is not resumed")
}
