//! The order in which the lanes of a block, or of the blocks of a cluster, run.
//!
//! The lanes of a warp run one at a time and in order, each until it waits or ends. What all lanes of the warp do
//! together, as a shuffle, is done when all are at it; then they run on. When all lanes of the warp wait for others
//! or have ended, the next warp runs; when all warps have come to the same barrier, the first runs again. A lane that
//! waits at an mbarrier, or for its cluster, goes on when it is its turn and the wait is over. When nothing can go on
//! and not all lanes have ended, the kernel is at fault.

use crate::count::memory::LANES;
use crate::fault::{Error, Fault, Index, Lacking, Meeting, Rendezvous, Rest, Threads};
use crate::lane::{self, Event, Lane, Together};
use crate::run::Job;
use crate::source::Source;
use crate::worker::{WARPGROUP, with};
use corosensei::CoroutineResult;
use corosensei::stack::DefaultStack;
use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes of a lane's stack. Memory is taken only for what is touched of it.
const STACK: usize = 256 * 1024;

/// Runs blocks, or clusters of them, one after the other, on the thread that has it.
pub(crate) struct Blocks {
    job: Arc<Job>,
    /// The first of the blocks that run.
    first: u32,
    /// The lanes of those blocks, while they run.
    lanes: Vec<Option<Lane>>,
    /// What each lane of those blocks does.
    states: Vec<State>,
    /// Whether products of warpgroups are waited for.
    groups: bool,
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
    /// It waits for the other lanes of its warpgroup.
    Group { at: Source },
    /// It waits for the phase of this parity of an mbarrier.
    Mbarrier {
        at: Source,
        number: usize,
        parity: u32,
    },
    /// It waits for its cluster to have arrived so many times.
    Cluster { at: Source, arrivals: u32 },
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
            Self::Group { at } => (Rendezvous::GroupProduct, at),
            Self::Mbarrier { at, .. } => (Rendezvous::Mbarrier, at),
            Self::Cluster { at, .. } => (Rendezvous::ClusterBarrier, at),
            Self::Ready(_) | Self::Ended => return None,
        };
        Some(Meeting { rendezvous, source })
    }

    /// Whether it waits for the lanes of its warp.
    fn is_in_warp(&self) -> bool {
        matches!(self, Self::Shuffle { .. } | Self::Warp { .. })
    }

    /// Whether it waits for what some threads, not all of a group, bring about.
    fn is_patient(&self) -> bool {
        matches!(self, Self::Mbarrier { .. } | Self::Cluster { .. })
    }
}

impl Blocks {
    pub(crate) fn new(job: Arc<Job>) -> Self {
        Self {
            job,
            first: 0,
            lanes: Vec::new(),
            states: Vec::new(),
            groups: false,
            stacks: Vec::new(),
        }
    }

    /// Runs the cluster whose first block has this linear index.
    pub(crate) fn run(&mut self, first: u32) -> Result<(), Error> {
        let blocks = self.job.step.cluster;
        let threads = (blocks * self.job.threads()) as usize;
        self.first = first;
        self.states.clear();
        self.states.resize(threads, State::Ready(0));
        self.lanes.resize_with(threads, || None);
        with(|worker| worker.begin(first));
        loop {
            let mut moved = false;
            for rank in 0..blocks {
                moved |= self.run_block(rank)?;
            }
            if self.states.iter().all(|&state| state == State::Ended) {
                return Ok(());
            }
            if !moved {
                return Err(self.stuck()?.into());
            }
        }
    }

    /// The threads of the block of this rank.
    fn threads(&self, rank: u32) -> Range<usize> {
        let threads = self.job.threads() as usize;
        let first = rank as usize * threads;
        first..first + threads
    }

    /// Runs a block until none of its lanes can go on by itself. Whether one ran.
    fn run_block(&mut self, rank: u32) -> Result<bool, Error> {
        with(|worker| worker.enter(rank));
        let threads = self.threads(rank);
        let mut moved = false;
        loop {
            let mut again = false;
            for first in threads.clone().step_by(LANES) {
                again |= self.run_warp(rank, first..threads.end.min(first + LANES))?;
            }
            again |= self.groups && self.multiply_groups(rank)?;
            again |= self.pass_barrier(rank)?;
            if !again {
                return Ok(moved);
            }
            moved = true;
        }
    }

