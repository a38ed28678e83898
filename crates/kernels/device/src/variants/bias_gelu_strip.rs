//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, a row
//! in blocks of 96 threads.
//!
//! - **Parent**: `bias_gelu_row`. A block has 96 threads in place of 192, a thread two quads of the row in place of one.
//! - **Ownership**: thread x of block (i, j) owns quads `192 i + x` and 96 further of row j.
//! - **Memory**: two 128-bit reads of x in flight, two of the bias, two 128-bit writes; no shared memory, no barrier.
//! - **Dims**: width a multiple of 4; any rows.
//! - **Effect**: a block reads and writes 3 KiB without a gap, as that of the fastest copy (`copy_two`) does 4 KiB, for as
//!   many reads of the bias as of x. Kernel time says what neighbouring addresses count beside `bias_gelu_slab`.

use crate::gpu::{
    F32x4, In, Out, array, block_x, block_y, each, exp2, fma, kernel, reciprocal, thread_x,
};
use core::array::from_fn;

/// Threads of a block.
const THREADS: u32 = 96;
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
    /// a (rows,width), b (width), out (rows,width). Grid (ceil(width / 768), rows), block 96.
    pub fn bias_gelu_strip(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, width: u32) {
        let quads = width / 4;
        let column = |i: usize| (block_x() * QUADS as u32 + i as u32) * THREADS + thread_x();
        let quad = |i: usize| block_y() * quads + column(i);
        let x: [F32x4; QUADS] = array(|i| a.get4_if(column(i) < quads, quad(i)));
        let bias: [F32x4; QUADS] = array(|i| b.get4_if(column(i) < quads, column(i)));
        each::<QUADS>(|i| {
            if column(i) < quads {
                out.set4(quad(i), F32x4(from_fn(|v| gelu(x[i].0[v] + bias[i].0[v]))));
            }
        });
    }
}
