//! Copies between shared and global memory that no thread carries out.

use super::{At, Checked, Worker};
use crate::count::op::{Kind, Op};
use crate::fault::Access;
use crate::gpu::Boxes;
use crate::memory::order::UNDER_WAY;
use crate::memory::shared::{Place, Visit};
use crate::memory::stamp::Stamp;
use std::collections::{HashMap, VecDeque};
use std::mem;

/// Words of a quad.
const QUAD: usize = 4;

/// What a copy brings to shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// So many quads of an input from an element on.
    Quads {
        input: u16,
        first: usize,
        quads: u32,
    },
    /// So many quads of scratch memory from a word on.
    Scratch {
        number: u16,
        first: usize,
        quads: u32,
    },
    /// The box whose first element is this one, the fastest dim first.
    Box { boxes: Boxes, at: [u32; 3] },
}

/// Where a copy takes what it reads in shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Destination {
    Output(u16),
    Scratch(u16),
}

/// A store, which reads words while its thread goes on.
#[derive(Debug, Clone, Copy)]
struct Store {
    place: Place,
    first: usize,
    count: usize,
    visit: Visit,
    /// The time after it began.
    since: u32,
    /// Scratch memory that it writes, and the first word there.
    writes: Option<(u16, usize)>,
}

/// Stores that a thread started and has not waited for.
#[derive(Debug, Default)]
struct Started {
    open: Vec<Store>,
    /// In groups.
    closed: VecDeque<Vec<Store>>,
    /// Those that have read all, and may still be writing.
    read: Vec<Store>,
}

/// Stores that threads started and have not waited for.
#[derive(Debug, Default)]
pub(crate) struct Stores(HashMap<u16, Started>);

impl Stores {
    pub(super) fn begin(&mut self) {
        self.0.clear();
    }
}

impl Worker {
    /// Starts a copy to the quads from `quad` on of a shared array in the blocks of these ranks. Its bytes count at the
    /// mbarrier at `mbarrier` of each: an array and a position there.
    pub(crate) fn start_load(
        &mut self,
        ranks: impl Iterator<Item = u32>,
        place: Place,
        quad: u32,
        from: Source,
        mbarrier: (Place, u32),
        at: At,
    ) -> Checked<()> {
        let words = match from {
            Source::Quads {
                input,
                first,
                quads,
            } => {
                let words = self.job.memory.inputs[usize::from(input)].quads(first, quads);
                words.map_err(|refusal| self.input_fault(input, refusal, at))?
            }
            Source::Scratch {
                number,
                first,
                quads,
            } => self.read_scratch(number, first, quads, place, mbarrier, at)?,
            Source::Box { boxes, at: first } => {
                let aligned = Boxes::check(quad);
                aligned.map_err(|refusal| self.shared_fault(place, refusal, Access::Write, at))?;
                boxes.words(
                    &self.job.memory.inputs[usize::from(boxes.input)].words,
                    first,
                    quad,
                )
            }
        };
        let site = self.sites.find(at, Op::on(Kind::BulkLoad, place.array));
        self.sites.count_bytes(site, 4 * words.len() as u64);
        for rank in ranks {
            self.bring(rank, place, quad, &words, mbarrier, site, at)?;
        }
        Ok(())
    }

    /// Writes a quad to a shared array in a block of the cluster; its bytes count at the mbarrier of that block, and
    /// only who waits there sees it.
    pub(crate) fn send(
        &mut self,
        rank: u32,
        place: Place,
        quad: u32,
        words: [u32; QUAD],
        mbarrier: (Place, u32),
        at: At,
    ) -> Checked<()> {
        let site = self.sites.find(at, Op::on(Kind::SharedStore4, place.array));
        self.bring(rank, place, quad, &words, mbarrier, site, at)?;
        let address = place.base + QUAD as u32 * quad;
        self.sites.access(site, self.warp_lane(), address);
        Ok(())
    }

    /// Words arrive in a block of the cluster, and count at its mbarrier.
    #[allow(clippy::too_many_arguments)] // what, where to, and for whom
    fn bring(
        &mut self,
        rank: u32,
        place: Place,
        quad: u32,
        words: &[u32],
        mbarrier: (Place, u32),
        site: u16,
        at: At,
    ) -> Checked<()> {
        let rank = self.block_in(rank, at)?;
        let number = self.mbarrier(rank, mbarrier.0, mbarrier.1, at)?;
        let copies = self.shared.order.copies_at(number);
        let stamp = Stamp::new(self.shared.order.tick(), copies, site);
        self.shared
            .fill(rank, place, QUAD * quad as usize, words, self.id, stamp)
            .map_err(|refusal| self.shared_fault(place, refusal, Access::Write, at))?;
        let after = self.shared.order.tick();
        let mbarrier = self.mbarriers.get_mut(number);
        mbarrier.copied_by = self.id;
        mbarrier.copied(4 * words.len() as u32, copies, after);
        Ok(())
    }

