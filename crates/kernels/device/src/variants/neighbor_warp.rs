//! Neighbour aggregation, `y[i,f] = sum of w[e] x[index[e],f]` over the edges e of node i (CSR), a warp a node.
//!
//! - **Parent**: `neighbor`. A warp owns a node in place of a thread an output, and reads two rows of features
//!   at a time in 128-bit quads.
//! - **Ownership**: each of the eight warps of a block owns a node; lane `16 h + q` sums quad q of every other
//!   edge, from edge h on, and the halves of the warp meet in one shuffle.
//! - **Memory**: 32 indices and weights read by the lanes, neighbours side by side, and passed on by shuffles;
//!   eight 128-bit reads of features a lane in flight; no shared memory, no barrier, no atomic.
//! - **Dims**: width a multiple of 4, at most 64; any nodes and edges; a node without edges gives zeros.
//! - **Effect**: an edge costs one read of its index in place of one a feature, and 16 edges one latency in place
//!   of 16; kernel time nears that of 16.8 MB from L2 at 4096 x 64 x 65536.

use crate::gpu::{
    F32x4, In, Out, array, block_x, each, fma, kernel, shuffle, shuffle_u32, shuffle_xor, thread_x,
};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Lanes that read a row of features.
const HALF: u32 = 16;
/// Nodes of a block, one a warp.
const NODES: u32 = 8;
/// Reads of features in flight, of two edges each.
const STEPS: usize = 8;

kernel! {
    /// a features (nodes,width), b weights (edges), rowptr (nodes+1), indices (edges), out (nodes,width).
    /// Grid ceil(nodes / 8), block 256.
    pub fn neighbor_warp(
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
            let (mut index, mut weight) = (0, 0.0);
            if edge + lane < end {
                (index, weight) = (indices.get(edge + lane), b.get(edge + lane));
            }
            let mut first = 0;
            while first < LANES && edge + first < end {
                let source = |step: usize| first + 2 * step as u32 + half;
                let row: [u32; STEPS] = array(|step| shuffle_u32(index, source(step)) * quads + q);
                let weight: [f32; STEPS] = array(|step| shuffle(weight, source(step)));
                let x: [F32x4; STEPS] = array(|step| {
                    a.get4_if(edge + source(step) < end && q < quads, row[step])
                });
                each::<STEPS>(|step| sum = from_fn(|v| fma(weight[step], x[step].0[v], sum[v])));
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
