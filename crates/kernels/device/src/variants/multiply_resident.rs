//! A twin that computes and moves next to nothing: fused multiply-adds on registers, as many as the pipes take.
//!
//! - **Parent**: `bias_gelu`. Its arguments; the output is x after 16384 steps of `x * b0 + b1`.
//! - **Ownership**: a block of 192 threads owns a row, a thread one quad of it.
//! - **Memory**: one 128-bit read and one 128-bit write a thread; all else stays in registers.
//! - **Dims**: width 768; any rows.
//! - **Effect**: its rate of operations is the most that FP32 arithmetic gives on the device.

use crate::gpu::{F32x4, In, Out, block_x, each, fma, kernel, thread_x};

/// Threads of a block, a quad of the row each.
const THREADS: u32 = 192;
/// Rounds of 256 multiply-adds, of which four at a time depend on nothing but those before.
const ROUNDS: u32 = 64;

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows, block 192.
    pub fn multiply_resident(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, _width: u32) {
        let quad = block_x() * THREADS + thread_x();
        let (factor, term) = (b.get(0), b.get(1));
        let mut x = a.get4_fixed(quad).0;
        for _ in 0..ROUNDS {
            each::<16>(|_| {
                each::<4>(|_| x = x.map(|v| fma(v, factor, term)));
            });
        }
        out.set4(quad, F32x4(x));
    }
}
