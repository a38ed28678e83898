//! A launch: a kernel, its shape and its arguments; blocks are spread over the host's threads.

use crate::count::Counts;
use crate::count::op::MAX_ARRAYS;
use crate::count::sites::{Registry, SiteCounts};
use crate::fault::Error;
use crate::gpu::{Argument, Boxes, Kernel, Type};
use crate::memory::global::{Input, Output};
use crate::schedule::Blocks;
use crate::worker::{self, Worker};
use mage_kernels::variants;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;

/// Threads of a block that CUDA allows.
const MAX_THREADS: u64 = 1024;

/// Blocks of a cluster that every device with clusters allows.
const MAX_CLUSTER: u32 = 8;

/// A kernel with its shape and its arguments.
#[derive(Debug, Clone)]
pub struct Launch {
    kernel: Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    cluster: u32,
    given: Vec<Given>,
}

/// An argument.
#[derive(Debug, Clone)]
enum Given {
    Input(Type, Input),
    Output {
        name: String,
        length: usize,
        offset: usize,
    },
    Dim(u32),
    Boxes(Boxes),
}

/// What a launch gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Each output in the order of the parameters; an element that nothing wrote is NaN.
    pub outputs: Vec<Vec<f32>>,
    /// What the kernel did.
    pub counts: Counts,
}

/// What all workers of a launch share.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) kernel: Kernel,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Blocks of a cluster.
    pub(crate) cluster: u32,
    /// Bytes of shared memory that the launch gives to the dynamic array.
    pub(crate) shared_bytes: u32,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) registry: Arc<Registry>,
}

impl Job {
    /// Threads of a block.
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

impl Launch {
    /// A launch of `kernel` with so many blocks and threads of a block, x, y, z. Its arguments follow in the
    /// order of its parameters.
    pub fn new(kernel: Kernel, grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            kernel,
            grid,
            block,
            shared_bytes: 0,
            cluster: 1,
            given: Vec::new(),
        }
    }

    /// Gives every block so many bytes of shared memory, on top of the arrays that the kernel declares with their
    /// sizes.
    #[must_use]
    pub fn shared(self, bytes: u32) -> Self {
        Self {
            shared_bytes: bytes,
            ..self
        }
    }

    /// Joins so many blocks along x to a cluster.
    #[must_use]
    pub fn cluster(self, blocks: u32) -> Self {
        Self {
            cluster: blocks,
            ..self
        }
    }

    /// An input of floats, named in messages.
    #[must_use]
    pub fn floats(self, name: &str, values: &[f32]) -> Self {
        let words = values.iter().map(|value| value.to_bits()).collect();
        self.input(Type::Floats, name, words)
    }

    /// An input of integers, named in messages.
    #[must_use]
    pub fn integers(self, name: &str, values: &[u32]) -> Self {
        self.input(Type::Integers, name, values.into())
    }

    fn input(mut self, of: Type, name: &str, words: Arc<[u32]>) -> Self {
        let name = name.to_owned();
        let offset = 0;
        self.given.push(Given::Input(
            of,
            Input {
                name,
                words,
                offset,
            },
        ));
        self
    }

    /// An output of so many floats, named in messages. Each is NaN until it is written.
    #[must_use]
    pub fn output(mut self, name: &str, length: usize) -> Self {
        self.given.push(Given::Output {
            name: name.to_owned(),
            length,
            offset: 0,
        });
        self
    }

    /// A dim.
    #[must_use]
    pub fn dim(mut self, dim: u32) -> Self {
        self.given.push(Given::Dim(dim));
        self
    }

    /// Boxes of the input that was given as number `input`, from 0.
    #[must_use]
    pub fn boxes(mut self, input: u16, boxes: variants::Boxes) -> Self {
        self.given.push(Given::Boxes(Boxes::new(input, boxes)));
        self
    }

    /// Lets the array that was given last begin so many words past a multiple of 128 bytes. Else it begins at
    /// one.
    #[must_use]
    pub fn offset(mut self, words: usize) -> Self {
        match self.given.last_mut() {
            Some(Given::Input(_, Input { offset, .. }) | Given::Output { offset, .. }) => {
                *offset = words;
            }
            Some(Given::Dim(_) | Given::Boxes(_)) | None => {}
        }
        self
    }

