//! Neighbour aggregation, `y[i,f] = sum of w[e] x[index[e],f]` over the edges e of node i (CSR), half a warp a
//! node.
//!
//! - **Parent**: `neighbor_warp`. The halves of a warp own two nodes in place of one together.
//! - **Ownership**: a block of eight warps owns 16 nodes; lane `16 h + q` sums quad q of node h of its warp. Both
//!   halves take as many steps as the longer node.
//! - **Memory**: 16 indices and weights a node read by its lanes, passed on by shuffles; eight 128-bit reads of
//!   features a lane in flight; no shared memory, no barrier, no atomic.
//! - **Dims**: width a multiple of 4, at most 64; any nodes and edges; a node without edges gives zeros.
//! - **Effect**: half the warps, each with twice the edges, and no sum across halves; steps of the shorter node
//!   are lost.

use crate::gpu::{
    F32x4, In, Out, array, block_x, each, fma, kernel, shuffle, shuffle_u32, thread_x,
};
use core::array::from_fn;

/// Lanes of a warp.
const LANES: u32 = 32;
/// Lanes that own a node.
const HALF: u32 = 16;
/// Nodes of a block, two a warp.
const NODES: u32 = 16;
/// Reads of features in flight, of an edge each.
const STEPS: usize = 8;

kernel! {
    /// a features (nodes,width), b weights (edges), rowptr (nodes+1), indices (edges), out (nodes,width).
    /// Grid ceil(nodes / 16), block 256.
    pub fn neighbor_half(
        a: In<f32>, b: In<f32>, rowptr: In<u32>, indices: In<u32>, out: Out<f32>,
        nodes: u32, width: u32, _edges: u32,
    ) {
        let lane = thread_x() % LANES;
        let (half, q) = (lane / HALF, lane % HALF);
        let node = block_x() * NODES + thread_x() / HALF;
        let quads = width / 4;
        let (mut edge, mut end) = (0, 0);
        if node < nodes {
            (edge, end) = (rowptr.get(node), rowptr.get(node + 1));
        }
        // Of both halves, so that the loops are known to be the same for the whole warp.
        let longest = shuffle_u32(end - edge, 0).max(shuffle_u32(end - edge, HALF));

        let mut sum = F32x4::ZERO.0;
        let mut done = 0;
        while done < longest {
            let (mut index, mut weight) = (0, 0.0);
            if edge + q < end {
                (index, weight) = (indices.get(edge + q), b.get(edge + q));
            }
            let mut first = 0;
            while first < HALF && done + first < longest {
                let source = |step: usize| first + step as u32;
                let row: [u32; STEPS] = array(|step| shuffle_u32(index, half * HALF + source(step)) * quads + q);
                let weight: [f32; STEPS] = array(|step| shuffle(weight, half * HALF + source(step)));
                let x: [F32x4; STEPS] = array(|step| {
                    a.get4_if(edge + source(step) < end && q < quads, row[step])
                });
                each::<STEPS>(|step| sum = from_fn(|v| fma(weight[step], x[step].0[v], sum[v])));
                first += STEPS as u32;
            }
            edge += HALF;
            done += HALF;
        }

        if node < nodes && q < quads {
            out.set4(node * quads + q, F32x4(sum));
        }
    }
}
