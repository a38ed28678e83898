//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, a block a row.
//!
//! - **Parent**: none. The first layer normalisation.
//! - **Ownership**: a block of 256 threads owns a row, a thread every 256th element of it.
//! - **Memory**: three reads of the row (mean, centred variance, result), one write. Each of the two reductions
//!   halves 256 partial sums in 1024 bytes of shared memory, and passes ten barriers: one after the partial
//!   sums are written, one after each of eight halvings, one before the memory is used again.
//! - **Dims**: any rows, width.
//! - **Effect**: one launch; every thread of a block waits at each halving.

use crate::gpu::{In, Out, barrier, block_x, div, fma, kernel, rsqrt, shared, thread_x};

/// Threads of a block.
const THREADS: u32 = 256;
/// Added to the variance.
const EPSILON: f32 = 1e-5;

shared! {
    /// One partial sum a thread.
    fn partial() -> Shared<f32, 256>;
}

/// The sum of the `value` of every thread of the block, in every thread.
fn block_sum(value: f32) -> f32 {
    let partial = partial();
    let thread = thread_x();
    partial.set(thread, value);
    barrier();
    let mut half = THREADS / 2;
    while half > 0 {
        if thread < half {
            partial.set(thread, partial.get(thread) + partial.get(thread + half));
        }
        barrier();
        half /= 2;
    }
    let sum = partial.get(0);
    barrier();
    sum
}

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid rows, block 256.
    pub fn layer_norm(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, _rows: u32, width: u32,
    ) {
        let thread = thread_x();
        let row = block_x() * width;

        let mut sum = 0.0;
        let mut i = thread;
        while i < width {
            sum += a.get(row + i);
            i += THREADS;
        }
        let mean = div(block_sum(sum), width as f32);

        let mut squares = 0.0;
        let mut i = thread;
        while i < width {
            let centred = a.get(row + i) - mean;
            squares = fma(centred, centred, squares);
            i += THREADS;
        }
        let scale = rsqrt(div(block_sum(squares), width as f32) + EPSILON);

        let mut i = thread;
        while i < width {
            out.set(row + i, fma((a.get(row + i) - mean) * scale, b.get(i), c.get(i)));
            i += THREADS;
        }
    }
}
