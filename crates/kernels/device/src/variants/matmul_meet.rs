//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, in one launch, whose blocks split A and B among themselves and meet.
//!
//! - **Parent**: `matmul_narrow`. There a launch of its own split A and B. Here the blocks that multiply do, with four
//!   warpgroups each, and those that need each other's halves meet ([`shares`](crate::parts::shares)).
//! - **Ownership**: of C as the parent. Four warpgroups split; then two multiply, and a warp of the third starts the copies.
//! - **Memory**: as the parent; in scratch memory a flag a block in place of one a part, and words to meet at.
//! - **Dims**: m and n multiples of 128 up to 1024, so that every block is resident, k of 64.
//! - **Accuracy**: as the parent; segments of A are four steps of a row.
//! - **Effect**: kernel time falls by what a launch takes to start and end, less what it takes until all blocks of a row and of a
//!   column know that the halves are stored: a twentieth.

use crate::gpu::{
    In, Out, Scratch, barrier_or, block_x, block_y, elected, give_registers, group_arrive,
    group_barrier, kernel, shared, take_registers, thread_x, uniform, warp_barrier,
};
use crate::parts::full_range::matmul_tile;
use crate::parts::halves::PART;
use crate::parts::shares::Shares;
use crate::parts::turns::{
    COLUMNS, Copies, OTHERS, OUTSIDE, ROWS, WORDS, leave, multiply, prepare, write,
};

/// The barrier at which those that multiply meet, and the warp that knows whether a value lies outside the domain.
const MULTIPLIED: u32 = 1;

shared! {
    /// What the kernel shares.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (n/128, m/64), block 512.
    pub fn matmul_meet(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let words = shared_words();
        let thread = thread_x();
        let part = uniform(thread / 128);
        let shares = Shares::new(scratch, [m, n, k], block_y(), block_x());
        let fits = shares.split(part, [a, b], [n, k]);
        if thread == OTHERS {
            prepare(words);
        }
        let outside = barrier_or(!fits);
        // Asked for again, lest the compiler give each warpgroup a barrier of its own.
        let part = uniform(thread / 128);
        if part == 3 {
            give_registers::<24>();
        } else if part == 2 {
            give_registers::<56>();
            if uniform(thread / 32) == OTHERS / 32 {
                if elected() {
                    shares.meet(outside);
                    let (mut of_a, mut of_b) = (shares.quad_of_a(0), shares.quad_of_b(0));
                    let mut copies = Copies::FIRST;
                    for _ in 0..shares.parts() {
                        copies.start(words, scratch, of_a, of_b);
                        (of_a, of_b) = (of_a + PART, of_b + PART);
                    }
                }
                warp_barrier();
                if shares.any_outside(thread % 32) {
                    words.set(OUTSIDE, 1);
                }
                warp_barrier();
                group_arrive::<MULTIPLIED, { OTHERS + 32 }>();
            }
        } else {
            take_registers::<160>();
            // Of a number that the compiler knows to be below 2 it makes an index, of the sums an array in memory.
            let part = uniform(part);
            let mine = leave(words, part, multiply::<true, WORDS>(words, shares.parts() / 2, part));
            group_barrier::<MULTIPLIED, { OTHERS + 32 }>();
            let (row, column) = (ROWS * block_y(), COLUMNS * block_x());
            if words.get(OUTSIDE) == 0 {
                write(words, part, mine, out, row, column, n);
            } else {
                matmul_tile::<COLUMNS>(thread, a, b, out, row, column, n, k);
            }
        }
    }
}
