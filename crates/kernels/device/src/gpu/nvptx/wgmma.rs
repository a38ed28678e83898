//! Tensor-core products of a warpgroup (`wgmma`, compute capability 9.0 alone): four warps, of which the first
//! is a multiple of four, multiply 64 rows, asynchronously.
//!
//! The order is [`Accumulators::fence`], any number of [`Accumulators::multiply`], [`Accumulators::commit`],
//! [`Accumulators::wait`]. In between neither the accumulators nor the pairs of a may be touched, which is why
//! fence and wait name them: so the compiler moves no access past either. ptxas does not know that products still
//! read the pairs once it has seen the last of them: it gives their registers to values that are made before the
//! wait. So pairs for the next products are made after it.

use crate::gpu::Shared;
use core::arch::asm;

/// Sums of 64 rows by `2 R` columns over a warpgroup. Warp w of it has the rows 16w to 16w+15; with g the lane
/// divided by four and t the remainder, value 4j + 2h + i is row g + 8h, column 8j + 2t + i.
#[derive(Clone, Copy)]
pub struct Accumulators<const R: usize>(pub [f32; R]);

/// The pairs of a for `STEPS` steps of 16 along K, as for [`mma_f16`](crate::gpu::mma_f16), row 0 being the
/// warp's first.
pub type Pairs<const STEPS: usize> = [[u32; 4]; STEPS];

/// Where b lies in shared memory: `columns` rows of 64 binary16 values each, K along a row, in the order of the
/// 128-byte swizzle: the quad c of row r stands at `8 r + (c ^ (r % 8))`.
#[derive(Clone, Copy)]
pub struct Columns(u64);

impl Columns {
    /// b from the quad `quad` of `array` on, a multiple of 64; the array is aligned to 1024 bytes.
    #[inline(always)]
    pub fn swizzled<const N: usize>(array: Shared<u32, N>, quad: u32) -> Self {
        /// The 128-byte swizzle.
        const LAYOUT: u64 = 1 << 62;
        /// 1024 bytes from eight rows to the next eight.
        const STRIDE: u64 = (1024 >> 4) << 32;
        /// From one 128 bytes of K to the next: there is one.
        const LEADING: u64 = 1 << 16;
        let address = (array.address() + 16 * quad) >> 4 & 0x3fff;
        Self(LAYOUT | STRIDE | LEADING | u64::from(address))
    }

    /// The same columns, `steps` steps of 16 further along K: 32 bytes each.
    #[inline(always)]
    pub fn along_k(self, steps: u32) -> Self {
        Self(self.0 + u64::from(2 * steps))
    }

    /// What lies `quads` quads further, in the same array.
    #[inline(always)]
    pub fn after(self, quads: u32) -> Self {
        Self(self.0 + u64::from(quads))
    }
}

/// Names every operand that holds pairs, in a comment of the assembly.
macro_rules! names_of_pairs {
    () => {
        "{p0} {p1} {p2} {p3} {p4} {p5} {p6} {p7} {p8} {p9} {p10} {p11} {p12} {p13} {p14} {p15} \
         {q0} {q1} {q2} {q3} {q4} {q5} {q6} {q7} {q8} {q9} {q10} {q11} {q12} {q13} {q14} {q15}"
    };
}

