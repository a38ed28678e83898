//! The twin of `bias_gelu_bulk`: the same reads of x, written by bulk copies too, and nothing computed.
//!
//! - **Parent**: `bias_gelu_bulk`. The output is x; the bias is not read. A block is one warp, of which one thread asks
//!   for all copies.
//! - **Ownership**: a block owns 16 rows.
//! - **Memory**: four copies of 12 KiB in, each followed by one out.
//! - **Dims**: width 768, rows a multiple of 16.
//! - **Effect**: its kernel time is what the caches and the way to them allow, with no load or store of a thread.

use crate::gpu::{
    In, Mbarrier, Out, block_x, close_stores, fence_async_shared, kernel, publish_barriers, shared,
    thread_x, wait_for_stores,
};

/// Copies of a block.
const STAGES: u32 = 4;
/// Quads of a copy: four rows.
const STAGE: u32 = 4 * 192;

shared! {
    /// The rows of the block, and after them a barrier for each copy.
    dynamic fn memory() -> Shared<f32, 12296>;
}

kernel! {
    /// a (rows,width), b (width), out (rows,width). Grid rows / 16, block 32, 49184 bytes of shared memory.
    pub fn copy_bulk(a: In<f32>, _b: In<f32>, out: Out<f32>, _rows: u32, _width: u32) {
        if thread_x() > 0 {
            return;
        }
        let memory = memory();
        let first = block_x() * STAGES * STAGE;
        let arrival = |stage: u32| Mbarrier::at(memory, 2 * STAGES * STAGE + stage);
        for stage in 0..STAGES {
            arrival(stage).init(1);
        }
        publish_barriers();
        fence_async_shared();
        for stage in 0..STAGES {
            arrival(stage).arrive_and_expect(16 * STAGE);
            memory.start_load(stage * STAGE, a, first + stage * STAGE, STAGE, arrival(stage));
        }
        for stage in 0..STAGES {
            arrival(stage).wait(0);
            memory.start_store(stage * STAGE, out, first + stage * STAGE, STAGE);
        }
        close_stores();
        wait_for_stores();
    }
}
