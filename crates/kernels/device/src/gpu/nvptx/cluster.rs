//! Blocks of a cluster: its barrier, and shared memory of the other blocks.

use crate::gpu::{F32x4, Mbarrier, Shared};
use core::arch::asm;

/// Index of the block in its cluster (`%cluster_ctarank`).
#[inline(always)]
pub fn cluster_rank() -> u32 {
    let rank;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u32 {}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem, nostack)) }
    rank
}

/// Tells the cluster that this thread is here, and makes what it wrote before visible to every thread that
/// waits for it. A [`cluster_wait`] follows.
#[inline(always)]
pub fn cluster_arrive() {
    // SAFETY: as for `barrier`.
    unsafe { asm!("barrier.cluster.arrive.release.aligned;", options(nostack)) }
}

/// As [`cluster_arrive`], but what this thread wrote is not made visible: enough after
/// [`publish_barriers`](crate::gpu::publish_barriers), which does that for barriers, and without the fence of all
/// memory that the former takes.
#[inline(always)]
pub fn cluster_arrive_relaxed() {
    // SAFETY: as for `barrier`.
    unsafe { asm!("barrier.cluster.arrive.relaxed.aligned;", options(nostack)) }
}

/// Waits until every thread of the cluster that has not ended has arrived.
#[inline(always)]
pub fn cluster_wait() {
    // SAFETY: as for `barrier`.
    unsafe { asm!("barrier.cluster.wait.acquire.aligned;", options(nostack)) }
}

impl<T, const N: usize> Shared<T, N> {
    /// The address of this array in block `rank` of the cluster.
    #[inline(always)]
    fn address_in(self, rank: u32) -> u32 {
        let address;
        // SAFETY: arithmetic on an address.
        unsafe {
            asm!("mapa.shared::cluster.u32 {}, {}, {};", out(reg32) address, in(reg32) self.address(),
                in(reg32) rank, options(pure, nomem, nostack));
        }
        address
    }
}

impl<const N: usize> Shared<u32, N> {
    /// Writes `value` at `index` of this array in block `rank` of the cluster.
    #[inline(always)]
    pub fn set_in(self, rank: u32, index: u32, value: u32) {
        // SAFETY: inside the array that the kernel declared; the other block has started and has not ended.
        unsafe {
            asm!("st.shared::cluster.u32 [{}], {};", in(reg32) self.address_in(rank) + 4 * index,
                in(reg32) value, options(nostack));
        }
    }
}

impl<const N: usize> Shared<f32, N> {
    /// Writes the elements `4 * quad .. 4 * quad + 4` of this array in block `rank` of the cluster.
    #[inline(always)]
    pub fn set4_in(self, rank: u32, quad: u32, value: F32x4) {
        let [x, y, z, w] = value.0;
        // SAFETY: inside the array that the kernel declared; the other block has started and has not ended.
        unsafe {
            asm!("st.shared::cluster.v4.f32 [{}], {{{}, {}, {}, {}}};",
                in(reg32) self.address_in(rank) + 16 * quad,
                in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, options(nostack));
        }
    }

    /// As [`set4_in`](Self::set4_in), by a write that only `barrier` of that block orders: the 16 bytes count there, and
    /// whoever waits for its phase sees them (`st.async`). No fence is needed.
    #[inline(always)]
    pub fn send4(self, rank: u32, quad: u32, value: F32x4, barrier: Mbarrier) {
        let [x, y, z, w] = value.0;
        // SAFETY: as for `set4_in`; the barrier lies in the same block.
        unsafe {
            asm!("{{ .reg .b32 at;", "mapa.shared::cluster.u32 at, {}, {};",
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [{}], {{{}, {}, {}, {}}}, [at]; }}",
                in(reg32) barrier.address(), in(reg32) rank, in(reg32) self.address_in(rank) + 16 * quad,
                in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, options(nostack));
        }
    }
}
