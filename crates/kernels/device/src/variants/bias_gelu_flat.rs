//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, two quads a
//! thread and one division.
//!
//! - **Parent**: `bias_gelu_two`. The column of the second quad follows from that of the first by subtraction.
//! - **Ownership**: as its parent: a block owns 256 neighbouring quads of the flat output, a thread two of them, 128 apart.
//! - **Memory**: as its parent.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: beside `copy_two`, the fastest of copies, its parent divides twice a thread, some twenty instructions each.
//!   Kernel time falls if half of that counts.

use crate::gpu::{F32x4, In, Out, block_x, exp2, fma, kernel, reciprocal, split, thread_x};
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 128;
/// Quads of a thread.
const QUADS: usize = 2;
/// `-2 sqrt(2 / pi) log2(e)`: the exponent's linear term.
const LINEAR: f32 = -2.302_208_2;
/// `0.044715` times [`LINEAR`]: its cubic term.
const CUBIC: f32 = -0.102_943_24;

/// `0.5 z (1 + tanh u)` is `z / (1 + 2^p)` with `p = -2 u log2(e)`, which neither cancels for negative z nor
/// overflows into NaN.
fn gelu(z: f32) -> f32 {
    let p = z * fma(CUBIC, z * z, LINEAR);
    z * reciprocal(1.0 + exp2(p))
}

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid ceil(rows * width / 1024), block 128.
    pub fn bias_gelu_flat(a: In<f32>, b: In<f32>, out: Out<f32>, rows: u32, width: u32) {
        let quads = width / 4;
        let first = block_x() * THREADS * QUADS as u32 + thread_x();
        let quad: [u32; QUADS] = from_fn(|i| first + i as u32 * THREADS);
        let inside = |i: usize| quad[i] < rows * quads;
        let x: [F32x4; QUADS] = from_fn(|i| a.get4_if(inside(i), quad[i]));
        let mut column = split(first, quads).1;
        let near = b.get4_fixed(column);
        column += THREADS;
        while column >= quads {
            column -= quads;
        }
        let bias = [near, b.get4_fixed(column)];
        for i in 0..QUADS {
            if inside(i) {
                out.set4(quad[i], F32x4(from_fn(|v| gelu(x[i].0[v] + bias[i].0[v]))));
            }
        }
    }
}
