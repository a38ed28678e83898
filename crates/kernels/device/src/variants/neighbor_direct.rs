//! Neighbour aggregation, `y[i,f] = sum of w[e] x[index[e],f]` over the edges e of node i (CSR), without
//! shuffles of indices.
//!
//! - **Parent**: `neighbor_warp`. Every lane reads the index and the weight of its edges itself.
//! - **Ownership**: each of the eight warps of a block owns a node; lane `16 h + q` sums quad q of every other
//!   edge, from edge h on, and the halves of the warp meet in one shuffle.
//! - **Memory**: eight reads of an index and eight of a weight a lane, each of two addresses a warp, from L1 after
//!   the first; eight 128-bit reads of features a lane in flight; no shared memory, no barrier, no atomic.
//! - **Dims**: width a multiple of 4, at most 64; any nodes and edges; a node without edges gives zeros.
//! - **Effect**: the chain from index to feature loses a shuffle, against 14 more reads a lane that L1 serves.

use crate::gpu::{F32x4, In, Out, block_x, fma, kernel, shuffle_u32, shuffle_xor, thread_x};
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
    pub fn neighbor_direct(
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
            let mine = |step: usize| edge + 2 * step as u32 + half;
            let x: [F32x4; STEPS] = from_fn(|step| {
                let present = mine(step) < end && q < quads;
                a.get4_if(present, indices.get(mine(step).min(end - 1)) * quads + q)
            });
            for (step, F32x4(x)) in x.into_iter().enumerate() {
                let weight = b.get(mine(step).min(end - 1));
                let weight = if mine(step) < end { weight } else { 0.0 };
                sum = from_fn(|v| fma(weight, x[v], sum[v]));
            }
            edge += 2 * STEPS as u32;
        }

        sum = sum.map(|value| value + shuffle_xor(value, HALF));
        if half == 0 && q < quads {
            out.set4(node * quads + q, F32x4(sum));
        }
    }
}
