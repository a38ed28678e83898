//! The twin of `matmul_narrow` that computes: the same products, sums and writes, and no copies.
//!
//! - **Parent**: `matmul_narrow`. The stages hold what they happen to hold, and there is no launch before.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent, without the copies to shared memory.
//! - **Dims**: m and n multiples of 128, k of 64.
//! - **Effect**: its kernel time is the least that the products of halves allow, in the order that they have.

use crate::gpu::{In, Out, barrier, block_x, block_y, kernel, shared, thread_x, uniform};
use crate::parts::halves::STEPS;
use crate::parts::turns::{COLUMNS, ROWS, WORDS, leave, multiply, write};

shared! {
    /// What the kernel shares.
    dynamic fn shared_words() -> Shared<u32, WORDS>, aligned 1024;
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (n/128, m/64), block 256.
    pub fn multiply_halves(_a: In<f32>, _b: In<f32>, out: Out<f32>, _m: u32, n: u32, k: u32) {
        let words = shared_words();
        let part = uniform(thread_x() / 128);
        let sums = multiply::<false, WORDS>(words, k / STEPS / 2, part);
        let mine = leave(words, part, sums);
        barrier();
        write(words, part, mine, out, ROWS * block_y(), COLUMNS * block_x(), n);
    }
}
