//! Values passed between the 32 lanes of a warp. All lanes must take part.

use core::arch::asm;

/// Every lane of a warp.
const ALL_LANES: u32 = u32::MAX;
/// No segments: a warp is one row of 32 lanes.
const FULL_WARP: u32 = 31;

#[allow(improper_ctypes)]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.shfl.sync.down.f32"]
    fn shfl_sync_down_f32(lanes: u32, value: f32, offset: u32, clamp: u32) -> f32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.f32"]
    fn shfl_sync_idx_f32(lanes: u32, value: f32, lane: u32, clamp: u32) -> f32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.f32"]
    fn shfl_sync_bfly_f32(lanes: u32, value: f32, mask: u32, clamp: u32) -> f32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_sync_idx_i32(lanes: u32, value: u32, lane: u32, clamp: u32) -> u32;
}

/// Waits for every lane of the warp, and makes what each did and saw before it visible to all (`bar.warp.sync`). No
/// compiler moves an access of memory across it, so that it also says in which order a thread does independent things.
#[inline(always)]
pub fn warp_barrier() {
    // SAFETY: only waits; whole warps reach it together.
    unsafe { asm!("bar.warp.sync 0xffffffff;", options(nostack)) }
}

/// The `value` of the lane `offset` places up; a lane with none so far up keeps its own
/// (`shfl.sync.down.b32`).
#[inline(always)]
pub fn shuffle_down(value: f32, offset: u32) -> f32 {
    // SAFETY: registers only; whole warps reach it together.
    unsafe { shfl_sync_down_f32(ALL_LANES, value, offset, FULL_WARP) }
}

/// The `value` of lane `lane`, below 32, in every lane (`shfl.sync.idx.b32`).
#[inline(always)]
pub fn broadcast(value: f32, lane: u32) -> f32 {
    // SAFETY: registers only; whole warps reach it together.
    unsafe { shfl_sync_idx_f32(ALL_LANES, value, lane, FULL_WARP) }
}

/// The `value` of the lane whose number differs in the bits of `mask` (`shfl.sync.bfly.b32`).
#[inline(always)]
pub fn shuffle_xor(value: f32, mask: u32) -> f32 {
    // SAFETY: registers only; whole warps reach it together.
    unsafe { shfl_sync_bfly_f32(ALL_LANES, value, mask, FULL_WARP) }
}

/// The `value` of lane `lane`, below 32, which each lane chooses for itself (`shfl.sync.idx.b32`).
#[inline(always)]
pub fn shuffle(value: f32, lane: u32) -> f32 {
    broadcast(value, lane)
}

/// As [`shuffle`], of an integer.
#[inline(always)]
pub fn shuffle_u32(value: u32, lane: u32) -> u32 {
    // SAFETY: registers only; whole warps reach it together.
    unsafe { shfl_sync_idx_i32(ALL_LANES, value, lane, FULL_WARP) }
}

/// As [`shuffle_xor`], of an integer.
#[inline(always)]
pub fn shuffle_xor_u32(value: u32, mask: u32) -> u32 {
    let other;
    // SAFETY: registers only; whole warps reach it together.
    unsafe {
        asm!("shfl.sync.bfly.b32 {}, {}, {}, 31, 0xffffffff;", out(reg32) other, in(reg32) value,
            in(reg32) mask, options(nostack));
    }
    other
}

/// `value`, which is the same in all lanes of the warp, so that the compiler sees it (`shfl.sync.idx.b32`).
#[inline(always)]
pub fn uniform(value: u32) -> u32 {
    let same;
    // SAFETY: registers only; whole warps reach it together.
    unsafe {
        asm!("shfl.sync.idx.b32 {}, {}, 0, 31, 0xffffffff;", out(reg32) same, in(reg32) value, options(nostack));
    }
    same
}

/// Whether this lane is the one that the warp elects, the same each time (`elect.sync`). The compiler does not know that it is
/// the same, so that it does not take apart for one lane what the whole warp has to reach together.
#[inline(always)]
pub fn elected() -> bool {
    let elected: u32;
    // SAFETY: registers only; whole warps reach it together.
    unsafe {
        asm!(
            "{{",
            ".reg .pred p;",
            "elect.sync _|p, 0xffffffff;",
            "selp.u32 {elected}, 1, 0, p;",
            "}}",
            elected = out(reg32) elected,
            options(nostack),
        );
    }
    elected != 0
}
