//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, in two launches, with all of K in a block.
//!
//! - **Parent**: `matmul_two_pass`. There two blocks had a tile of C and sent each other sums, and stored pairs of outputs. Here a
//!   block has half a tile and all of K, two warpgroups take its stages in turn, and quads of outputs are stored. The second
//!   launch begins when the blocks of the first have ended, and waits by itself until what they wrote is there.
//! - **Ownership**: the first launch as the parent's. In the second a block owns 64 x 128 of C; warpgroup w multiplies the
//!   stages 2i + w, and in the end owns the columns from 64 w on; one more warp starts the copies.
//! - **Memory**: eight stages of 32 steps along K, 24576 bytes each, with a barrier each for full and for empty; 32768 bytes
//!   more for the sums of the other warpgroup. Scratch memory as the parent.
//! - **Dims**: m and n multiples of 128, k of 64.
//! - **Accuracy**: as the parent, with every second part of all of K in a sum in place of half of K. Tensor cores truncate
//!   what they add to a sum, so that its error grows with k.
//! - **Effect**: no cluster to set up, no sums between multiprocessors and fewer stores, for half as much again to copy: kernel
//!   time falls by a twentieth, and the span of a call by most of what lies between two launches.

use crate::gpu::{
    In, Out, Scratch, barrier, block_x, block_y, block_z, each, fence_async_global, kernel, shared,
    thread_x, uniform, wait_for_prerequisites, warp_barrier,
};
use crate::parts::full_range::matmul_tile;
use crate::parts::halves::{Halves, PANEL, PART, split_part};
use crate::parts::turns::{
    COLUMNS, Copies, OTHERS, OUTSIDE, PART_A, ROWS, STAGES, WORDS, leave, multiply, prepare, write,
};

shared! {
    /// What the kernel shares.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

kernel! {
    /// Splits A and B. Grid (k/32, m/128 or n/128, 2), block 256; arguments as for the launch after it.
    pub fn matmul_narrow_first(
        a: In<f32>, b: In<f32>, _out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let panels = if block_z() == 0 { m / PANEL } else { n / PANEL };
        if block_y() < panels {
            split_part(Halves::new(scratch, m, n, k), a, b, n, k);
        }
    }
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (n/128, m/64), block 288.
    pub fn matmul_narrow(
        a: In<f32>, b: In<f32>, out: Out<f32>, m: u32, n: u32, k: u32, scratch: Scratch,
    ) {
        let words = shared_words();
        let thread = thread_x();
        let (panel_a, half, panel_b) = (block_y() / 2, block_y() % 2, block_x());
        let halves = Halves::new(scratch, m, n, k);
        let (first_a, first_b) = (halves.of_a(panel_a), halves.of_b(panel_b));
        let steps = halves.parts();
        let start = |copies: &mut Copies, step: u32| {
            let (part_a, part_b) = (PART * (first_a + step) + PART_A * half, PART * (first_b + step));
            copies.start(words, scratch, part_a, part_b);
        };
        if thread == OTHERS {
            prepare(words);
            wait_for_prerequisites();
            fence_async_global();
            let mut copies = Copies::FIRST;
            each::<{ STAGES as usize }>(|step| {
                if (step as u32) < steps {
                    start(&mut copies, step as u32);
                }
            });
        }
        barrier();

        let part = uniform(thread / 128);
        let mut mine = [0.0; 32];
        if thread >= OTHERS {
            let lane = thread % 32;
            if lane == 0 {
                let mut copies = Copies::AGAIN;
                for step in STAGES..steps {
                    start(&mut copies, step);
                }
            }
            warp_barrier();
            let outside =
                halves.any_outside(first_a, lane) | halves.any_outside(first_b, lane);
            if outside & (lane == 0) {
                words.set(OUTSIDE, 1);
            }
        } else {
            mine = leave(words, part, multiply::<true, WORDS>(words, steps / 2, part));
        }
        barrier();
        // Asked for again, lest the compiler give those that multiply and the others a barrier each.
        if uniform(thread / 128) == OTHERS / 128 {
            return;
        }
        let (row, column) = (ROWS * block_y(), COLUMNS * panel_b);
        if words.get(OUTSIDE) != 0 {
            matmul_tile::<COLUMNS>(thread, a, b, out, row, column, n, k);
            return;
        }
        write(words, part, mine, out, row, column, n);
    }
}
