//! The twin of `neighbor_block` that moves: as many reads of as many bytes and the same writes, and no index to wait for.
//!
//! - **Parent**: `neighbor_block`. For edge e it reads row e % nodes, whatever the index, and adds rows up with no weights; indices
//!   and weights are read and added too, so that they are read.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent.
//! - **Dims**: as its parent.
//! - **Effect**: its kernel time is the least that the bytes allow, in the shape that they move in.

use crate::gpu::{
    F32x4, In, Out, array, block_x, each, kernel, shuffle_u32, shuffle_xor, thread_x,
};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Lanes that read a row of features.
const HALF: u32 = 16;
/// Nodes of a block, one a warp.
const NODES: u32 = 32;
/// Reads of features in flight, of two edges each.
const STEPS: usize = 8;

kernel! {
    /// a features (nodes,width), b weights (edges), rowptr (nodes+1), indices (edges), out (nodes,width).
    /// Grid ceil(nodes / 32), block 1024.
    pub fn read_edges(
        a: In<f32>, b: In<f32>, rowptr: In<u32>, indices: In<u32>, out: Out<f32>,
        nodes: u32, width: u32, _edges: u32,
    ) {
        let lane = thread_x() % LANES;
        let (half, q) = (lane / HALF, lane % HALF);
        let node = block_x() * NODES + thread_x() / LANES;
        if node >= nodes {
            return; // the whole warp
        }
        let quads = width / 4;
        // Bounds of one lane for all, so that the loops are known to be the same for the whole warp.
        let bound = rowptr.get(node + lane % 2);
        let (mut edge, end) = (shuffle_u32(bound, 0), shuffle_u32(bound, 1));

        let mut sum = F32x4::ZERO.0;
        while edge < end {
            if edge + lane < end {
                sum[0] += f32::from_bits(indices.get(edge + lane)) + b.get(edge + lane);
            }
            let base = edge % nodes;
            let mut first = 0;
            while first < LANES && edge + first < end {
                let source = |step: usize| first + 2 * step as u32 + half;
                let x: [F32x4; STEPS] = array(|step| {
                    let row = (base + source(step)).min(nodes - 1);
                    a.get4_if(edge + source(step) < end && q < quads, row * quads + q)
                });
                each::<STEPS>(|step| sum = from_fn(|v| sum[v] + x[step].0[v]));
                first += 2 * STEPS as u32;
            }
            edge += LANES;
        }

        sum = sum.map(|value| value + shuffle_xor(value, HALF));
        if half == 0 && q < quads {
            out.set4(node * quads + q, F32x4(sum));
        }
    }
}
