//! One launch: its blocks are spread over the host's threads.

use crate::count::Counts;
use crate::count::sites::{Registry, SiteCounts};
use crate::fault::Error;
use crate::gpu::Argument;
use crate::launch::Step;
use crate::memory::Memory;
use crate::schedule::Blocks;
use crate::worker::{self, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;

/// What all workers of a launch share.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) step: Step,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) registry: Arc<Registry>,
}

impl Job {
    /// A launch with fresh counters.
    pub(crate) fn new(step: Step, arguments: &[Argument], memory: &Arc<Memory>) -> Self {
        Self {
            step,
            arguments: arguments.to_vec(),
            memory: memory.clone(),
            registry: Arc::default(),
        }
    }

    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.step.block.iter().product()
    }
}

/// Runs every block, on so many host threads; gives what they did.
pub(crate) fn run(job: Job, threads: usize) -> Result<Counts, Error> {
    let job = Arc::new(job);
    let Step {
        grid,
        block,
        cluster,
        ..
    } = job.step;
    let blocks: u32 = grid.iter().product();
    let queue = Queue {
        next: AtomicU32::new(0),
        blocks,
        step: cluster,
        failed: AtomicBool::new(false),
    };
    let done: Vec<Result<Done, Error>> = thread::scope(|scope| {
        let work = || work(&job, &queue);
        let workers: Vec<_> = (0..threads.min((blocks / cluster) as usize))
            .map(|_| scope.spawn(work))
            .collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().map(join).collect()
    });
    let mut counts: Vec<SiteCounts> = Vec::new();
    let mut shared_bytes = 0;
    for done in done {
        let done = done?;
        shared_bytes = shared_bytes.max(done.shared_bytes);
        counts.resize(counts.len().max(done.counts.len()), SiteCounts::default());
        for (sum, counts) in counts.iter_mut().zip(&done.counts) {
            sum.add(counts);
        }
    }
    let sites = job.registry.sites();
    Ok(Counts::new([grid, block], shared_bytes, &sites, &counts))
}

/// The clusters that no worker has taken yet, each by its first block.
struct Queue {
    next: AtomicU32,
    blocks: u32,
    /// Blocks of a cluster.
    step: u32,
    failed: AtomicBool,
}

impl Queue {
    fn take(&self) -> Option<u32> {
        if self.failed.load(Relaxed) {
            return None;
        }
        let next = |next| (next < self.blocks).then_some(next + self.step);
        self.next.fetch_update(Relaxed, Relaxed, next).ok()
    }
}

/// What a worker did.
struct Done {
    counts: Vec<SiteCounts>,
    shared_bytes: u32,
}

/// Runs blocks until there are no more.
fn work(job: &Arc<Job>, queue: &Queue) -> Result<Done, Error> {
    worker::install(Some(Box::new(Worker::new(job.clone()))));
    let mut blocks = Blocks::new(job.clone());
    let mut result = Ok(());
    while result.is_ok()
        && let Some(block) = queue.take()
    {
        result = blocks.run(block);
    }
    drop(blocks);
    if let Err(error) = result {
        queue.failed.store(true, Relaxed);
        return Err(error);
    }
    let worker = worker::install(None).expect("installed above");
    Ok(Done {
        shared_bytes: worker.shared.bytes(),
        counts: worker.sites.into_counts(),
    })
}
