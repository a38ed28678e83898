//! What a variant's counts say about its structure. Each number has its formula here.

use crate::count::Counts;
use mage_kernels::variants::Variant;
use serde::{Deserialize, Serialize};

/// Bytes of a sector of global memory.
const SECTOR_BYTES: u64 = 32;
/// Bytes of a float.
const WORD_BYTES: u64 = 4;

/// The structure of one variant at some dims: what all its launches do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Structure {
    /// The variant.
    pub variant: String,
    /// The variant that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Dims of the operation.
    pub dims: Vec<u32>,
    /// Blocks of the launch, of several the last.
    pub blocks: u64,
    /// Threads of a block there.
    pub threads: u64,
    /// Bytes of the shared arrays of a block there.
    pub shared_bytes: u32,
    /// Fused multiply-adds of all threads.
    pub multiply_adds: u64,
    /// Multiply-adds of tensor cores, which make several of them for one of FP32.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tensor_multiply_adds: u64,
    /// Floats that all threads read from shared memory: bytes read / 4.
    pub shared_reads: u64,
    /// `shared_reads / multiply_adds`; none without multiply-adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_reads_per_multiply_add: Option<f64>,
    /// Values that all threads read from global memory (bytes read / 4) / `multiply_adds`; none without
    /// multiply-adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_reads_per_multiply_add: Option<f64>,
    /// Wavefronts / the wavefronts without bank conflicts, of all accesses of shared memory:
    /// `wavefronts / (wavefronts - conflicts)`; none without accesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank_conflict_factor: Option<f64>,
    /// Wavefronts a warp instruction that accesses shared memory: `wavefronts / instructions`, 1 at best for 4
    /// bytes a thread and 4 for 16; none without accesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wavefronts_per_request: Option<f64>,
    /// Sectors a warp instruction that accesses global memory: `sectors / instructions`. 32 neighbouring floats
    /// are 4, 32 neighbouring quads 16, one float for all threads 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sectors_per_request: Option<f64>,
    /// Barriers that a block passes, of any launch: barriers of all blocks / all blocks.
    pub barriers_per_block: f64,
    /// Barriers of all blocks / rows of the output, which are its elements / its last dim.
    pub barriers_per_row: f64,
    /// Shuffles of all warps, broadcasts included / rows of the output.
    pub shuffles_per_row: f64,
    /// Bytes that the threads ask of global memory, reads, copies and writes.
    pub bytes_requested: u64,
    /// Bytes that move between the caches and the warps: `32 * sectors` of reads, copies and writes, and what
    /// is copied in bulk. A sector that two
    /// warps touch counts twice; how often it comes from DRAM no count can say.
    pub bytes_moved: u64,
    /// Bytes of every input once and of the output once.
    pub bytes_least: u64,
    /// `bytes_moved / bytes_least`.
    pub moved_to_least: f64,
    /// `bytes_requested / bytes_moved`: 1 where every byte of every sector is asked for by one thread, less
    /// where bytes of a sector are not used, more where threads of a warp share them.
    pub sector_use: f64,
    /// Floating-point operations that are seen: `2 * multiply_adds` + other FP32 + special functions. Plain
    /// operators of the source are not seen.
    pub operations: u64,
    /// Operations seen per byte moved: `operations / bytes_moved`.
    pub intensity: f64,
    /// Operations seen per byte at best: `operations / bytes_least`.
    pub intensity_at_best: f64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Structure {
    /// The structure that the counts of a variant at these dims show.
    pub fn of(variant: &Variant, dims: &[u32], counts: &Counts) -> Self {
        let total = counts.sum();
        let shape = variant.operation.output_shape(dims);
        let elements = variant.operation.output_elements(dims) as u64;
        let rows = elements / shape.last().map_or(1, |&last| last as u64).max(1);
        let inputs = variant.operation.inputs(dims);
        let input_bytes: usize = inputs.iter().map(|file| file.bytes()).sum();

        let multiply_adds = total.fma.operations;
        let shared_reads = total.shared_loads.bytes / WORD_BYTES;
        let tensor_multiply_adds = total.products.operations;
        let mut loads = total.global_loads;
        loads += total.copy_reads;
        let bulk_bytes = total.bulk_loads.bytes + total.bulk_stores.bytes;
        let global_reads = (loads.bytes + total.bulk_loads.bytes) / WORD_BYTES;
        let wavefronts = total.shared_loads.wavefronts + total.shared_stores.wavefronts;
        let shared_requests = total.shared_loads.instructions + total.shared_stores.instructions;
        let global_requests = loads.instructions + total.global_stores.instructions;
        let conflicts = total.shared_loads.conflicts + total.shared_stores.conflicts;
        let bytes_requested = loads.bytes + total.global_stores.bytes + bulk_bytes;
        let sectors = loads.sectors + total.global_stores.sectors;
        let bytes_moved = SECTOR_BYTES * sectors + bulk_bytes;
        let bytes_least = input_bytes as u64 + WORD_BYTES * elements;
        let operations = 2 * (multiply_adds + tensor_multiply_adds)
            + total.other_fp32.operations
            + total.special.operations;
        let ratio = |n: u64, of: u64| n as f64 / of.max(1) as f64;
        let some_ratio = |n: u64, of: u64| (of > 0).then(|| ratio(n, of));
        Self {
            variant: variant.id.to_owned(),
            parent: variant.parent.map(str::to_owned),
            dims: dims.to_vec(),
            blocks: counts.blocks(),
            threads: counts.threads(),
            shared_bytes: counts.shared_bytes,
            multiply_adds,
            tensor_multiply_adds,
            shared_reads,
            shared_reads_per_multiply_add: some_ratio(shared_reads, multiply_adds),
            global_reads_per_multiply_add: some_ratio(global_reads, multiply_adds),
            bank_conflict_factor: some_ratio(wavefronts, wavefronts - conflicts),
            wavefronts_per_request: some_ratio(wavefronts, shared_requests),
            sectors_per_request: some_ratio(sectors, global_requests),
            barriers_per_block: ratio(counts.block_barriers(), counts.all_blocks()),
            barriers_per_row: ratio(counts.block_barriers(), rows),
            shuffles_per_row: ratio(total.shuffles.instructions, rows),
            bytes_requested,
            bytes_moved,
            bytes_least,
            moved_to_least: ratio(bytes_moved, bytes_least),
            sector_use: ratio(bytes_requested, bytes_moved),
            operations,
            intensity: ratio(operations, bytes_moved),
            intensity_at_best: ratio(operations, bytes_least),
        }
    }
}
