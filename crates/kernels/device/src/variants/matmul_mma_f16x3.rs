//! `C[i,j] = sum_k A[i,k] B[k,j]` on tensor cores, each FP32 product as three binary16 products (`mma.sync`).
//!
//! - **Parent**: `matmul_ffma_128x64`. The multiply-adds move to the tensor cores, which give sixteen times as
//!   many binary16 ones; three of them make an FP32 product ([`f16x3`](crate::parts::f16x3)).
//! - **Ownership**: a block of 256 threads owns a 128 x 64 tile of C, a warp 16 rows of it, and with them the
//!   elements of A, which go from global memory to the registers of the warp that needs them.
//! - **Memory**: each step of 64 along K, a thread loads eight quads of two rows of A and a quarter of a column
//!   of B, splits both, and writes the halves of B into one of two buffers, 32768 bytes in all, K along a row of
//!   128 bytes, swizzled so that neither writes nor `ldmatrix` meet a bank twice. The next step's loads are on
//!   their way meanwhile. One barrier a step.
//! - **Dims**: m a multiple of 128, n and k of 64.
//! - **Accuracy**: the products of a step start from zero and are added to FP32 sums, because tensor cores
//!   truncate where they add. Values outside the domain of `f16x3` send the tile to FP32 multiply-adds.
//! - **Effect**: kernel time falls below what FP32 multiply-adds can reach, to what the L2 cache delivers: 100 MB
//!   at 1024 x 1024 x 1024.

use crate::gpu::{
    In, Out, barrier, barrier_or, block_x, block_y, kernel, mma_f16, shared, thread_x,
};
use crate::parts::f16x3::{Largest, UNSCALE, load_column, load_rows, split_column, split_rows};
use crate::parts::full_range::matmul_tile;
use core::array::from_fn;

/// Rows of C a block.
const ROWS: u32 = 128;
/// Columns of C a block.
const COLUMNS: u32 = 64;
/// Steps of K between two loads of the tiles.
const STEP: u32 = 64;
/// Quads of the high halves of a buffer; as many low ones follow.
const HALF: u32 = COLUMNS * STEP / 8;

shared! {
    /// Two buffers of the halves of 64 columns of B by 64 steps of K.
    fn halves() -> Shared<u32, 8192>, aligned 1024;
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (n/64, m/128), block 256.
    pub fn matmul_mma_f16x3(a: In<f32>, b: In<f32>, out: Out<f32>, _m: u32, n: u32, k: u32) {
        let halves = halves();
        let thread = thread_x();
        let (warp, lane) = (thread / 32, thread % 32);
        let (g, t) = (lane / 4, lane % 4);
        let (block_row, block_column) = (block_y() * ROWS, block_x() * COLUMNS);
        let row = block_row + 16 * warp + g;
        let (quarter, column) = (thread / COLUMNS, thread % COLUMNS);
        let quads = [0, 1].map(|quad| 8 * column + (2 * quarter + quad ^ column % 8));

        let mut a_rows = a.from(row * k + 4 * t);
        let mut b_column = b.from(quarter * 16 * n + block_column + column);
        let mut raw_a = load_rows(a_rows, k);
        let mut raw_b = load_column(&mut b_column, n);
        let (mut largest_a, mut largest_b) = ([Largest::NONE; 2], Largest::NONE);

        let mut sums = [[0.0; 4]; 8];
        let mut buffer = 0;
        let mut step = STEP;
        loop {
            let (high, low) = split_column(raw_b, &mut largest_b);
            for quad in 0..2 {
                halves.set4(buffer + quads[quad], high[quad]);
                halves.set4(buffer + HALF + quads[quad], low[quad]);
            }
            let pairs: [_; 4] = from_fn(|i| split_rows(raw_a[i], &mut largest_a));
            let more = step < k;
            if more {
                (a_rows, b_column) = (a_rows.from(STEP), b_column.from((STEP - 16) * n));
                (raw_a, raw_b) = (load_rows(a_rows, k), load_column(&mut b_column, n));
            }
            barrier();

            // Lanes 0 to 7 and 8 to 15 name the two quads along K of eight columns, lanes 16 to 31 their low halves.
            let (matrix, r) = (lane / 8, lane % 8);
            let first = buffer + matrix / 2 * HALF + 8 * r;
            let mut products = [[0.0; 4]; 8];
            for i in 0..4 {
                let (high, low) = pairs[i];
                let quad = 2 * i as u32 + matrix % 2 ^ r;
                let columns: [[u32; 4]; 8] = from_fn(|j| halves.matrices(first + 64 * j as u32 + quad));
                for j in 0..8 {
                    mma_f16(&mut products[j], low, [columns[j][0], columns[j][1]]);
                }
                for j in 0..8 {
                    mma_f16(&mut products[j], high, [columns[j][2], columns[j][3]]);
                }
                for j in 0..8 {
                    mma_f16(&mut products[j], high, [columns[j][0], columns[j][1]]);
                }
            }
            for j in 0..8 {
                for i in 0..4 {
                    sums[j][i] += products[j][i];
                }
            }
            if !more {
                break;
            }
            buffer ^= 2 * HALF;
            step += STEP;
        }

        let fits = largest_a[0].fits() & largest_a[1].fits() & largest_b.fits();
        if barrier_or(!fits) {
            matmul_tile::<COLUMNS>(thread, a, b, out, block_row, block_column, n, k);
            return;
        }
        for (j, [w, x, y, z]) in sums.into_iter().enumerate() {
            let pair = (row * n + block_column) / 2 + 4 * j as u32 + t;
            out.set2(pair, [w * UNSCALE, x * UNSCALE]);
            out.set2(pair + 4 * n, [y * UNSCALE, z * UNSCALE]);
        }
    }
}