    /// Runs a warp until each of its lanes waits for other warps or has ended. Whether one ran.
    fn run_warp(&mut self, rank: u32, warp: Range<usize>) -> Result<bool, Error> {
        let mut moved = false;
        loop {
            let mut ran = false;
            for lane in warp.clone() {
                self.wake(lane);
                if let State::Ready(value) = self.states[lane] {
                    self.states[lane] = self.run_lane(rank, lane, value)?;
                    ran = true;
                }
            }
            if !ran {
                return Ok(moved);
            }
            moved = true;
            with(|worker| worker.sites.end_warp());
            let states = &self.states[warp.clone()];
            if states.iter().any(State::is_patient) {
                continue; // what it waits for may have come
            }
            if !states.iter().any(State::is_in_warp) {
                return Ok(true);
            }
            self.agree(warp.clone())?;
            self.exchange(warp.clone());
        }
    }

    /// Lets a lane run whose wait is over.
    fn wake(&mut self, lane: usize) {
        let over = match self.states[lane] {
            State::Mbarrier { number, parity, .. } => {
                with(|worker| worker.passes(lane as u16, number, parity))
            }
            State::Cluster { arrivals, .. } => {
                with(|worker| worker.passes_cluster(lane as u16, arrivals))
            }
            _ => return,
        };
        if over {
            self.states[lane] = State::Ready(0);
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

    /// Makes the products of the warpgroups whose lanes have all come. Whether there was one.
    fn multiply_groups(&mut self, rank: u32) -> Result<bool, Error> {
        let threads = self.threads(rank);
        let mut moved = false;
        self.groups = false;
        for first in threads.clone().step_by(WARPGROUP) {
            let group = first..threads.end.min(first + WARPGROUP);
            let come = |state: &State| matches!(state, State::Group { .. });
            let State::Group { at } = self.states[first] else {
                self.groups |= self.states[group].iter().any(come);
                continue;
            };
            if !self.states[group.clone()].iter().all(come) {
                self.groups = true;
                continue;
            }
            self.agree(group.clone())?;
            with(|worker| worker.multiply_group(first - threads.start, at))
                .map_err(|fault| *fault)?;
            self.states[group].fill(State::Ready(0));
            moved = true;
        }
        Ok(moved)
    }

    /// Lets a block pass the barrier at which all its lanes are. Whether they were at one.
    fn pass_barrier(&mut self, rank: u32) -> Result<bool, Error> {
        let threads = self.threads(rank);
        let states = &self.states[threads.clone()];
        let waits = |state: &State| matches!(state, State::Barrier { .. });
        let others_may_come = |state: &State| {
            let runs = matches!(state, State::Group { .. } | State::Ready(_));
            runs || state.is_patient() || state.is_in_warp()
        };
        if !states.iter().any(waits) || states.iter().any(others_may_come) {
            return Ok(false);
        }
        // Warps may come to it from different places, as on the device; the lanes of a warp from one.
        let together = states.iter().all(waits)
            && states
                .chunks(LANES)
                .all(|warp| warp.iter().all(|lane| lane.meeting() == warp[0].meeting()));
        if !together {
            self.agree(threads.clone())?;
        }
        let above_0 = |state: &State| matches!(state, State::Barrier { value, .. } if *value > 0);
        let any = self.states[threads.clone()].iter().any(above_0);
        self.states[threads].fill(State::Ready(any.into()));
        with(|worker| worker.shared.order.barrier(rank as usize));
        Ok(true)
    }

    /// Runs a lane until it waits or ends.
    fn run_lane(&mut self, rank: u32, lane: usize, value: u32) -> Result<State, Error> {
        let in_block = lane - self.threads(rank).start;
        let slot = &mut self.lanes[lane];
        let running = match slot {
            Some(running) => running,
            None => {
                let stack = match self.stacks.pop() {
                    Some(stack) => stack,
                    None => DefaultStack::new(STACK).map_err(Error::Stack)?,
                };
                slot.insert(lane::new(stack, self.job.step.kernel, lane))
            }
        };
        with(|worker| worker.run_lane(in_block as u16));
        let outcome = catch_unwind(AssertUnwindSafe(|| lane::resume(running, value)));
        with(|worker| worker.sites.end_lane());
        let ended = match outcome {
            Ok(CoroutineResult::Yield(Event::Fault(fault))) => Err(*fault),
            Ok(CoroutineResult::Yield(event)) => {
                self.groups |= matches!(event, Event::Group { .. });
                return Ok(State::of(event));
            }
            Ok(CoroutineResult::Return(())) => Ok(State::Ended),
            Err(panic) => Err(Fault::Panic {
                thread: Index::of(in_block as u32, self.job.step.block),
                block: Index::of(self.first + rank, self.job.step.grid),
                message: message(panic.as_ref()),
            }),
        };
        // A lane that is stopped is unwound here, and its stack with it.
        let finished = slot.take().filter(Lane::done);
        self.stacks.extend(finished.map(Lane::into_stack));
        with(|worker| worker.end_lane());
        Ok(ended?)
    }

    /// Where all lanes of a group of one block wait; none where all have ended.
    fn agree(&self, group: Range<usize>) -> Result<Option<Meeting>, Fault> {
        let meetings = |group: Range<usize>| group.map(|lane| self.states[lane].meeting());
        let Some(first) = meetings(group.clone()).flatten().next() else {
            return Ok(None);
        };
        if meetings(group.clone()).all(|meeting| meeting == Some(first)) {
            return Ok(Some(first));
        }
        let (block, begin) = self.block_of(group.start);
        let mut waiting = Threads(Vec::new());
        let mut rest: Vec<(Threads, Option<Meeting>)> = Vec::new();
        for (lane, meeting) in group.clone().zip(meetings(group)) {
            let lane = (lane - begin) as u32;
            let same = rest.iter_mut().find(|(_, elsewhere)| *elsewhere == meeting);
            match same {
                _ if meeting == Some(first) => waiting.0.push(lane),
                Some((threads, _)) => threads.0.push(lane),
                None => rest.push((Threads(vec![lane]), meeting)),
            }
        }
        Err(Fault::Divergence {
            block,
            waiting,
            meeting: first,
            rest: Rest(rest),
        })
    }

    /// The block of a lane, and its first lane.
    fn block_of(&self, lane: usize) -> (Index, usize) {
        let threads = self.job.threads() as usize;
        let rank = lane / threads;
        let block = Index::of(self.first + rank as u32, self.job.step.grid);
        (block, rank * threads)
    }

    /// The fault of blocks of which no lane can go on: that of the first lane that waits for what does not come.
    fn stuck(&self) -> Result<Fault, Fault> {
        let patient = self.states.iter().position(State::is_patient);
        let Some(lane) = patient else {
            for rank in 0..self.job.step.cluster {
                self.agree(self.threads(rank))?;
            }
            unreachable!("lanes that agree go on")
        };
        let state = self.states[lane];
        let (block, begin) = self.block_of(lane);
        let all = begin..begin + self.job.threads() as usize;
        let same = all.filter(|&lane| self.states[lane] == state);
        let waiting = Threads(same.map(|lane| (lane - begin) as u32).collect());
        let lacking = match state {
            State::Mbarrier { number, .. } => with(|worker| worker.lacking(number)),
            State::Cluster { arrivals, .. } => self.missing(arrivals),
            _ => unreachable!("it is patient"),
        };
        Ok(Fault::Deadlock {
            block,
            waiting,
            meeting: state.meeting().expect("it waits"),
            lacking,
        })
    }

    /// The threads of the first block that has some which have not arrived so many times at the barrier of the cluster.
    fn missing(&self, arrivals: u32) -> Lacking {
        let missing = |&lane: &usize| with(|worker| !worker.cluster.has_arrived(lane, arrivals));
        let all: Vec<usize> = (0..self.states.len()).filter(missing).collect();
        let (block, begin) = self.block_of(all.first().copied().unwrap_or_default());
        let end = begin + self.job.threads() as usize;
        let threads = all.into_iter().filter(|lane| (begin..end).contains(lane));
        Lacking::Threads {
            block,
            threads: Threads(threads.map(|lane| (lane - begin) as u32).collect()),
        }
    }
}

impl State {
    /// What a lane does that gave this event.
    fn of(event: Event) -> Self {
        match event {
            Event::Barrier { at, value } => Self::Barrier {
                at: Source::new(at),
                value,
            },
            Event::Shuffle { at, value, from } => Self::Shuffle {
                at: Source::new(at),
                value,
                from,
            },
            Event::Warp { at, together } => Self::Warp {
                at: Source::new(at),
                together,
            },
            Event::Group { at } => Self::Group {
                at: Source::new(at),
            },
            Event::Mbarrier { at, number, parity } => Self::Mbarrier {
                at: Source::new(at),
                number,
                parity,
            },
            Event::Cluster { at, arrivals } => Self::Cluster {
                at: Source::new(at),
                arrivals,
            },
            Event::Fault(_) => unreachable!("a fault stops the launch"),
        }
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}
