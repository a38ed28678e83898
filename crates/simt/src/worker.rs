//! The state of one host thread while it runs blocks: what a kernel's calls of [`gpu`](crate::gpu) reach.

mod bulk;
mod cluster;
mod copies;
mod fragments;
mod groups;
mod mbarriers;
mod scratch;

pub(crate) use bulk::{Destination, Source as BulkSource};
pub(crate) use fragments::{Fragment, Shape};
pub(crate) use groups::{Columns, Rows, WARPGROUP};

use crate::count::memory::LANES;
use crate::count::op::{Kind, Op};
use crate::count::sites::Sites;
use crate::fault::{Access, Beside, Fault, Index, Place};
use crate::gpu::Argument;
use crate::lane;
use crate::memory::Refusal;
use crate::memory::clock::Clock;
use crate::memory::global::Writer;
use crate::memory::mbarrier::Mbarriers;
use crate::memory::shared::{self, Declaration, SharedMemory, Visit};
use crate::memory::stamp::Stamp;
use crate::run::Job;
use crate::source::Source;
use std::cell::Cell;
use std::collections::HashMap;
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
    /// What the lanes of the warp that runs offer to a product of all of them, and get from it.
    pub(crate) fragments: Box<[Fragment; LANES]>,
    pub(crate) cluster: cluster::Barrier,
    mbarriers: Mbarriers,
    /// What each lane published of the mbarriers that it prepared.
    published: HashMap<u16, Clock>,
    bulk: bulk::Stores,
    /// When lanes waited for the launch before.
    waits: Vec<Stamp>,
    groups: groups::Groups,
    /// Linear index in the grid of the first of the blocks that run together.
    first_block: u32,
    /// Linear index of the block in the grid.
    pub(crate) block: u32,
    /// Linear index of the lane in the block.
    pub(crate) lane: u16,
    /// Linear index of the lane in the blocks that run together.
    id: u16,
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
            shared: SharedMemory::new(
                job.step.cluster as usize,
                job.threads() as usize,
                job.step.shared_bytes,
            ),
            cluster: cluster::Barrier::default(),
            mbarriers: Mbarriers::default(),
            published: HashMap::new(),
            bulk: bulk::Stores::default(),
            waits: Vec::new(),
            groups: groups::Groups::default(),
            fragments: Box::new([Fragment::default(); LANES]),
            job,
            first_block: 0,
            block: 0,
            lane: 0,
            id: 0,
        }
    }

    /// Begins the blocks that run together, from `block` on.
    pub(crate) fn begin(&mut self, block: u32) {
        self.first_block = block;
        self.shared.begin();
        self.mbarriers.begin();
        self.published.clear();
        self.bulk.begin();
        self.waits.clear();
        self.groups.begin();
        self.cluster
            .begin(self.job.step.cluster, self.job.threads());
        self.enter(0);
    }

    /// The block of this rank among them runs.
    pub(crate) fn enter(&mut self, rank: u32) {
        self.block = self.first_block + rank;
        self.shared.enter(rank as usize);
    }

    /// This lane of the block runs.
    pub(crate) fn run_lane(&mut self, lane: u16) {
        self.lane = lane;
        self.id = (self.rank() * self.job.threads()) as u16 + lane;
    }

    /// The lane that runs has returned.
    pub(crate) fn end_lane(&mut self) {
        self.cluster.end(self.id);
    }

    /// The lane makes what it wrote to shared memory visible to copies and products.
    pub(crate) fn fence(&mut self) {
        self.shared.order.fence(self.id);
    }

    /// Rank of the block among those that run together.
    pub(crate) fn rank(&self) -> u32 {
        self.block - self.first_block
    }

    /// The lane that runs, at `location`.
    pub(crate) fn place(&self, location: At) -> Place {
        self.place_at(Source::new(location))
    }

    fn place_at(&self, source: Source) -> Place {
        self.place_of(self.block, self.lane, source)
    }

    fn place_of(&self, block: u32, lane: u16, source: Source) -> Place {
        Place {
            thread: Index::of(lane.into(), self.job.step.block),
            block: Index::of(block, self.job.step.grid),
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
    pub(crate) fn load(&mut self, input: u16, index: usize, at: At) -> Checked<u32> {
        match self.job.memory.inputs[usize::from(input)].get(index) {
            Ok((word, address)) => {
                self.access(Op::on(Kind::GlobalLoad, input), address, at);
                Ok(word)
            }
            Err(refusal) => Err(self.input_fault(input, refusal, at)),
        }
    }

    /// Reads the `N` words from `first` on, as what `kind` does.
    pub(crate) fn load_group<const N: usize>(
        &mut self,
        kind: Kind,
        input: u16,
        first: usize,
        at: At,
    ) -> Checked<[u32; N]> {
        match self.job.memory.inputs[usize::from(input)].get_group(first) {
            Ok((words, address)) => {
                self.access(Op::on(kind, input), address, at);
                Ok(words)
            }
            Err(refusal) => Err(self.input_fault(input, refusal, at)),
        }
    }

    pub(crate) fn store(&mut self, output: u16, index: u32, word: u32, at: At) -> Checked<()> {
        let site = self.sites.find(at, Op::on(Kind::GlobalStore, output));
        let array = &self.job.memory.outputs[usize::from(output)];
        match array.set(index, word, self.writer(site)) {
            Ok(address) => {
                self.sites.access(site, self.warp_lane(), address);
                Ok(())
            }
            Err(refusal) => Err(self.output_fault(output, refusal, at)),
        }
    }

    /// Writes the `N` words from `N * index` on, as what `kind` does.
    pub(crate) fn store_group<const N: usize>(
        &mut self,
        kind: Kind,
        output: u16,
        index: u32,
        words: [u32; N],
        at: At,
    ) -> Checked<()> {
        let site = self.sites.find(at, Op::on(kind, output));
        let array = &self.job.memory.outputs[usize::from(output)];
        match array.set_group(index, words, self.writer(site)) {
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
            now: self.shared.order.now(),
            floor: self.shared.order.floor(),
        }
    }

    /// The shared array of this declaration.
    pub(crate) fn array(&mut self, declaration: &'static Declaration) -> shared::Place {
        self.shared.array(declaration)
    }

    /// Reads the word at `index` of a shared array.
    #[inline]
    pub(crate) fn shared_load(&mut self, place: shared::Place, index: u32, at: At) -> Checked<u32> {
        let site = self.sites.find(at, Op::on(Kind::SharedLoad, place.array));
        match self.shared.get(place, index, self.visit(site)) {
            Ok(word) => {
                self.sites
                    .access(site, self.warp_lane(), place.base + index);
                Ok(word)
            }
            Err(refusal) => Err(self.shared_fault(place, refusal, Access::Read, at)),
        }
    }

    /// Reads the `N` words from `N * index` on of a shared array, as what `kind` does.
    #[inline]
    pub(crate) fn shared_load_group<const N: usize>(
        &mut self,
        kind: Kind,
        place: shared::Place,
        index: u32,
        at: At,
    ) -> Checked<[u32; N]> {
        let site = self.sites.find(at, Op::on(kind, place.array));
        match self.shared.get_group(place, index, self.visit(site)) {
            Ok(words) => {
                let address = place.base + N as u32 * index;
                self.sites.access(site, self.warp_lane(), address);
                Ok(words)
            }
            Err(refusal) => Err(self.shared_fault(place, refusal, Access::Read, at)),
        }
    }

    /// Writes the word at `index` of a shared array.
    #[inline]
    pub(crate) fn shared_store(
        &mut self,
        place: shared::Place,
        index: u32,
        word: u32,
        at: At,
    ) -> Checked<()> {
        let site = self.sites.find(at, Op::on(Kind::SharedStore, place.array));
        match self.shared.set(place, index, word, self.visit(site)) {
            Ok(()) => {
                self.sites
                    .access(site, self.warp_lane(), place.base + index);
                Ok(())
            }
            Err(refusal) => Err(self.shared_fault(place, refusal, Access::Write, at)),
        }
    }

    /// Writes the `N` words from `N * index` on of a shared array, as what `kind` does.
    pub(crate) fn shared_store_group<const N: usize>(
        &mut self,
        kind: Kind,
        place: shared::Place,
        index: u32,
        words: [u32; N],
        at: At,
    ) -> Checked<()> {
        let site = self.sites.find(at, Op::on(kind, place.array));
        match self.shared.set_group(place, index, words, self.visit(site)) {
            Ok(()) => {
                let address = place.base + N as u32 * index;
                self.sites.access(site, self.warp_lane(), address);
                Ok(())
            }
            Err(refusal) => Err(self.shared_fault(place, refusal, Access::Write, at)),
        }
    }

    #[inline]
    fn visit(&self, site: u16) -> Visit {
        Visit {
            lane: self.id,
            site,
        }
    }

    #[cold]
    fn input_fault(&self, input: u16, refusal: Refusal, at: At) -> Box<Fault> {
        let array = self.job.memory.inputs[usize::from(input)].name.clone();
        self.fault(array, refusal, Access::Read, Source::new(at))
    }

    #[cold]
    fn output_fault(&self, output: u16, refusal: Refusal, at: At) -> Box<Fault> {
        let array = self.job.memory.outputs[usize::from(output)].name.clone();
        self.fault(array, refusal, Access::Write, Source::new(at))
    }

    #[cold]
    fn shared_fault(
        &self,
        place: shared::Place,
        refusal: Refusal,
        access: Access,
        at: At,
    ) -> Box<Fault> {
        self.shared_fault_at(place, refusal, access, Source::new(at))
    }

    #[cold]
    fn shared_fault_at(
        &self,
        place: shared::Place,
        refusal: Refusal,
        access: Access,
        at: Source,
    ) -> Box<Fault> {
        let array = self.shared.name(place.array).to_owned();
        self.fault(array, refusal, access, at)
    }

    fn fault(&self, array: String, refusal: Refusal, access: Access, at: Source) -> Box<Fault> {
        let place = self.place_at(at);
        let source = |site| self.sites.registry().site(site).source;
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
            Refusal::Early {
                elements,
                lane,
                site,
            } => Fault::Early {
                access,
                array,
                elements,
                place,
                work: Beside::Copy,
                start: self.place_together(lane, source(site)),
            },
            Refusal::Overwritten {
                elements,
                lane,
                site,
                by,
                start,
            } => Fault::Early {
                access: Access::Write,
                array,
                elements,
                place: self.place_together(lane, source(site)),
                work: match self.sites.registry().site(start).op.kind() {
                    Kind::BulkStore => Beside::Store,
                    _ => Beside::Product,
                },
                start: self.place_together(by, source(start)),
            },
            Refusal::Unfenced {
                elements,
                lane,
                site,
            } => Fault::Unfenced {
                array,
                elements,
                place,
                writer: self.place_together(lane, source(site)),
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
                first: match block {
                    Some(block) => self.place_of(block, lane, source(site)),
                    None => self.place_together(lane, source(site)),
                },
                second_access: access,
                second: place,
            },
        })
    }

    /// The lane of this linear index in the blocks that run together, at a place; of copies that count at an mbarrier,
    /// the lane that started the last.
    fn place_together(&self, id: u16, source: Source) -> Place {
        let mbarrier = self.shared.order.mbarrier_of(id);
        let id = mbarrier.map_or(id, |number| self.mbarriers.get(number).copied_by);
        let (id, threads) = (u32::from(id), self.job.threads());
        self.place_of(
            self.first_block + id / threads,
            (id % threads) as u16,
            source,
        )
    }
}
