//! A tile of `C[i,j] = sum_k A[i,k] B[k,j]` with FP32 multiply-adds alone, for every FP32 value: slow, small,
//! and needing nothing but registers.

use crate::gpu::{F32x4, In, Out, fma};
use core::array::from_fn;

/// Rows of C a thread.
const ROWS: usize = 8;
/// Columns of C a thread.
const COLUMNS: usize = 4;

/// Writes the tile at (`row`, `column`) of C, `WIDTH` columns wide: thread `thread` writes four neighbouring
/// columns in eight neighbouring rows, so that T threads write a tile of `32 T / WIDTH` rows. n and k are multiples
/// of four.
#[inline(always)]
pub fn matmul_tile<const WIDTH: u32>(
    thread: u32,
    a: In<f32>,
    b: In<f32>,
    out: Out<f32>,
    row: u32,
    column: u32,
    n: u32,
    k: u32,
) {
    let threads = WIDTH / COLUMNS as u32;
    let row = row + thread / threads * ROWS as u32;
    let column = column + thread % threads * COLUMNS as u32;
    let mut sums = [[0.0; COLUMNS]; ROWS];
    let mut step = 0;
    while step < k {
        let a_quads: [F32x4; ROWS] = from_fn(|i| a.get4(((row + i as u32) * k + step) / 4));
        for p in 0..4 {
            let F32x4(b_values) = b.get4(((step + p as u32) * n + column) / 4);
            for i in 0..ROWS {
                for j in 0..COLUMNS {
                    sums[i][j] = fma(a_quads[i].0[p], b_values[j], sums[i][j]);
                }
            }
        }
        step += 4;
    }
    for (i, values) in sums.into_iter().enumerate() {
        out.set4(((row + i as u32) * n + column) / 4, F32x4(values));
    }
}
