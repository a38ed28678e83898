//! What all lanes of a warp make together: tensor-core products, and matrices that they share out.
//!
//! A lane offers its part and waits for the others; then the whole is made at once, and each lane takes its part.
//! In all of it g is the lane divided by four and t the remainder.

use super::Worker;
use crate::count::memory::LANES;

/// A lane's part.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fragment {
    /// Its values of a, as FP32, or four words that it offers to the others.
    pub(crate) a: [f32; 8],
    /// Its values of b.
    pub(crate) b: [f32; 4],
    /// Its values of c, and then of `c + a b`.
    pub(crate) c: [f32; 4],
    /// The quad that it read, and then the words that are its part of all quads.
    pub(crate) words: [u32; 4],
}

/// The shape of a product: 16 rows by 8 columns, summed over so many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// 16 steps: a has the pairs (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8) of (row, column) and the column
    /// after; b the pairs (2t, g), (2t + 8, g) of (row, column) and the row after.
    F16,
    /// 8 steps: a has (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4); b (t, g), (t + 4, g).
    Tf32,
}

/// Rows and columns of a product.
const ROWS: usize = 16;
const COLUMNS: usize = 8;
/// The most steps of a product.
const STEPS: usize = 16;

impl Worker {
    /// Makes the product that all lanes of the warp offered their parts of. Products of two values are exact in FP32,
    /// and are added to c one after the other, each sum rounded to FP32.
    pub(crate) fn multiply(&mut self, shape: Shape) {
        let mut a = [[0.0; ROWS]; STEPS];
        let mut b = [[0.0; COLUMNS]; STEPS];
        let mut c = [[0.0; COLUMNS]; ROWS];
        for (lane, fragment) in self.fragments.iter().enumerate() {
            let (g, t) = (lane / 4, lane % 4);
            match shape {
                Shape::F16 => {
                    for i in 0..8 {
                        a[2 * t + i % 2 + i / 4 * 8][g + i / 2 % 2 * 8] = fragment.a[i];
                    }
                    for i in 0..4 {
                        b[2 * t + i % 2 + i / 2 * 8][g] = fragment.b[i];
                    }
                }
                Shape::Tf32 => {
                    for i in 0..4 {
                        a[t + i / 2 * 4][g + i % 2 * 8] = fragment.a[i];
                    }
                    for i in 0..2 {
                        b[t + i * 4][g] = fragment.b[i];
                    }
                }
            }
            for i in 0..4 {
                c[g + i / 2 * 8][2 * t + i % 2] = fragment.c[i];
            }
        }
        let steps = match shape {
            Shape::F16 => 16,
            Shape::Tf32 => 8,
        };
        for (a, b) in a.iter().zip(&b).take(steps) {
            for (c, a) in c.iter_mut().zip(a) {
                for (c, b) in c.iter_mut().zip(b) {
                    *c += a * b;
                }
            }
        }
        for (lane, fragment) in self.fragments.iter_mut().enumerate() {
            let (g, t) = (lane / 4, lane % 4);
            for i in 0..4 {
                fragment.c[i] = c[g + i / 2 * 8][2 * t + i % 2];
            }
        }
    }

    /// Shares out four 8 x 8 matrices of two-byte values: lane l offered the row `l % 8` of matrix `l / 8`, and gets of
    /// each matrix the word t of row g.
    pub(crate) fn share_matrices(&mut self) {
        let rows = self.fragments.each_ref().map(|fragment| fragment.words);
        for lane in 0..LANES {
            let (g, t) = (lane / 4, lane % 4);
            self.fragments[lane].words = [0, 1, 2, 3].map(|matrix| rows[8 * matrix + g][t]);
        }
    }
}
