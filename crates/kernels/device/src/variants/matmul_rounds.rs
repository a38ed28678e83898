//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, in one launch whose blocks split while they multiply.
//!
//! - **Parent**: `matmul_narrow`. There a launch of its own split A and B, and the tensor cores began when all of it had ended.
//!   Here the blocks that multiply split, round by round ([`rounds`](crate::parts::rounds)), and begin with the first round;
//!   two warps split the others meanwhile.
//! - **Ownership**: of C as the parent. The warpgroups that multiply split the first round; then one more warp starts the
//!   copies, one tells other blocks of rounds, and two split.
//! - **Memory**: as the parent, with three barriers more; in scratch memory words to meet at, and a flag a block in place of
//!   one a part.
//! - **Dims**: m and n multiples of 128 up to 1024, so that every block is resident, k of 64.
//! - **Accuracy**: as the parent; segments of A are four steps of a row.
//! - **Effect**: no launch before, and a quarter of the splitting ahead of the first products at 1024 x 1024 x 1024, for a
//!   meeting of blocks: kernel time should fall by a twentieth, and the span of a call by a launch.

use crate::gpu::{
    In, Mbarrier, Out, Scratch, barrier, block_x, block_y, fence_async_global, kernel, shared,
    thread_x, uniform, warp_barrier,
};
use crate::parts::full_range::matmul_tile;
use crate::parts::rounds::{Progress, Rounds};
use crate::parts::turns::{
    self, COLUMNS, Copies, OTHERS, OUTSIDE, ROWS, leave, multiply, prepare, write,
};

/// The word after those of the turns, where the barriers of rounds are.
const BARRIERS: u32 = turns::WORDS as u32;
/// The word that is not zero if the block split a value outside the domain, after three barriers.
const SPLIT_OUTSIDE: u32 = BARRIERS + 6;
/// The word with the phase before the launch.
const PHASE: u32 = SPLIT_OUTSIDE + 1;
/// Words of shared memory.
const WORDS: usize = PHASE as usize + 1;

shared! {
    /// What the kernel shares.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (n/128, m/64), block 384.
    pub fn matmul_rounds(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let words = shared_words();
        let thread = thread_x();
        let rounds = Rounds::new(scratch, [m, n, k], block_y(), block_x());
        let [first, others, told] = [0, 1, 2].map(|i| Mbarrier::at(words, BARRIERS / 2 + i));
        let progress = Progress { words, outside: SPLIT_OUTSIDE, first, others, told };
        if thread == OTHERS {
            words.set(PHASE, rounds.phase());
            progress.prepare();
            prepare(words);
        }
        barrier();

        // Of the warp the compiler knows less than of the thread: else it gives some threads the barrier twice.
        let (warp, lane) = (uniform(thread / 32), thread % 32);
        let part = uniform(thread / 128);
        let mut mine = [0.0; 32];
        if warp >= OTHERS / 32 {
            if (warp == OTHERS / 32) & (lane == 0) {
                let (phase, mut seen) = (words.get(PHASE), [0, 0]);
                let mut copies = Copies::FIRST;
                for step in 0..rounds.parts() {
                    if rounds.wait(step, phase, &mut seen) {
                        fence_async_global();
                    }
                    copies.start(words, scratch, rounds.quad_of_a(step), rounds.quad_of_b(step));
                }
                rounds.wait_for_all(phase);
            }
            if (warp == OTHERS / 32 + 1) & (lane == 0) {
                rounds.tell(progress);
            }
            if warp >= OTHERS / 32 + 2 {
                rounds.split_others(progress, thread - OTHERS - 64, a, b, n, k);
            }
            warp_barrier();
            if warp == OTHERS / 32 && rounds.any_outside(lane) {
                words.set(OUTSIDE, 1);
            }
        } else {
            rounds.split_first(progress, a, b, n, k);
            mine = leave(words, part, multiply(words, rounds.parts() / 2, part));
        }
        barrier();
        if warp >= OTHERS / 32 {
            return;
        }
        let (row, column) = (ROWS * block_y(), COLUMNS * block_x());
        if words.get(OUTSIDE) != 0 {
            matmul_tile::<COLUMNS>(thread, a, b, out, row, column, n, k);
            return;
        }
        write(words, part, mine, out, row, column, n);
    }
}
