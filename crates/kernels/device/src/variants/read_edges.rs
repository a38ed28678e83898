//! The twin of `neighbor_block` that moves: as many reads of as many bytes and the same writes, and no index to wait for.
//!
//! - **Parent**: `neighbor_block`. It reads neighbouring rows, those of a block apart from each other, whatever the indices, which
//!   it reads and adds in the end.
//! - **Ownership**: as its parent.
//! - **Memory**: as its parent.
//! - **Dims**: as its parent.
//! - **Effect**: its kernel time is the least that the bytes allow, in the shape that they move in.

use crate::gpu::{
    F32x4, In, Out, array, block_x, each, kernel, shuffle, shuffle_u32, shuffle_xor, thread_x,
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
        let mut row = node * LANES % nodes;
        let (mut edge, end) = (shuffle_u32(bound, 0), shuffle_u32(bound, 1));

        let mut sum = F32x4::ZERO.0;
        while edge < end {
            let (mut index, mut weight) = (0, 0.0);
            if edge + lane < end {
                (index, weight) = (indices.get(edge + lane), b.get(edge + lane));
            }
            let own = (row + lane).min(nodes - 1);
            let mut first = 0;
            while first < LANES && edge + first < end {
                let source = |step: usize| first + 2 * step as u32 + half;
                let row: [u32; STEPS] = array(|step| shuffle_u32(own, source(step)) * quads + q);
                let x: [F32x4; STEPS] = array(|step| {
                    a.get4_if(edge + source(step) < end && q < quads, row[step])
                });
                each::<STEPS>(|step| sum = from_fn(|v| sum[v] + x[step].0[v]));
                first += 2 * STEPS as u32;
            }
            // By way of other lanes, lest it be waited for before the rows are asked for.
            sum[0] += shuffle(weight, lane ^ 1) + shuffle_u32(index, lane ^ 1) as f32;
            edge += LANES;
            row += LANES;
        }

        sum = sum.map(|value| value + shuffle_xor(value, HALF));
        if half == 0 && q < quads {
            out.set4(node * quads + q, F32x4(sum));
        }
    }
}
