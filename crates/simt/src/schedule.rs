//! The order in which the lanes of a block run.
//!
//! The lanes of a warp run one at a time and in order, each until it waits or ends. What all lanes of the warp do
//! together, as a shuffle, is done when all are at it; then they run on. When all lanes of the warp wait for others
//! or have ended, the next warp runs; when all warps have come to the same barrier, the first runs again.

use crate::count::memory::LANES;
use crate::fault::{Error, Fault, Index, Meeting, Rendezvous, Rest, Threads};
use crate::lane::{self, Event, Lane, Together};
use crate::launch::Job;
use crate::source::Source;
use crate::worker::with;
use corosensei::CoroutineResult;
use corosensei::stack::DefaultStack;
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes of a lane's stack. Memory is taken only for what is touched of it.
const STACK: usize = 256 * 1024;

/// Runs blocks, one after the other, on the thread that has it.
pub(crate) struct Blocks {
    job: Arc<Job>,
    /// The lanes of the block that runs, while they run.
    lanes: Vec<Option<Lane>>,
    /// What each lane of that block does.
    states: Vec<State>,
    /// Stacks that no lane has.
    stacks: Vec<DefaultStack>,
}

/// What a lane does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It can run, and gets this value.
    Ready(u32),
    /// It waits at a barrier, which tells whether any value is above 0.
    Barrier { at: Source, value: u32 },
    /// It waits at a shuffle with a value, for that of another lane of the warp.
    Shuffle { at: Source, value: u32, from: u32 },
    /// It waits for the other lanes of its warp.
    Warp { at: Source, together: Together },
    /// It has returned.
    Ended,
}

impl State {
    /// Where it waits.
    fn meeting(self) -> Option<Meeting> {
        let (rendezvous, source) = match self {
            Self::Barrier { at, .. } => (Rendezvous::Barrier, at),
            Self::Shuffle { at, .. } => (Rendezvous::Shuffle, at),
            Self::Warp { at, together } => {
                let rendezvous = match together {
                    Together::Barrier => Rendezvous::WarpBarrier,
                    Together::Matrices => Rendezvous::Matrices,
                    Together::Product(_) => Rendezvous::Product,
                };
                (rendezvous, at)
            }
            Self::Ready(_) | Self::Ended => return None,
        };
        Some(Meeting { rendezvous, source })
    }

    /// Whether it waits for the lanes of its warp.
    fn is_in_warp(&self) -> bool {
        matches!(self, Self::Shuffle { .. } | Self::Warp { .. })
    }
}

impl Blocks {
    pub(crate) fn new(job: Arc<Job>) -> Self {
        Self {
            job,
            lanes: Vec::new(),
            states: Vec::new(),
            stacks: Vec::new(),
        }
    }

    /// Runs the block of this linear index.
    pub(crate) fn run(&mut self, block: u32) -> Result<(), Error> {
        let threads = self.job.threads() as usize;
        self.states.clear();
        self.states.resize(threads, State::Ready(0));
        self.lanes.resize_with(threads, || None);
        with(|worker| worker.begin(block));
        loop {
            for first in (0..threads).step_by(LANES) {
                self.run_warp(block, first..threads.min(first + LANES))?;
            }
            let Some(meeting) = self.agree(block, 0..threads)? else {
                return Ok(());
            };
            debug_assert_eq!(meeting.rendezvous, Rendezvous::Barrier);
            let above_0 =
                |state: &State| matches!(state, State::Barrier { value, .. } if *value > 0);
            let any = self.states.iter().any(above_0);
            self.states.fill(State::Ready(any.into()));
            with(|worker| worker.shared.order.barrier(0));
        }
    }

    /// Runs a warp until each of its lanes waits for other warps or has ended.
    fn run_warp(&mut self, block: u32, warp: Range<usize>) -> Result<(), Error> {
        loop {
            for lane in warp.clone() {
                if let State::Ready(value) = self.states[lane] {
                    self.states[lane] = self.run_lane(block, lane, value)?;
                }
            }
            with(|worker| worker.sites.end_warp());
            if !self.states[warp.clone()].iter().any(State::is_in_warp) {
                return Ok(());
            }
            self.agree(block, warp.clone())?;
            self.exchange(warp.clone());
        }
    }

