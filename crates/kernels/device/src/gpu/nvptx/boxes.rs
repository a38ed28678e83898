//! Reads of boxes of an array of several dims, which the device finds by itself (`cp.async.bulk.tensor`, compute
//! capability 9.0): one thread starts them.

use crate::gpu::{Mbarrier, Shared};
use core::arch::asm;

/// An input as an array of three dims, of which boxes of a fixed size are read: the address of a tensor map in
/// global memory, which the launch makes (`boxes` in the table of variants).
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Boxes(*const u64);

impl Boxes {
    /// Brings the tensor map near, so that the first box need not wait for it.
    #[inline(always)]
    pub fn prefetch(self) {
        // SAFETY: the address of a tensor map.
        unsafe { asm!("prefetch.tensormap [{}];", in(reg64) self.0, options(nostack)) }
    }
}

impl<const N: usize> Shared<f32, N> {
    /// Starts to read the box whose first element is `at`, the fastest dim first, to this array from `quad` on. Its
    /// bytes count at `barrier`.
    #[inline(always)]
    pub fn start_box(self, quad: u32, from: Boxes, at: [u32; 3], barrier: Mbarrier) {
        // SAFETY: the kernel gives a place of the size of a box, aligned as its swizzle asks; what of a box lies
        // outside the array is not read.
        unsafe {
            asm!("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
                 [{}], [{}, {{{}, {}, {}}}], [{}];",
                in(reg32) self.quad(quad), in(reg64) from.0, in(reg32) at[0], in(reg32) at[1], in(reg32) at[2],
                in(reg32) barrier.address(), options(nostack));
        }
    }

    /// As [`start_box`](Self::start_box), into this array of every block of the cluster whose bit is set in `ranks`,
    /// and counted at the same barrier of each.
    #[inline(always)]
    pub fn start_box_in(self, ranks: u32, quad: u32, from: Boxes, at: [u32; 3], barrier: Mbarrier) {
        // SAFETY: as for `start_box`, in blocks that have started and have not ended.
        unsafe {
            asm!("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes\
                 .multicast::cluster [{}], [{}, {{{}, {}, {}}}], [{}], {};",
                in(reg32) self.quad(quad), in(reg64) from.0, in(reg32) at[0], in(reg32) at[1], in(reg32) at[2],
                in(reg32) barrier.address(), in(reg16) ranks as u16, options(nostack));
        }
    }
}
