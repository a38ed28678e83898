//! GELU of a biased matrix, `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with `z = x + bias`, from
//! shared memory that bulk copies fill.
//!
//! - **Parent**: `bias_gelu_wave`. x arrives in shared memory by four copies of four rows, which one thread asks for, in
//!   place of registers.
//! - **Ownership**: a block owns 16 rows; thread (x, y) quad x of rows y, y + 4, y + 8 and y + 12.
//! - **Memory**: 48 KiB of x in flight a block, in copies of 12 KiB, none of which waits for a place in shared memory;
//!   a barrier in shared memory for each copy. One 128-bit read of the bias and four 128-bit writes a thread.
//! - **Dims**: width 768, rows a multiple of 16.
//! - **Effect**: rows are computed and written as their copy arrives, while later ones are on their way; a thread has no
//!   read of x to wait for in order, and the code is a loop of one row.

use crate::gpu::{
    F32x4, In, Mbarrier, Out, barrier, block_x, fence_async_shared, kernel, publish_barriers,
    shared, thread_x, thread_y,
};
use crate::parts::gelu::gelu;
use core::array::from_fn;

/// Quads of a row, and threads of a block along it.
const QUADS: u32 = 192;
/// Rows of a copy, and threads of a block across rows.
const DEPTH: u32 = 4;
/// Copies of a block.
const STAGES: u32 = 4;
/// Quads of a copy.
const STAGE: u32 = DEPTH * QUADS;

shared! {
    /// The rows of the block, and after them a barrier for each copy.
    dynamic fn memory() -> Shared<f32, 12296>;
}

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows / 16, block (192, 4), 49184 bytes of shared memory.
    pub fn bias_gelu_bulk(a: In<f32>, b: In<f32>, out: Out<f32>, _rows: u32, _width: u32) {
        let memory = memory();
        let thread = thread_y() * QUADS + thread_x();
        let first = block_x() * STAGES * STAGE;
        let arrival = |stage: u32| Mbarrier::at(memory, 2 * STAGES * STAGE + stage);
        if thread == 0 {
            for stage in 0..STAGES {
                arrival(stage).init(1);
            }
            publish_barriers();
            fence_async_shared();
            for stage in 0..STAGES {
                arrival(stage).arrive_and_expect(16 * STAGE);
                memory.start_load(stage * STAGE, a, first + stage * STAGE, STAGE, arrival(stage));
            }
        }
        let bias = b.get4_fixed(thread_x()).0;
        barrier();
        for stage in 0..STAGES {
            arrival(stage).wait(0);
            let x = memory.get4(stage * STAGE + thread).0;
            out.set4(first + stage * STAGE + thread, F32x4(from_fn(|i| gelu(x[i] + bias[i]))));
        }
    }
}
