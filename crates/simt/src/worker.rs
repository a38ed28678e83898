//! The state of one host thread while it runs blocks: what a kernel's calls of [`gpu`](crate::gpu) reach.

use crate::count::memory::LANES;
use crate::count::op::{Kind, Op};
use crate::count::sites::Sites;
use crate::fault::{Access, Fault, Index, Place};
use crate::gpu::Argument;
use crate::lane;
use crate::launch::Job;
use crate::memory::Refusal;
use crate::memory::global::Writer;
use crate::memory::shared::{Declaration, SharedMemory, Visit};
use crate::source::Source;
use std::cell::Cell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

thread_local! {
    /// Taken out while it is acted on: cheaper than a borrow that is counted, at each access of a lane.
    static WORKER: Cell<Option<Box<Worker>>> = const { Cell::new(None) };
}

/// The state of one host thread.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) job: Arc<Job>,
    pub(crate) arguments: Rc<[Argument]>,
    pub(crate) shared: SharedMemory,
    pub(crate) sites: Sites,
    /// Linear index of the block in the grid.
    pub(crate) block: u32,
    /// Linear index of the lane in the block.
    pub(crate) lane: u16,
}

/// What a call gives, or the fault that it is.
pub(crate) type Checked<T> = Result<T, Box<Fault>>;

type At = &'static Location<'static>;

/// Makes `worker` the state of this thread, and gives what was.
pub(crate) fn install(worker: Option<Box<Worker>>) -> Option<Box<Worker>> {
    WORKER.replace(worker)
}

/// Acts on the state of this thread, which runs a kernel.
#[inline]
pub(crate) fn with<T>(act: impl FnOnce(&mut Worker) -> T) -> T {
    let Some(mut worker) = WORKER.take() else {
        outside()
    };
    let result = act(&mut worker);
    WORKER.set(Some(worker));
    result
}

/// Acts on the state of this thread; a fault stops the lane that runs.
#[inline]
pub(crate) fn checked<T>(act: impl FnOnce(&mut Worker) -> Checked<T>) -> T {
    match with(act) {
        Ok(value) => value,
        Err(fault) => lane::stop(*fault),
    }
}

#[cold]
fn outside() -> ! {
    panic!("what is in `gpu` works in a kernel that is launched, not outside")
}

impl Worker {
    pub(crate) fn new(job: Arc<Job>) -> Self {
        Self {
            arguments: job.arguments.as_slice().into(),
            sites: Sites::new(job.registry.clone()),
            job,
            shared: SharedMemory::default(),
            block: 0,
            lane: 0,
        }
    }

    /// The lane that runs, at `location`.
    pub(crate) fn place(&self, location: At) -> Place {
        self.place_of(self.block, self.lane, Source::new(location))
    }

    fn place_of(&self, block: u32, lane: u16, source: Source) -> Place {
        Place {
            thread: Index::of(lane.into(), self.job.block),
            block: Index::of(block, self.job.grid),
            source,
        }
    }

    fn warp_lane(&self) -> u32 {
        u32::from(self.lane) % LANES as u32
    }

    /// Counts an operation that accesses no memory.
    #[inline]
    pub(crate) fn count(&mut self, kind: Kind, at: At) {
        let site = self.sites.find(at, Op::of(kind));
        self.sites.count(site);
    }

    #[inline]
    pub(crate) fn load(&mut self, input: u16, index: u32, at: At) -> Checked<u32> {
        match self.job.inputs[usize::from(input)].get(index) {
            Ok((word, address)) => {
                self.access(Op::on(Kind::GlobalLoad, input), address, at);
                Ok(word)
            }
            Err(refusal) => Err(self.input_fault(input, refusal, at)),
        }
    }

    pub(crate) fn load4(&mut self, input: u16, quad: u32, at: At) -> Checked<[u32; 4]> {
        match self.job.inputs[usize::from(input)].get4(quad) {
            Ok((words, address)) => {
                self.access(Op::on(Kind::GlobalLoad4, input), address, at);
                Ok(words)
            }
            Err(refusal) => Err(self.input_fault(input, refusal, at)),
        }
    }

    pub(crate) fn store(&mut self, output: u16, index: u32, word: u32, at: At) -> Checked<()> {
        let site = self.sites.find(at, Op::on(Kind::GlobalStore, output));
        let array = &self.job.outputs[usize::from(output)];
        match array.set(index, word, self.writer(site)) {
            Ok(address) => {
                self.sites.access(site, self.warp_lane(), address);
                Ok(())
            }
            Err(refusal) => Err(self.output_fault(output, refusal, at)),
        }
    }