    /// Runs every block, on so many host threads. Outputs, counts and faults do not depend on how many.
    ///
    /// # Errors
    /// [`Error::Launch`], [`Error::Stack`] or [`Error::Fault`].
    pub fn run(&self, threads: NonZero<usize>) -> Result<Finished, Error> {
        self.check()?;
        match self.run_once(threads.get()) {
            // Which fault is met first depends on which block runs first: in order, it is always the same.
            Err(Error::Fault(_)) if threads.get() > 1 => self.run_once(1),
            finished => finished,
        }
    }

    fn run_once(&self, threads: usize) -> Result<Finished, Error> {
        let job = Arc::new(self.job());
        let blocks: u32 = job.grid.iter().product();
        let queue = Queue {
            next: AtomicU32::new(0),
            blocks,
            step: job.cluster,
            failed: AtomicBool::new(false),
        };
        let done: Vec<Result<Done, Error>> = thread::scope(|scope| {
            let work = || work(&job, &queue);
            let workers: Vec<_> = (0..threads.min((blocks / job.cluster) as usize))
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
        Ok(Finished {
            outputs: job.outputs.iter().map(Output::floats).collect(),
            counts: Counts::new([job.grid, job.block], shared_bytes, &sites, &counts),
        })
    }

    /// Refuses what no launch can be.
    fn check(&self) -> Result<(), Error> {
        let name = self.kernel.name;
        let refuse = |reason: String| Err(Error::Launch(format!("{name}: {reason}")));
        let extent = |shape: [u32; 3]| {
            let product = |n: u64, &extent: &u32| n.checked_mul(extent.into());
            shape.iter().try_fold(1, product)
        };
        match extent(self.block) {
            Some(1..=MAX_THREADS) => {}
            _ => {
                return refuse(format!(
                    "{:?} threads of a block, expected 1 to {MAX_THREADS}",
                    self.block
                ));
            }
        }
        // The linear index of a block plus 1 is kept in 32 bits.
        match extent(self.grid) {
            Some(blocks) if (1..u64::from(u32::MAX)).contains(&blocks) => {}
            _ => return refuse(format!("a grid of {:?} blocks", self.grid)),
        }
        if !(1..=MAX_CLUSTER).contains(&self.cluster) || !self.grid[0].is_multiple_of(self.cluster)
        {
            return refuse(format!(
                "clusters of {} blocks in a grid of {:?}, expected a divisor of {} up to {MAX_CLUSTER}",
                self.cluster, self.grid, self.grid[0]
            ));
        }
        let types = self.given.iter().map(|given| match given {
            Given::Input(of, _) => *of,
            Given::Output { .. } => Type::Output,
            Given::Dim(_) => Type::Dim,
            Given::Boxes(_) => Type::Boxes,
        });
        let given: Vec<Type> = types.collect();
        let expected: Vec<Type> = self.kernel.parameters.iter().map(|(_, of)| *of).collect();
        if given != expected {
            return refuse(format!(
                "given {given:?}, expected {:?}",
                self.kernel.parameters
            ));
        }
        match given.len() <= MAX_ARRAYS {
            true => Ok(()),
            false => refuse(format!("more than {MAX_ARRAYS} arguments")),
        }
    }

    /// The launch with fresh outputs and counters.
    fn job(&self) -> Job {
        let mut job = Job {
            kernel: self.kernel,
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            shared_bytes: self.shared_bytes,
            arguments: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            registry: Arc::default(),
        };
        for given in &self.given {
            job.arguments.push(match given {
                Given::Input(_, input) => {
                    job.inputs.push(input.clone());
                    Argument::Input((job.inputs.len() - 1) as u16)
                }
                Given::Output {
                    name,
                    length,
                    offset,
                } => {
                    job.outputs
                        .push(Output::new(name.clone(), *length, *offset));
                    Argument::Output((job.outputs.len() - 1) as u16)
                }
                Given::Dim(dim) => Argument::Dim(*dim),
                Given::Boxes(boxes) => Argument::Boxes(*boxes),
            });
        }
        job
    }
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
