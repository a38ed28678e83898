//! Copies that run beside the lane that starts them.

use super::{At, Checked, Worker};
use crate::count::op::{Kind, Op};
use crate::fault::Access;
use crate::memory::shared;

impl Worker {
    /// Starts a copy of the four words of an input from `first` on to the quad at `quad` of a shared array.
    pub(crate) fn start_copy(
        &mut self,
        place: shared::Place,
        quad: u32,
        input: u16,
        first: usize,
        at: At,
    ) -> Checked<()> {
        let words = self.load_group(Kind::CopyRead, input, first, at)?;
        let site = self.sites.find(at, Op::on(Kind::CopyWrite, place.array));
        match self.shared.start_copy(place, quad, words, self.visit(site)) {
            Ok(()) => {
                let address = place.base + 4 * quad;
                self.sites.access(site, self.warp_lane(), address);
                Ok(())
            }
            Err(refusal) => Err(self.shared_fault(place, refusal, Access::Write, at)),
        }
    }

    /// Closes the group of the copies that the lane started.
    pub(crate) fn close_copies(&mut self) {
        self.shared.close_copies(self.id);
    }

    /// All groups of copies of the lane but the last `left` are done.
    pub(crate) fn end_copies(&mut self, left: u32) {
        self.shared.end_copies(self.id, left as usize);
    }
}
