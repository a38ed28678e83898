//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, scale and
//! shift in shared memory.
//!
//! - **Parent**: `layer_norm_wide`. A block copies scale and shift to shared memory first; dims are known, as in
//!   `layer_norm_exact`.
//! - **Ownership**: each of the 32 warps of a block owns a row, a lane every 32nd quad of it, six in all.
//! - **Memory**: 6 KiB of scale and shift a block by asynchronous copies, asked for before x; six 128-bit reads of x in
//!   flight a lane; twelve 128-bit reads of shared memory. One barrier, passed before x arrives.
//! - **Dims**: width 768, rows a multiple of 32.
//! - **Effect**: L1 answers in order, so that a warp whose row has arrived waits for the rows of all others when it then
//!   reads scale and shift through it; from shared memory it does not, and writes overlap reads.

use crate::gpu::{
    F32x4, In, Out, array, barrier, block_x, close_copies, each, fma, kernel, rsqrt, shared,
    shuffle_xor, thread_x, wait_for_copies, warp_barrier,
};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Threads of a block.
const THREADS: u32 = 1024;
/// Elements of a row.
const WIDTH: u32 = 768;
/// Quads that a lane holds.
const QUADS: usize = (WIDTH / 4 / LANES) as usize;
/// Added to the variance.
const EPSILON: f32 = 1e-5;

shared! {
    /// Scale, then shift.
    fn columns() -> Shared<f32, 1536>;
}

/// The sum of `value` over the warp, in every lane.
fn warp_sum(value: f32) -> f32 {
    [16, 8, 4, 2, 1]
        .into_iter()
        .fold(value, |sum, mask| sum + shuffle_xor(sum, mask))
}

/// The sum of six values, as a tree.
fn sum(values: [f32; QUADS]) -> f32 {
    let [a, b, c, d, e, f] = values;
    (a + b) + (c + d) + (e + f)
}

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid rows / 32, block 1024.
    pub fn layer_norm_shared(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, _rows: u32, _width: u32,
    ) {
        let columns = columns();
        let (thread, lane) = (thread_x(), thread_x() % LANES);
        let row = block_x() * (THREADS / LANES) + thread / LANES;
        let quad = |i: usize| i as u32 * LANES + lane;
        if thread < WIDTH / 4 {
            columns.start_copy4(thread, b, thread);
        } else if thread < WIDTH / 2 {
            columns.start_copy4(thread, c, thread - WIDTH / 4);
        }
        close_copies();
        warp_barrier();
        let x: [F32x4; QUADS] = array(|i| a.get4(row * (WIDTH / 4) + quad(i)));
        warp_barrier(); // else the driver's compiler asks for x only after the copies have arrived
        wait_for_copies::<0>();
        barrier();

        let mean = warp_sum(sum(x.map(|x| x.sum()))) * (1.0 / WIDTH as f32);
        let x = x.map(|x| x.map(|x| x - mean));
        let squares = x.map(|x| x.map(|x| x * x).sum());
        let scale = rsqrt(fma(warp_sum(sum(squares)), 1.0 / WIDTH as f32, EPSILON));

        each::<QUADS>(|i| {
            let (b, c) = (columns.get4(quad(i)).0, columns.get4(WIDTH / 4 + quad(i)).0);
            let x = x[i].0;
            out.set4(row * (WIDTH / 4) + quad(i), F32x4(from_fn(|v| fma(x[v] * scale, b[v], c[v]))));
        });
    }
}
