//! `C[i,j] = sum_k A[i,k] B[k,j]` on Hopper's tensor cores, each FP32 product as three binary16 products
//! (`wgmma`).
//!
//! - **Parent**: `matmul_mma_f16x3`. A warpgroup multiplies 64 rows by all 64 columns at once, reads B from shared
//!   memory by itself, and runs on while its threads split the next step.
//! - **Ownership**: a block of 256 threads owns a 128 x 64 tile of C, a warpgroup 64 rows, a warp 16 of them, and
//!   with them the elements of A, which go from global memory to the registers of the warp that needs them.
//! - **Memory**: as the parent: 32768 bytes for two buffers of the halves of B, one barrier a step of 64.
//! - **Dims**: m a multiple of 128, n and k of 64.
//! - **Accuracy**: as the parent: a step's products start from zero; values outside the domain of
//!   [`f16x3`](crate::parts::f16x3) send the tile to FP32 multiply-adds.
//! - **Effect**: no instruction of a thread reads B any more, and tensor cores reach half as much again as with
//!   `mma.sync`; kernel time stays at what the L2 cache delivers, 100 MB at 1024 x 1024 x 1024.

use crate::gpu::{
    Accumulators, Columns, In, Out, Pairs, barrier, barrier_or, block_x, block_y,
    fence_async_shared, kernel, shared, thread_x, unrolled,
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

/// Starts the products of a step, the smaller ones first.
fn multiply(products: &mut Accumulators<32>, high: &mut Pairs<4>, low: &mut Pairs<4>, b: Columns) {
    let (b_high, b_low) = (b, b.after(HALF));
    products.fence(&mut [high, low]);
    products.multiply::<false>(low[0], b_high);
    for i in 1..4 {
        products.multiply::<true>(low[i], b_high.along_k(i as u32));
    }
    for i in 0..4 {
        products.multiply::<true>(high[i], b_low.along_k(i as u32));
    }
    for i in 0..4 {
        products.multiply::<true>(high[i], b_high.along_k(i as u32));
    }
    products.commit();
}

kernel! {
    /// a (m,k), b (k,n), out (m,n), row-major. Grid (n/64, m/128), block 256.
    pub fn matmul_wgmma_f16x3(a: In<f32>, b: In<f32>, out: Out<f32>, _m: u32, n: u32, k: u32) {
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

        let mut sums = [0.0; 32];
        let mut products = Accumulators::<32>::ZERO;
        let (mut high, mut low): (Pairs<4>, Pairs<4>) = ([[0; 4]; 4], [[0; 4]; 4]);
        let mut buffer = 0;
        let mut step = 0;
        while step < k {
            let (b_high, b_low) = split_column(raw_b, &mut largest_b);
            for quad in 0..2 {
                halves.set4(buffer + quads[quad], b_high[quad]);
                halves.set4(buffer + HALF + quads[quad], b_low[quad]);
            }
            fence_async_shared();
            // The first time round there is no product to wait for, and zero is added.
            products.wait(&mut [&mut high, &mut low]);
            products.add_to(&mut sums);
            let pairs: [_; 4] = from_fn(|i| split_rows(raw_a[i], &mut largest_a));
            step += STEP;
            if step < k {
                (a_rows, b_column) = (a_rows.from(STEP), b_column.from((STEP - 16) * n));
                (raw_a, raw_b) = (load_rows(a_rows, k), load_column(&mut b_column, n));
            }
            barrier();
            (high, low) = (pairs.map(|(high, _)| high), pairs.map(|(_, low)| low));
            multiply(&mut products, &mut high, &mut low, Columns::swizzled(halves, buffer));
            buffer ^= 2 * HALF;
        }
        products.wait(&mut [&mut high, &mut low]);
        products.add_to(&mut sums);

        let fits = largest_a[0].fits() & largest_a[1].fits() & largest_b.fits();
        if barrier_or(!fits) {
            matmul_tile::<COLUMNS>(thread, a, b, out, block_row, block_column, n, k);
            return;
        }
        unrolled!(j in 8 {
            let pair = (row * n + block_column) / 2 + 4 * j as u32 + t;
            out.set2(pair, [sums[4 * j] * UNSCALE, sums[4 * j + 1] * UNSCALE]);
            out.set2(pair + 4 * n, [sums[4 * j + 2] * UNSCALE, sums[4 * j + 3] * UNSCALE]);
        });
    }
}
