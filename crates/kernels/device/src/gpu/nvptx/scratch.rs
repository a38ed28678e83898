//! Scratch memory of a launch, and the barrier of its grid.

use core::arch::asm;

/// Global memory of which the variant's table entry names the bytes, in words. It was zero before the first launch
/// and holds after that what the launch before left. Blocks read what others of the same launch wrote after a
/// [`GridBarrier`], or after they acquired a word that those released.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Scratch(*mut u32);

impl Scratch {
    /// The address of the quad `quad`.
    #[inline(always)]
    pub(super) fn quad(self, quad: u32) -> u64 {
        self.word(0) + 16 * u64::from(quad)
    }

    #[inline(always)]
    fn word(self, word: u32) -> u64 {
        self.0 as u64 + 4 * u64::from(word)
    }

    /// The word at `word`.
    #[inline(always)]
    pub fn get(self, word: u32) -> u32 {
        let value;
        // SAFETY: inside the scratch memory that the kernel's dims imply.
        unsafe {
            asm!("ld.relaxed.gpu.global.u32 {}, [{}];", out(reg32) value, in(reg64) self.word(word),
                options(nostack));
        }
        value
    }

    /// The word at `word`, and with it what the thread that wrote it did and saw before a [`fence_device`] before
    /// that.
    #[inline(always)]
    pub fn acquire(self, word: u32) -> u32 {
        let value;
        // SAFETY: as for `get`.
        unsafe {
            asm!("ld.acquire.gpu.global.u32 {}, [{}];", out(reg32) value, in(reg64) self.word(word),
                options(nostack));
        }
        value
    }

    /// Writes the words `2 * pair` and `2 * pair + 1`, in one 64-bit access.
    #[inline(always)]
    pub fn set2(self, pair: u32, [x, y]: [u32; 2]) {
        // SAFETY: as for `get`; every pair is aligned to 8 bytes.
        unsafe {
            asm!("st.global.v2.u32 [{}], {{{}, {}}};", in(reg64) self.word(2 * pair), in(reg32) x, in(reg32) y,
                options(nostack));
        }
    }

    /// Writes the words `4 * quad .. 4 * quad + 4`, in one 128-bit access.
    #[inline(always)]
    pub fn set4(self, quad: u32, [x, y, z, w]: [u32; 4]) {
        // SAFETY: as for `get`; every quad is aligned to 16 bytes.
        unsafe {
            asm!("st.global.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg64) self.quad(quad),
                in(reg32) x, in(reg32) y, in(reg32) z, in(reg32) w, options(nostack));
        }
    }

    /// Writes `value` at `word`, in threads for which `writes` holds.
    #[inline(always)]
    pub fn set_if(self, writes: bool, word: u32, value: u32) {
        // SAFETY: as for `get`.
        unsafe {
            asm!(
                "{{",
                ".reg .pred p;",
                "setp.ne.u32 p, {writes}, 0;",
                "@p st.relaxed.gpu.global.u32 [{address}], {value};",
                "}}",
                writes = in(reg32) u32::from(writes),
                address = in(reg64) self.word(word),
                value = in(reg32) value,
                options(nostack),
            );
        }
    }
}

/// Orders what this thread did and saw before what it writes, for every thread of the device that acquires that
/// (`fence.acq_rel.gpu`).
#[inline(always)]
pub fn fence_device() {
    // SAFETY: orders accesses and makes none.
    unsafe { asm!("fence.acq_rel.gpu;", options(nostack)) }
}

/// What block `block` of `blocks` adds to a word at which they meet: together they add 2^31.
#[inline(always)]
fn share(block: u32, blocks: u32) -> u32 {
    match block {
        0 => (1 << 31) - (blocks - 1),
        _ => 1,
    }
}

/// A barrier of all blocks of a grid, every one of which is resident: a word of scratch memory of its own, which is
/// the same after 2^31 more or less, so that no launch has to reset it.
#[derive(Clone, Copy)]
pub struct GridBarrier {
    address: u64,
    before: u32,
}

impl GridBarrier {
    /// Arrives for block `block` of `blocks` at the barrier at `word`: the thread of the block for which `arrives`
    /// holds, which alone may wait. Makes what it did and saw visible to those that wait.
    #[inline(always)]
    pub fn arrive(arrives: bool, scratch: Scratch, word: u32, block: u32, blocks: u32) -> Self {
        let add = share(block, blocks);
        let address = scratch.word(word);
        let before;
        // SAFETY: as for `Scratch::get`.
        unsafe {
            asm!(
                "{{",
                ".reg .pred p;",
                "setp.ne.u32 p, {arrives}, 0;",
                "mov.u32 {before}, 0;",
                "@p atom.add.acq_rel.gpu.global.u32 {before}, [{address}], {add};",
                "}}",
                arrives = in(reg32) u32::from(arrives),
                before = out(reg32) before,
                address = in(reg64) address,
                add = in(reg32) add,
                options(nostack),
            );
        }
        Self { address, before }
    }

    /// Waits until every block has arrived.
    #[inline(always)]
    pub fn wait(self) {
        loop {
            let now: u32;
            // SAFETY: as for `Scratch::get`.
            unsafe {
                asm!("ld.acquire.gpu.global.u32 {}, [{}];", out(reg32) now, in(reg64) self.address,
                    options(nostack));
            }
            if (now ^ self.before) >> 31 != 0 {
                return;
            }
        }
    }
}

/// A word of scratch memory at which each of some blocks arrives once a launch, and which tells others when all have. Its
/// highest bit, the phase, is another after every launch, so that no launch has to reset it.
#[derive(Clone, Copy)]
pub struct Meeting {
    scratch: Scratch,
    word: u32,
}

impl Meeting {
    /// The one at word `word` of `scratch`.
    #[inline(always)]
    pub fn at(scratch: Scratch, word: u32) -> Self {
        Self { scratch, word }
    }

    /// The word as it is before the launch, where this block has not arrived. Its highest bit is the phase.
    #[inline(always)]
    pub fn before(self) -> u32 {
        self.scratch.get(self.word)
    }

    /// Arrives for block `block` of `blocks`. What the thread did and saw before a [`fence_device`] before that is visible to
    /// those that waited.
    #[inline(always)]
    pub fn arrive(self, block: u32, blocks: u32) {
        let add = share(block, blocks);
        // SAFETY: as for `Scratch::get`.
        unsafe {
            asm!("red.relaxed.gpu.global.add.u32 [{}], {};", in(reg64) self.scratch.word(self.word),
                in(reg32) add, options(nostack));
        }
    }

    /// Waits until all blocks have arrived, where the word, or that of another meeting of as many launches, was `before`.
    #[inline(always)]
    pub fn wait(self, before: u32) {
        while (self.scratch.acquire(self.word) ^ before) >> 31 == 0 {}
    }
}