    /// Does what the lanes of a warp, all of them at one place, do together.
    fn exchange(&mut self, warp: Range<usize>) {
        let State::Warp { together, .. } = self.states[warp.start] else {
            self.shuffle(warp);
            return;
        };
        with(|worker| match together {
            Together::Barrier => worker.shared.order.meet(warp.clone()),
            Together::Matrices => worker.share_matrices(),
            Together::Product(shape) => worker.multiply(shape),
        });
        self.states[warp].fill(State::Ready(0));
    }

    /// Gives each lane of a warp, all of them at one shuffle, the value that it waits for.
    fn shuffle(&mut self, warp: Range<usize>) {
        let mut values = [0; LANES];
        for (value, state) in values.iter_mut().zip(&self.states[warp.clone()]) {
            if let State::Shuffle { value: offered, .. } = state {
                *value = *offered;
            }
        }
        for state in &mut self.states[warp] {
            if let State::Shuffle { from, .. } = *state {
                *state = State::Ready(values[from as usize]);
            }
        }
    }

    /// Runs a lane until it waits or ends.
    fn run_lane(&mut self, block: u32, lane: usize, value: u32) -> Result<State, Error> {
        let slot = &mut self.lanes[lane];
        let running = match slot {
            Some(running) => running,
            None => {
                let stack = match self.stacks.pop() {
                    Some(stack) => stack,
                    None => DefaultStack::new(STACK).map_err(Error::Stack)?,
                };
                slot.insert(lane::new(stack, self.job.kernel, lane))
            }
        };
        with(|worker| worker.run_lane(lane as u16));
        let outcome = catch_unwind(AssertUnwindSafe(|| lane::resume(running, value)));
        with(|worker| worker.sites.end_lane());
        let ended = match outcome {
            Ok(CoroutineResult::Yield(Event::Barrier { at, value })) => {
                let at = Source::new(at);
                return Ok(State::Barrier { at, value });
            }
            Ok(CoroutineResult::Yield(Event::Shuffle { at, value, from })) => {
                let at = Source::new(at);
                return Ok(State::Shuffle { at, value, from });
            }
            Ok(CoroutineResult::Yield(Event::Warp { at, together })) => {
                let at = Source::new(at);
                return Ok(State::Warp { at, together });
            }
            Ok(CoroutineResult::Yield(Event::Fault(fault))) => Err(*fault),
            Ok(CoroutineResult::Return(())) => Ok(State::Ended),
            Err(panic) => Err(Fault::Panic {
                thread: Index::of(lane as u32, self.job.block),
                block: Index::of(block, self.job.grid),
                message: message(panic.as_ref()),
            }),
        };
        // A lane that is stopped is unwound here, and its stack with it.
        let finished = slot.take().filter(Lane::done);
        self.stacks.extend(finished.map(Lane::into_stack));
        Ok(ended?)
    }

    /// Where all lanes of a group wait; none where all have ended.
    fn agree(&self, block: u32, group: Range<usize>) -> Result<Option<Meeting>, Fault> {
        let meetings = |group: Range<usize>| group.map(|lane| self.states[lane].meeting());
        let Some(first) = meetings(group.clone()).flatten().next() else {
            return Ok(None);
        };
        if meetings(group.clone()).all(|meeting| meeting == Some(first)) {
            return Ok(Some(first));
        }
        let mut waiting = Threads(Vec::new());
        let mut rest: Vec<(Threads, Option<Meeting>)> = Vec::new();
        for (lane, meeting) in group.clone().zip(meetings(group)) {
            let lane = lane as u32;
            let same = rest.iter_mut().find(|(_, elsewhere)| *elsewhere == meeting);
            match same {
                _ if meeting == Some(first) => waiting.0.push(lane),
                Some((threads, _)) => threads.0.push(lane),
                None => rest.push((Threads(vec![lane]), meeting)),
            }
        }
        Err(Fault::Divergence {
            block: Index::of(block, self.job.grid),
            waiting,
            meeting: first,
            rest: Rest(rest),
        })
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}