macro_rules! accumulators {
    ($shape:literal, $registers:literal: 0 $($i:literal)*) => {
        impl Accumulators<$registers> {
            /// All zero.
            pub const ZERO: Self = Self([0.0; $registers]);

            /// Orders what was written into the pairs before the products that follow.
            #[inline(always)]
            pub fn fence(&mut self, pairs: &mut [&mut Pairs<4>; 2]) {
                let d = &mut self.0;
                let [p, q] = pairs;
                // SAFETY: registers only; whole warpgroups reach it together.
                unsafe {
                    asm!(
                        concat!("wgmma.fence.sync.aligned; // {0}", $(" {", $i, "}",)* " ", names_of_pairs!()),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)*
                        p0 = inout(reg32) p[0][0], p1 = inout(reg32) p[0][1],
                        p2 = inout(reg32) p[0][2], p3 = inout(reg32) p[0][3],
                        p4 = inout(reg32) p[1][0], p5 = inout(reg32) p[1][1],
                        p6 = inout(reg32) p[1][2], p7 = inout(reg32) p[1][3],
                        p8 = inout(reg32) p[2][0], p9 = inout(reg32) p[2][1],
                        p10 = inout(reg32) p[2][2], p11 = inout(reg32) p[2][3],
                        p12 = inout(reg32) p[3][0], p13 = inout(reg32) p[3][1],
                        p14 = inout(reg32) p[3][2], p15 = inout(reg32) p[3][3],
                        q0 = inout(reg32) q[0][0], q1 = inout(reg32) q[0][1],
                        q2 = inout(reg32) q[0][2], q3 = inout(reg32) q[0][3],
                        q4 = inout(reg32) q[1][0], q5 = inout(reg32) q[1][1],
                        q6 = inout(reg32) q[1][2], q7 = inout(reg32) q[1][3],
                        q8 = inout(reg32) q[2][0], q9 = inout(reg32) q[2][1],
                        q10 = inout(reg32) q[2][2], q11 = inout(reg32) q[2][3],
                        q12 = inout(reg32) q[3][0], q13 = inout(reg32) q[3][1],
                        q14 = inout(reg32) q[3][2], q15 = inout(reg32) q[3][3],
                        options(nostack),
                    );
                }
            }

            /// Starts `self = a b`, or with `SUM` `self += a b`, for 16 steps along K.
            #[inline(always)]
            pub fn multiply<const SUM: bool>(&mut self, a: [u32; 4], b: Columns) {
                let d = &mut self.0;
                // SAFETY: reads shared memory that `b` names; whole warpgroups reach it together.
                unsafe {
                    asm!(
                        concat!(
                            "wgmma.mma_async.sync.aligned.", $shape, "k16.f32.f16.f16 {{",
                            "{0}", $(",{", $i, "}",)*
                            "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, {sum}, 1, 1, 0;"
                        ),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)*
                        a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                        b = in(reg64) b.0,
                        sum = const SUM as u32,
                        options(nostack),
                    );
                }
            }

            /// As [`multiply`](Self::multiply), with the 64 rows of a in shared memory, in the same order as b.
            #[inline(always)]
            pub fn multiply_shared<const SUM: bool>(&mut self, a: Columns, b: Columns) {
                let d = &mut self.0;
                // SAFETY: reads shared memory that `a` and `b` name; whole warpgroups reach it together.
                unsafe {
                    asm!(
                        concat!(
                            "wgmma.mma_async.sync.aligned.", $shape, "k16.f32.f16.f16 {{",
                            "{0}", $(",{", $i, "}",)*
                            "}}, {a}, {b}, {sum}, 1, 1, 0, 0;"
                        ),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)*
                        a = in(reg64) a.0,
                        b = in(reg64) b.0,
                        sum = const SUM as u32,
                        options(nostack),
                    );
                }
            }

            /// Orders what was done with `self` before the products that follow, which take a from shared memory.
            #[inline(always)]
            pub fn fence_shared(&mut self) {
                let d = &mut self.0;
                // SAFETY: registers only; whole warpgroups reach it together.
                unsafe {
                    asm!(concat!("wgmma.fence.sync.aligned; // {0}", $(" {", $i, "}",)*),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)* options(nostack));
                }
            }

            /// Waits until all groups of products but the last `LEFT` are done, of which one wrote `self`; none read
            /// pairs.
            #[inline(always)]
            pub fn wait_shared<const LEFT: u32>(&mut self) {
                let d = &mut self.0;
                // SAFETY: registers only; whole warpgroups reach it together.
                unsafe {
                    asm!(concat!("wgmma.wait_group.sync.aligned {left}; // {0}", $(" {", $i, "}",)*),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)* left = const LEFT, options(nostack));
                }
            }

            /// Adds every value to that of `sums`.
            #[inline(always)]
            pub fn add_to(&self, sums: &mut [f32; $registers]) {
                sums[0] += self.0[0];
                $(sums[$i] += self.0[$i];)*
            }

            /// Closes the group of the products started so far.
            #[inline(always)]
            pub fn commit(&mut self) {
                // SAFETY: registers only; whole warpgroups reach it together.
                unsafe { asm!("wgmma.commit_group.sync.aligned;", options(nostack)) }
            }

            /// Waits until all products are done, which read the pairs and wrote `self`.
            #[inline(always)]
            pub fn wait(&mut self, pairs: &mut [&mut Pairs<4>; 2]) {
                let d = &mut self.0;
                let [p, q] = pairs;
                // SAFETY: registers only; whole warpgroups reach it together.
                unsafe {
                    asm!(
                        concat!("wgmma.wait_group.sync.aligned 0; // {0}", $(" {", $i, "}",)* " ", names_of_pairs!()),
                        inout(reg32) d[0], $(inout(reg32) d[$i],)*
                        p0 = in(reg32) p[0][0], p1 = in(reg32) p[0][1],
                        p2 = in(reg32) p[0][2], p3 = in(reg32) p[0][3],
                        p4 = in(reg32) p[1][0], p5 = in(reg32) p[1][1],
                        p6 = in(reg32) p[1][2], p7 = in(reg32) p[1][3],
                        p8 = in(reg32) p[2][0], p9 = in(reg32) p[2][1],
                        p10 = in(reg32) p[2][2], p11 = in(reg32) p[2][3],
                        p12 = in(reg32) p[3][0], p13 = in(reg32) p[3][1],
                        p14 = in(reg32) p[3][2], p15 = in(reg32) p[3][3],
                        q0 = in(reg32) q[0][0], q1 = in(reg32) q[0][1],
                        q2 = in(reg32) q[0][2], q3 = in(reg32) q[0][3],
                        q4 = in(reg32) q[1][0], q5 = in(reg32) q[1][1],
                        q6 = in(reg32) q[1][2], q7 = in(reg32) q[1][3],
                        q8 = in(reg32) q[2][0], q9 = in(reg32) q[2][1],
                        q10 = in(reg32) q[2][2], q11 = in(reg32) q[2][3],
                        q12 = in(reg32) q[3][0], q13 = in(reg32) q[3][1],
                        q14 = in(reg32) q[3][2], q15 = in(reg32) q[3][3],
                        options(nostack),
                    );
                }
            }
        }
    };
}

accumulators!("m64n64", 32: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
accumulators!("m64n128", 64: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);

/// Changes the registers of each thread of this warpgroup to `REGISTERS`, a multiple of 8 and fewer than before
/// (`setmaxnreg.dec`).
#[inline(always)]
pub fn give_registers<const REGISTERS: u32>() {
    // SAFETY: whole warpgroups reach it together.
    unsafe { asm!("setmaxnreg.dec.sync.aligned.u32 {};", const REGISTERS, options(nostack)) }
}

/// Changes the registers of each thread of this warpgroup to `REGISTERS`, a multiple of 8 and more than before;
/// waits until others gave them (`setmaxnreg.inc`).
#[inline(always)]
pub fn take_registers<const REGISTERS: u32>() {
    // SAFETY: whole warpgroups reach it together.
    unsafe { asm!("setmaxnreg.inc.sync.aligned.u32 {};", const REGISTERS, options(nostack)) }
}
