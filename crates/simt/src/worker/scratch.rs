//! Scratch memory, as the lanes of the blocks that run together reach it.

use super::{At, Checked, Worker};
use crate::count::op::{Kind, Op};
use crate::fault::{Access, Elements, Fault};
use crate::memory::Refusal;
use crate::memory::scratch::Visitor;
use crate::memory::stamp::Stamp;
use crate::source::Source;

impl Worker {
    /// Reads a word of scratch memory.
    pub(crate) fn scratch_load(&mut self, scratch: u16, word: u32, at: At) -> Checked<u32> {
        self.check_prerequisites(scratch, word as usize, 1, Access::Read, at)?;
        let site = self.sites.find(at, Op::on(Kind::GlobalLoad, scratch));
        let visitor = self.scratch_visitor(self.now(site));
        let words = self.job.memory.scratch[usize::from(scratch)].read(word as usize, 1, visitor);
        let words = words.map_err(|r| self.scratch_fault(scratch, r, Access::Read, at))?;
        self.sites.access(site, self.warp_lane(), word);
        Ok(words[0])
    }

    /// Writes the `N` words from `N * index` on of scratch memory, as what `kind` does.
    pub(crate) fn scratch_store<const N: usize>(
        &mut self,
        kind: Kind,
        scratch: u16,
        index: u32,
        words: [u32; N],
        at: At,
    ) -> Checked<()> {
        let first = N as u32 * index;
        self.check_prerequisites(scratch, first as usize, N, Access::Write, at)?;
        let site = self.sites.find(at, Op::on(kind, scratch));
        let visitor = self.scratch_visitor(self.now(site));
        let array = &self.job.memory.scratch[usize::from(scratch)];
        array
            .write(first as usize, &words, visitor)
            .map_err(|refusal| self.scratch_fault(scratch, refusal, Access::Write, at))?;
        self.sites.access(site, self.warp_lane(), first);
        Ok(())
    }

    /// The lane waits for the end of the launch before.
    pub(crate) fn wait_for_prerequisites(&mut self) {
        /// Of no meaning for a wait.
        const SITE: u16 = 0;
        self.waits.push(self.now(SITE));
    }

    /// Refuses an access of scratch memory while the launch before may run: where this one may begin before that one's end,
    /// and no wait for it comes first, of this lane or of one that a barrier orders before it.
    pub(super) fn check_prerequisites(
        &self,
        scratch: u16,
        first: usize,
        count: usize,
        access: Access,
        at: At,
    ) -> Checked<()> {
        let waited = |wait: &Stamp| self.shared.order.is_before(*wait, self.id);
        if !self.job.step.programmatic || self.waits.iter().any(waited) {
            return Ok(());
        }
        Err(Box::new(Fault::Prerequisites {
            access,
            array: self.job.memory.scratch[usize::from(scratch)].name.clone(),
            elements: Elements { first, count },
            place: self.place(at),
        }))
    }

    /// What the lane does now, at a site.
    pub(super) fn now(&self, site: u16) -> Stamp {
        Stamp::new(self.shared.order.now(), self.id, site)
    }

    /// The lane, for an access of scratch memory that is remembered as this.
    pub(super) fn scratch_visitor(&self, stamp: Stamp) -> Visitor<'_> {
        Visitor {
            order: &self.shared.order,
            first_block: self.first_block,
            threads: self.job.threads(),
            by: self.id,
            stamp,
        }
    }

    #[cold]
    pub(super) fn scratch_fault(
        &self,
        scratch: u16,
        refusal: Refusal,
        access: Access,
        at: At,
    ) -> Box<Fault> {
        let array = self.job.memory.scratch[usize::from(scratch)].name.clone();
        self.fault(array, refusal, access, Source::new(at))
    }
}
