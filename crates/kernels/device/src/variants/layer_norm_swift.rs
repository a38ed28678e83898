//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, scale and
//! shift in shared memory, one reduction.
//!
//! - **Parent**: `layer_norm_shared`. Mean and squares meet in one butterfly, as in `layer_norm_merge`.
//! - **Ownership**: each of the 32 warps of a block owns a row, a lane every 32nd quad of it, six in all.
//! - **Memory**: as its parent; five steps of two shuffles in place of two chains of five.
//! - **Dims**: width 768, rows a multiple of 32.
//! - **Effect**: some 100 clocks less between the last read and the first write of a warp.

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

/// The mean of some elements, and the sum of their squares about it.
#[derive(Clone, Copy)]
struct Part {
    mean: f32,
    squares: f32,
}

impl Part {
    /// Both parts as one; each has `elements` elements.
    fn merge(self, other: Self, elements: f32) -> Self {
        let apart = other.mean - self.mean;
        Self {
            mean: 0.5 * (self.mean + other.mean),
            squares: fma(apart * apart, 0.5 * elements, self.squares + other.squares),
        }
    }

    /// That of the lane whose number differs in the bits of `mask`.
    fn shuffle_xor(self, mask: u32) -> Self {
        Self {
            mean: shuffle_xor(self.mean, mask),
            squares: shuffle_xor(self.squares, mask),
        }
    }
}

/// The sum of six values, as a tree.
fn sum(values: [f32; QUADS]) -> f32 {
    let [a, b, c, d, e, f] = values;
    (a + b) + (c + d) + (e + f)
}

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid rows / 32, block 1024.
    pub fn layer_norm_swift(
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

        let mean = sum(x.map(|x| x.sum())) * (1.0 / (4.0 * QUADS as f32));
        let squares = sum(x.map(|x| x.map(|x| (x - mean) * (x - mean)).sum()));
        let mut part = Part { mean, squares };
        let mut elements = 4.0 * QUADS as f32;
        for mask in [16, 8, 4, 2, 1] {
            part = part.merge(part.shuffle_xor(mask), elements);
            elements *= 2.0;
        }
        let scale = rsqrt(fma(part.squares, 1.0 / WIDTH as f32, EPSILON));

        each::<QUADS>(|i| {
            let (b, c) = (columns.get4(quad(i)).0, columns.get4(WIDTH / 4 + quad(i)).0);
            let x = x[i].0;
            out.set4(row * (WIDTH / 4) + quad(i), F32x4(from_fn(|v| fma((x[v] - part.mean) * scale, b[v], c[v]))));
        });
    }
}
