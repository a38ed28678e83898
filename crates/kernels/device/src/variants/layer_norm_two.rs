//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, a thread the same
//! quad of two rows.
//!
//! - **Parent**: `layer_norm_four`. A block owns two rows in place of four.
//! - **Ownership**: a thread owns one quad of columns of two rows; 192 threads are a row.
//! - **Memory**: two 128-bit reads of x a thread in flight; scale and shift as its parent, for two rows in place of
//!   four; 10 shuffles to find the parts and 4 to pass on what they give.
//! - **Dims**: width 768, even rows.
//! - **Effect**: 2048 blocks, of which 1188 or more run at once: the finest grain of reads and writes whose rows share reads of
//!   scale and shift. Kernel time falls if the grain counts, and rises if L1 or the launch of blocks does.

use crate::gpu::{
    F32x4, In, Out, barrier, block_x, close_copies, fma, kernel, rsqrt, shared, shuffle,
    shuffle_xor, thread_x, wait_for_copies, warp_barrier,
};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Warps of a block.
const WARPS: usize = 6;
/// Rows of a block.
const ROWS: usize = 2;
/// Lanes of a warp that have the same row once it has shared out the rows.
const SHARE: u32 = LANES / ROWS as u32;
/// Elements of a row.
const WIDTH: u32 = 768;
/// Added to the variance.
const EPSILON: f32 = 1e-5;

shared! {
    /// Mean and squares of each row in each warp, in pairs: rows of 8 pairs, of which six are used.
    fn parts() -> Shared<f32, 32>;
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

/// `N` rows of a lane become `N / 2` = `HALF` of it and the lane `mask` away: the upper lane keeps the upper half.
fn halve<const N: usize, const HALF: usize>(
    rows: [Part; N],
    mask: u32,
    elements: f32,
) -> [Part; HALF] {
    let upper = thread_x() & mask != 0;
    from_fn(|i| {
        let (low, high) = (rows[i], rows[i + HALF]);
        let (keep, send) = if upper { (high, low) } else { (low, high) };
        keep.merge(send.shuffle_xor(mask), elements)
    })
}

/// Mean of a row and factor of its distances from it, from the parts that its warps found.
fn finish(parts: [Part; WARPS]) -> [f32; 2] {
    let [a, b, c, d, e, f] = parts.map(|part| part.mean);
    let mean = ((a + b) + (c + d) + (e + f)) * (1.0 / WARPS as f32);
    let squares =
        parts.map(|part| fma((part.mean - mean) * (part.mean - mean), 128.0, part.squares));
    let [a, b, c, d, e, f] = squares;
    let variance = ((a + b) + (c + d) + (e + f)) * (1.0 / WIDTH as f32);
    [mean, rsqrt(variance + EPSILON)]
}

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid rows / 2, block 192.
    pub fn layer_norm_two(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, _rows: u32, _width: u32,
    ) {
        let (parts, columns) = (parts(), columns());
        let thread = thread_x();
        let quad = |row: usize| (block_x() * ROWS as u32 + row as u32) * (WIDTH / 4) + thread;
        columns.start_copy4_cached(thread, b, thread);
        columns.start_copy4_cached(WIDTH / 4 + thread, c, thread);
        close_copies();
        warp_barrier();
        let x: [F32x4; ROWS] = from_fn(|row| a.get4(quad(row)));
        warp_barrier(); // else the driver's compiler asks for some of this later

        let lane_parts: [Part; ROWS] = from_fn(|row| {
            let mean = 0.25 * x[row].sum();
            let [p, q, r, s] = x[row].0.map(|x| (x - mean) * (x - mean));
            Part { mean, squares: (p + q) + (r + s) }
        });
        let [mut part]: [Part; 1] = halve(lane_parts, 16, 4.0);
        part = part.merge(part.shuffle_xor(8), 8.0);
        part = part.merge(part.shuffle_xor(4), 16.0);
        part = part.merge(part.shuffle_xor(2), 32.0);
        part = part.merge(part.shuffle_xor(1), 64.0);
        if thread % SHARE == 0 {
            // The bits of the lane above those of a share chose the row.
            parts.set2(thread % LANES / SHARE * 8 + thread / LANES, [part.mean, part.squares]);
        }
        wait_for_copies::<0>();
        barrier();
        // Every warp finishes all rows for itself, a row a share, so that no second barrier is needed.
        let row = thread % LANES / SHARE;
        let [mean, scale] = finish(from_fn(|warp| {
            let [mean, squares] = parts.get2(row * 8 + warp as u32);
            Part { mean, squares }
        }));
        let (b, c) = (columns.get4(thread).0, columns.get4(WIDTH / 4 + thread).0);
        for row in 0..ROWS {
            let lane = row as u32 * SHARE;
            let (mean, scale) = (shuffle(mean, lane), shuffle(scale, lane));
            let x = x[row].0;
            out.set4(quad(row), F32x4(from_fn(|v| fma((x[v] - mean) * scale, b[v], c[v]))));
        }
    }
}
