//! A launch: a kernel, its shape and its arguments; or several in a sequence, with the same arguments.

use crate::count::Counts;
use crate::count::op::MAX_ARRAYS;
use crate::fault::Error;
use crate::gpu::{Argument, Boxes, Kernel, Type};
use crate::memory::Memory;
use crate::memory::global::{Input, Output};
use crate::memory::scratch::Scratch;
use crate::run::{Job, run};
use mage_kernels::variants;
use std::num::NonZero;
use std::sync::Arc;

/// Threads of a block that CUDA allows.
const MAX_THREADS: u64 = 1024;

/// Blocks of a cluster that every device with clusters allows.
const MAX_CLUSTER: u32 = 8;

/// A kernel with its shape and its arguments, and what is launched before it with the same arguments.
#[derive(Debug, Clone)]
pub struct Launch {
    before: Vec<Step>,
    last: Step,
    given: Vec<Given>,
}

/// A kernel with its shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) kernel: Kernel,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of shared memory that the launch gives to the dynamic array.
    pub(crate) shared_bytes: u32,
    /// Blocks of a cluster.
    pub(crate) cluster: u32,
    /// Whether it begins before all is there that the launch before it wrote.
    pub(crate) programmatic: bool,
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
    Scratch {
        name: String,
        length: usize,
    },
}

/// What a launch gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Each output in the order of the parameters; an element that nothing wrote is NaN.
    pub outputs: Vec<Vec<f32>>,
    /// What the kernel did, and what those launched before it did.
    pub counts: Counts,
}

impl Launch {
    /// A launch of `kernel` with so many blocks and threads of a block, x, y, z. Its arguments follow in the
    /// order of its parameters.
    pub fn new(kernel: Kernel, grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            before: Vec::new(),
            last: Step::new(kernel, grid, block),
            given: Vec::new(),
        }
    }

    /// Has `kernel` launched after that, with the same arguments. What follows of shared memory and clusters is
    /// for it.
    #[must_use]
    pub fn then(mut self, kernel: Kernel, grid: [u32; 3], block: [u32; 3]) -> Self {
        self.before.push(self.last);
        self.last = Step::new(kernel, grid, block);
        self
    }

    /// Lets it begin before all is there that the launch before it wrote, for which the kernel waits by itself. Here one still
    /// runs after the other; what does not wait is a fault.
    #[must_use]
    pub fn programmatic(mut self) -> Self {
        self.last.programmatic = true;
        self
    }

    /// Gives every block so many bytes of shared memory, on top of the arrays that the kernel declares with their
    /// sizes.
    #[must_use]
    pub fn shared(mut self, bytes: u32) -> Self {
        self.last.shared_bytes = bytes;
        self
    }

    /// Joins so many blocks along x to a cluster.
    #[must_use]
    pub fn cluster(mut self, blocks: u32) -> Self {
        self.last.cluster = blocks;
        self
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

    /// Scratch memory of so many words, named in messages. It begins at a multiple of 128 bytes.
    #[must_use]
    pub fn scratch(mut self, name: &str, length: usize) -> Self {
        let name = name.to_owned();
        self.given.push(Given::Scratch { name, length });
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
            Some(Given::Dim(_) | Given::Boxes(_) | Given::Scratch { .. }) | None => {}
        }
        self
    }

    /// Runs every block of one launch after the other, on so many host threads. Outputs, counts and faults do not depend on how many.
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
        let (memory, arguments) = self.arguments();
        let memory = Arc::new(memory);
        let mut before = Vec::new();
        for &step in &self.before {
            before.push(run(Job::new(step, &arguments, &memory), threads)?);
            memory.end_launch();
        }
        let last = run(Job::new(self.last, &arguments, &memory), threads)?;
        Ok(Finished {
            outputs: memory.outputs.iter().map(Output::floats).collect(),
            counts: Counts { before, ..last },
        })
    }

    /// Refuses what no launch can be.
    fn check(&self) -> Result<(), Error> {
        let given: Vec<Type> = self.given.iter().map(Given::of).collect();
        for step in self.before.iter().chain([&self.last]) {
            step.check(&given)?;
        }
        Ok(())
    }

    /// Fresh memory, and the arguments that name what is in it.
    fn arguments(&self) -> (Memory, Vec<Argument>) {
        let mut memory = Memory::default();
        let arguments = self.given.iter().map(|given| match given {
            Given::Input(_, input) => {
                memory.inputs.push(input.clone());
                Argument::Input((memory.inputs.len() - 1) as u16)
            }
            Given::Output {
                name,
                length,
                offset,
            } => {
                let output = Output::new(name.clone(), *length, *offset);
                memory.outputs.push(output);
                Argument::Output((memory.outputs.len() - 1) as u16)
            }
            Given::Dim(dim) => Argument::Dim(*dim),
            Given::Boxes(boxes) => Argument::Boxes(*boxes),
            Given::Scratch { name, length } => {
                memory.scratch.push(Scratch::new(name.clone(), *length));
                Argument::Scratch((memory.scratch.len() - 1) as u16)
            }
        });
        let arguments = arguments.collect();
        (memory, arguments)
    }
}

impl Given {
    fn of(&self) -> Type {
        match self {
            Self::Input(of, _) => *of,
            Self::Output { .. } => Type::Output,
            Self::Dim(_) => Type::Dim,
            Self::Boxes(_) => Type::Boxes,
            Self::Scratch { .. } => Type::Scratch,
        }
    }
}

impl Step {
    fn new(kernel: Kernel, grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            kernel,
            grid,
            block,
            shared_bytes: 0,
            cluster: 1,
            programmatic: false,
        }
    }

    /// Refuses what no launch can be, with arguments of these types.
    fn check(&self, given: &[Type]) -> Result<(), Error> {
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
        let expected: Vec<Type> = self.kernel.parameters.iter().map(|(_, of)| *of).collect();
        if *given != expected {
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
}
