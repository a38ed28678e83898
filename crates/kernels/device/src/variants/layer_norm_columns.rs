//! Layer normalisation of each row, `(x - mean) / sqrt(variance + 1e-5) * scale + shift`, a thread the same
//! quad of eight rows.
//!
//! - **Parent**: `layer_norm_merge`. A block owns eight rows together in place of a warp one.
//! - **Ownership**: a thread owns one quad of columns of eight rows; 192 threads are a row.
//! - **Memory**: eight 128-bit reads a thread in flight, scale and shift read once for eight rows. A warp halves
//!   the rows that a lane reduces while it halves the lanes: 18 shuffles for eight rows. Six warps meet in 576
//!   bytes of shared memory, and two barriers.
//! - **Dims**: width 768, rows a multiple of 8.
//! - **Effect**: L1 serves an eighth of the reads of scale and shift, against a block that waits for all its rows.

use crate::gpu::{
    F32x4, In, Out, barrier, block_x, fma, kernel, rsqrt, shared, shuffle_xor, thread_x,
};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Warps of a block.
const WARPS: u32 = 6;
/// Rows of a block.
const ROWS: usize = 8;
/// Elements of a row.
const WIDTH: u32 = 768;
/// Added to the variance.
const EPSILON: f32 = 1e-5;

shared! {
    /// Mean and squares of each row in each warp, in pairs: rows of 8 pairs, of which six are used.
    fn parts() -> Shared<f32, 128>;
    /// Mean and factor of each row, in pairs.
    fn rows_of_block() -> Shared<f32, 16>;
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

kernel! {
    /// a (rows,width), b scale (width), c shift (width), out (rows,width). Grid rows / 8, block 192.
    pub fn layer_norm_columns(
        a: In<f32>, b: In<f32>, c: In<f32>, out: Out<f32>, _rows: u32, _width: u32,
    ) {
        let (parts, rows_of_block) = (parts(), rows_of_block());
        let thread = thread_x();
        let quad = |row: usize| (block_x() * ROWS as u32 + row as u32) * (WIDTH / 4) + thread;
        let x: [F32x4; ROWS] = from_fn(|row| a.get4(quad(row)));
        let (b, c) = (b.get4(thread).0, c.get4(thread).0);

        let lane_parts: [Part; ROWS] = from_fn(|row| {
            let mean = 0.25 * x[row].sum();
            let squares = x[row].0.into_iter().fold(0.0, |squares, x| fma(x - mean, x - mean, squares));
            Part { mean, squares }
        });
        let four: [Part; 4] = halve(lane_parts, 16, 4.0);
        let two: [Part; 2] = halve(four, 8, 8.0);
        let [mut part]: [Part; 1] = halve(two, 4, 16.0);
        part = part.merge(part.shuffle_xor(2), 32.0);
        part = part.merge(part.shuffle_xor(1), 64.0);
        if thread % 4 == 0 {
            // Bits 16, 8 and 4 of the lane chose the upper half of eight, four and two rows.
            let row = thread % LANES / 4;
            parts.set(row * 16 + thread / LANES * 2, part.mean);
            parts.set(row * 16 + thread / LANES * 2 + 1, part.squares);
        }
        barrier();
        if thread < ROWS as u32 {
            let part = |warp: u32| parts.get(thread * 16 + warp * 2);
            let mean = (0..WARPS).fold(0.0, |sum, warp| sum + part(warp)) * (1.0 / WARPS as f32);
            let mut squares = 0.0;
            for warp in 0..WARPS {
                let apart = part(warp) - mean;
                squares += fma(apart * apart, 128.0, parts.get(thread * 16 + warp * 2 + 1));
            }
            rows_of_block.set(thread * 2, mean);
            rows_of_block.set(thread * 2 + 1, rsqrt(squares * (1.0 / WIDTH as f32) + EPSILON));
        }
        barrier();
        for row in 0..ROWS {
            let (mean, scale) = (rows_of_block.get(row as u32 * 2), rows_of_block.get(row as u32 * 2 + 1));
            let x = x[row].0;
            out.set4(quad(row), F32x4(from_fn(|v| fma((x[v] - mean) * scale, b[v], c[v]))));
        }
    }
}