    pub(crate) fn store4(
        &mut self,
        output: u16,
        quad: u32,
        words: [u32; 4],
        at: At,
    ) -> Checked<()> {
        let site = self.sites.find(at, Op::on(Kind::GlobalStore4, output));
        let array = &self.job.outputs[usize::from(output)];
        match array.set4(quad, words, self.writer(site)) {
            Ok(address) => {
                self.sites.access(site, self.warp_lane(), address);
                Ok(())
            }
            Err(refusal) => Err(self.output_fault(output, refusal, at)),
        }
    }

    #[inline]
    fn access(&mut self, op: Op, address: u32, at: At) {
        let site = self.sites.find(at, op);
        self.sites.access(site, self.warp_lane(), address);
    }

    fn writer(&self, site: u16) -> Writer {
        Writer {
            block: self.block,
            lane: self.lane,
            site,
            epoch: self.shared.epoch(),
        }
    }

    /// The number of a shared array and its first word.
    pub(crate) fn array(&mut self, declaration: &'static Declaration) -> (u16, u32) {
        self.shared.array(declaration)
    }

    /// Reads the word at `index` of the shared array that begins at `base`.
    #[inline]
    pub(crate) fn shared_load(
        &mut self,
        (array, base): (u16, u32),
        length: usize,
        index: u32,
        at: At,
    ) -> Checked<u32> {
        let site = self.sites.find(at, Op::on(Kind::SharedLoad, array));
        match self.shared.get(base, length, index, self.visit(site)) {
            Ok(word) => {
                self.sites.access(site, self.warp_lane(), base + index);
                Ok(word)
            }
            Err(refusal) => Err(self.shared_fault(array, refusal, Access::Read, at)),
        }
    }

    /// Writes the word at `index` of the shared array that begins at `base`.
    #[inline]
    pub(crate) fn shared_store(
        &mut self,
        (array, base): (u16, u32),
        length: usize,
        index: u32,
        word: u32,
        at: At,
    ) -> Checked<()> {
        let site = self.sites.find(at, Op::on(Kind::SharedStore, array));
        match self.shared.set(base, length, index, word, self.visit(site)) {
            Ok(()) => {
                self.sites.access(site, self.warp_lane(), base + index);
                Ok(())
            }
            Err(refusal) => Err(self.shared_fault(array, refusal, Access::Write, at)),
        }
    }

    /// Writes the words from `4 * quad` on of the shared array that begins at `base`.
    pub(crate) fn shared_store4(
        &mut self,
        (array, base): (u16, u32),
        length: usize,
        quad: u32,
        words: [u32; 4],
        at: At,
    ) -> Checked<()> {
        let site = self.sites.find(at, Op::on(Kind::SharedStore4, array));
        match self
            .shared
            .set4(base, length, quad, words, self.visit(site))
        {
            Ok(()) => {
                self.sites.access(site, self.warp_lane(), base + 4 * quad);
                Ok(())
            }
            Err(refusal) => Err(self.shared_fault(array, refusal, Access::Write, at)),
        }
    }

    #[inline]
    fn visit(&self, site: u16) -> Visit {
        Visit {
            lane: self.lane,
            site,
        }
    }

    #[cold]
    fn input_fault(&self, input: u16, refusal: Refusal, at: At) -> Box<Fault> {
        let array = self.job.inputs[usize::from(input)].name.clone();
        self.fault(array, refusal, Access::Read, at)
    }

    #[cold]
    fn output_fault(&self, output: u16, refusal: Refusal, at: At) -> Box<Fault> {
        let array = self.job.outputs[usize::from(output)].name.clone();
        self.fault(array, refusal, Access::Write, at)
    }

    #[cold]
    fn shared_fault(&self, array: u16, refusal: Refusal, access: Access, at: At) -> Box<Fault> {
        self.fault(self.shared.name(array).to_owned(), refusal, access, at)
    }

    fn fault(&self, array: String, refusal: Refusal, access: Access, at: At) -> Box<Fault> {
        let place = self.place(at);
        Box::new(match refusal {
            Refusal::OutOfBounds { elements, length } => Fault::OutOfBounds {
                access,
                array,
                elements,
                length,
                place,
            },
            Refusal::Misaligned { elements, bytes } => Fault::Misaligned {
                access,
                array,
                elements,
                bytes,
                place,
            },
            Refusal::Uninitialised { elements } => Fault::Uninitialised {
                array,
                elements,
                place,
            },
            Refusal::Race {
                elements,
                other_wrote,
                block,
                lane,
                site,
            } => Fault::Race {
                array,
                elements,
                first_access: match other_wrote {
                    true => Access::Write,
                    false => Access::Read,
                },
                first: self.place_of(
                    block.unwrap_or(self.block),
                    lane,
                    self.sites.registry().site(site).source,
                ),
                second_access: access,
                second: place,
            },
        })
    }
}
