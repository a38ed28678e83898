//! Neighbour aggregation, `y[i,f] = sum of w[e] x[index[e],f]` over the edges e of node i (CSR).
//!
//! - **Parent**: none. The first neighbour aggregation.
//! - **Ownership**: blocks of 256 threads over the flat output, one output a thread, the feature fastest.
//! - **Memory**: a weight, an index and a feature read for each edge, the first two by every feature's thread;
//!   no shared memory, no barrier, no atomic.
//! - **Dims**: any nodes, width, edges; a node without edges gives zeros.
//! - **Effect**: bounded by the latency of the chain from row pointer to index to feature; one launch.

use crate::gpu::{In, Out, block_x, fma, kernel, split, thread_x};

/// Threads of a block.
const THREADS: u32 = 256;

kernel! {
    /// a features (nodes,width), b weights (edges), rowptr (nodes+1), indices (edges), out (nodes,width).
    /// Grid ceil(nodes * width / 256), block 256.
    pub fn neighbor(
        a: In<f32>, b: In<f32>, rowptr: In<u32>, indices: In<u32>, out: Out<f32>,
        nodes: u32, width: u32, _edges: u32,
    ) {
        let index = block_x() * THREADS + thread_x();
        if index < nodes * width {
            let (node, feature) = split(index, width);
            let mut sum = 0.0;
            for edge in rowptr.get(node)..rowptr.get(node + 1) {
                sum = fma(b.get(edge), a.get(indices.get(edge) * width + feature), sum);
            }
            out.set(index, sum);
        }
    }
}