    /// Quads of scratch memory, read by a copy that counts at an mbarrier of the block.
    fn read_scratch(
        &mut self,
        scratch: u16,
        first: usize,
        quads: u32,
        to: Place,
        mbarrier: (Place, u32),
        at: At,
    ) -> Checked<Vec<u32>> {
        self.check_prerequisites(scratch, first, QUAD * quads as usize, Access::Read, at)?;
        let rank = self.rank() as usize;
        let number = self.mbarrier(rank, mbarrier.0, mbarrier.1, at)?;
        let site = self.sites.find(at, Op::on(Kind::BulkLoad, to.array));
        let copies = self.shared.order.copies_at(number);
        let stamp = Stamp::new(self.shared.order.tick(), copies, site);
        let visitor = self.scratch_visitor(stamp);
        let array = &self.job.memory.scratch[usize::from(scratch)];
        array
            .read(first, QUAD * quads as usize, visitor)
            .map_err(|refusal| self.scratch_fault(scratch, refusal, Access::Read, at))
    }

    /// Starts a copy of so many quads of a shared array, from `quad` on, to those from `to_quad` on of another.
    pub(crate) fn start_store(
        &mut self,
        place: Place,
        quad: u32,
        to: Destination,
        to_quad: u32,
        quads: u32,
        at: At,
    ) -> Checked<()> {
        let (Destination::Output(array) | Destination::Scratch(array)) = to;
        let site = self.sites.find(at, Op::on(Kind::BulkStore, array));
        self.sites.count_bytes(site, 16 * u64::from(quads));
        let (first, count) = (QUAD * quad as usize, QUAD * quads as usize);
        let visit = self.visit(site);
        let words = self
            .shared
            .read_beside(place, first, count, visit)
            .map_err(|refusal| self.shared_fault(place, refusal, Access::Read, at))?;
        let writes = match to {
            Destination::Output(output) => {
                self.write_output(output, to_quad, &words, site, at)?;
                None
            }
            Destination::Scratch(scratch) => {
                let first = QUAD * to_quad as usize;
                self.check_prerequisites(scratch, first, count, Access::Write, at)?;
                let visitor = self.scratch_visitor(Stamp::new(UNDER_WAY, self.id, site));
                self.job.memory.scratch[usize::from(scratch)]
                    .write(first, &words, visitor)
                    .map_err(|refusal| self.scratch_fault(scratch, refusal, Access::Write, at))?;
                Some((scratch, first))
            }
        };
        let since = self.shared.order.tick();
        self.bulk.0.entry(self.id).or_default().open.push(Store {
            place,
            first,
            count,
            visit,
            since,
            writes,
        });
        Ok(())
    }

    /// Words of a copy arrive in an output.
    fn write_output(
        &self,
        output: u16,
        to_quad: u32,
        words: &[u32],
        site: u16,
        at: At,
    ) -> Checked<()> {
        let (quads, _) = words.as_chunks::<QUAD>();
        for (i, &quad) in quads.iter().enumerate() {
            let array = &self.job.memory.outputs[usize::from(output)];
            array
                .set_group(to_quad + i as u32, quad, self.writer(site))
                .map_err(|refusal| self.output_fault(output, refusal, at))?;
        }
        Ok(())
    }

    /// Closes the group of the stores that the lane started.
    pub(crate) fn close_stores(&mut self) {
        let started = self.bulk.0.entry(self.id).or_default();
        started.closed.push_back(mem::take(&mut started.open));
    }

    /// All groups of stores of the lane but the last `left` have read what they store: nobody wrote it meanwhile.
    pub(crate) fn end_reads_of_stores(&mut self, left: u32, at: At) -> Checked<()> {
        let Some(started) = self.bulk.0.get_mut(&self.id) else {
            return Ok(());
        };
        let ended = started.closed.len().saturating_sub(left as usize);
        let ended: Vec<Store> = started.closed.drain(..ended).flatten().collect();
        started.read.extend(&ended);
        for store in ended {
            let Store {
                place,
                first,
                count,
                visit,
                since,
                ..
            } = store;
            self.shared
                .end_beside(place, first, count, visit, since)
                .map_err(|refusal| self.shared_fault(place, refusal, Access::Read, at))?;
        }
        Ok(())
    }

    /// All groups of stores of the lane are done: what they wrote is there.
    pub(crate) fn end_stores(&mut self, at: At) -> Checked<()> {
        self.end_reads_of_stores(0, at)?;
        let Some(started) = self.bulk.0.get_mut(&self.id) else {
            return Ok(());
        };
        for store in mem::take(&mut started.read) {
            if let Some((scratch, first)) = store.writes {
                let visitor = self.scratch_visitor(self.now(store.visit.site));
                self.job.memory.scratch[usize::from(scratch)]
                    .end_copies(first, store.count, visitor)
                    .map_err(|refusal| self.scratch_fault(scratch, refusal, Access::Write, at))?;
            }
        }
        Ok(())
    }
}
