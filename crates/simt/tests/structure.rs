//! Ratios and claims of the kernels, each ratio computed by hand.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_kernels::inputs::{SEED, generate};
use mage_kernels::variants;
use mage_simt::{Structure, Verdict, execute, judge};

fn structure(id: &str, dims: &[u32]) -> Structure {
    let variant = variants::find(id).unwrap();
    let inputs = generate(variant.operation, dims, SEED).unwrap();
    let counts = execute(variant, &inputs).unwrap().counts;
    Structure::of(variant, dims, &counts)
}

#[test]
fn tiles_cost_two_shared_reads_a_multiply_add() {
    // 4 x 4 blocks of 16 x 16 threads, 4 steps of 16 along k.
    let s = structure("tiled_matmul", &[64, 64, 64]);
    assert_eq!((s.blocks, s.threads, s.shared_bytes), (16, 256, 2048));
    assert_eq!(s.multiply_adds, 64 * 64 * 64);
    assert_eq!(s.shared_reads, 2 * 64 * 64 * 64);
    assert_eq!(s.shared_reads_per_multiply_add, Some(2.0));
    // Each element of a and b is read by 4 blocks.
    assert_eq!(s.bytes_requested, (2 * 4 + 1) * 64 * 64 * 4);
    assert_eq!(s.bytes_moved, s.bytes_requested);
    assert_eq!(s.bytes_least, 3 * 64 * 64 * 4);
    assert_eq!(s.moved_to_least, 3.0);
    assert_eq!(s.global_reads_per_multiply_add, Some(2.0 / 16.0));
    assert_eq!(s.barriers_per_block, 8.0);
    assert_eq!(s.barriers_per_row, 16.0 * 8.0 / 64.0);
    assert_eq!(s.operations, 2 * 64 * 64 * 64);
    assert_eq!(s.intensity, s.operations as f64 / s.bytes_moved as f64);
    // A warp is two rows of threads: a row of a is two broadcasts, from rows 16 words apart, which lie in
    // different banks; a row of b is 16 neighbours.
    assert_eq!(s.bank_conflict_factor, Some(1.0));
    assert_eq!(s.wavefronts_per_request, Some(1.0));
    // A warp's 32 floats are half of two rows, of two sectors each.
    assert_eq!(s.sectors_per_request, Some(4.0));
}

#[test]
fn registers_cost_half_a_shared_read_a_multiply_add() {
    let s = structure("tiled_matmul_registers", &[64, 64, 64]);
    assert_eq!((s.blocks, s.threads, s.shared_bytes), (1, 256, 16_384));
    assert_eq!(s.shared_reads_per_multiply_add, Some(0.5));
    assert_eq!(s.barriers_per_block, 4.0);
    assert_eq!(s.moved_to_least, 1.0);
    let s = structure("tiled_matmul_8x4", &[128, 64, 64]);
    assert_eq!(s.shared_reads_per_multiply_add, Some(3.0 / 8.0));
}

#[test]
fn a_tree_passes_ten_barriers_and_a_warp_none() {
    let tree = structure("layer_norm", &[16, 768]);
    assert_eq!((tree.barriers_per_row, tree.shuffles_per_row), (20.0, 0.0));
    let warp = structure("layer_norm_warp", &[16, 768]);
    assert_eq!((warp.barriers_per_row, warp.shuffles_per_row), (0.0, 12.0));
    // Three reads of the row, of scale and of shift, one write; at least one read and one write of a row.
    let row = 768 * 4;
    assert_eq!(warp.bytes_moved, 16 * 6 * row);
    assert_eq!(warp.bytes_least, (2 * 16 + 2) * row);
    let tile = structure("layer_norm_tile", &[16, 768]);
    assert_eq!(tile.bytes_moved, 16 * 4 * row);
}

#[test]
fn claims_are_judged_from_counts_and_nothing_else() {
    // As if it had run at the note's dims.
    let tree = Structure {
        dims: vec![4096, 768],
        blocks: 4096,
        ..structure("layer_norm", &[2, 768])
    };
    let structures = [
        structure("tiled_matmul", &[64, 64, 64]),
        structure("tiled_matmul_registers", &[64, 64, 64]),
        tree,
    ];
    let findings = judge(&structures);
    let verdicts: Vec<_> = findings
        .iter()
        .map(|f| (f.claim, f.variant.as_str(), f.counted.as_str(), f.verdict))
        .collect();
    use Verdict::{NotReproduced, NotTestable, Reproduced};
    assert_eq!(
        verdicts,
        [
            (7, "layer_norm", "1024 bytes of shared memory", Reproduced),
            (7, "layer_norm", "4096 blocks", Reproduced),
            (
                7,
                "layer_norm_warp",
                "layer_norm_warp was not run",
                NotTestable
            ),
            (
                7,
                "layer_norm_warp",
                "layer_norm_warp was not run",
                NotTestable
            ),
            (
                8,
                "tiled_matmul",
                "tiled_matmul was run at [64, 64, 64], the note's dims are [1024, 1024, 1024]",
                NotTestable
            ),
            (
                8,
                "tiled_matmul_registers",
                "tiled_matmul_registers was run at [64, 64, 64], the note's dims are [1024, 1024, 1024]",
                NotTestable
            ),
            (
                9,
                "tiled_matmul",
                "2 shared reads for 1 multiply-add (524288 reads, 262144 multiply-adds)",
                NotReproduced
            ),
            (
                9,
                "tiled_matmul_registers",
                "8 shared reads for 16 multiply-adds (131072 reads, 262144 multiply-adds)",
                Reproduced
            ),
            (
                9,
                "layer_norm",
                "10 barriers a tree reduction (20 a row, 2 reductions)",
                NotReproduced
            ),
            (
                9,
                "layer_norm_warp",
                "layer_norm_warp was not run",
                NotTestable
            ),
        ]
    );
}

#[test]
fn two_launches_are_counted_together() {
    // The second launch: 2 x 2 blocks of 288 threads. The first: 2 x 2 x 2 of 256, of which those of the second panel of
    // A, which has one, do nothing.
    let s = structure("matmul_narrow", &[128, 256, 64]);
    assert_eq!((s.blocks, s.threads), (4, 288));
    assert_eq!(s.tensor_multiply_adds, 3 * 128 * 256 * 64);
    let (inputs, halves, output) = (4 * 384 * 64, 4 * 384 * 64, 4 * 128 * 256);
    // Each block of the second launch copies two parts of 24576 bytes, and asks for the flags of two parts of A and two of B.
    let copied = 4 * 2 * 24_576;
    let flags = 6 * 4 + 4 * 4 * 4;
    assert_eq!(s.bytes_requested, inputs + halves + copied + flags + output);
    assert_eq!(s.bytes_least, inputs + output);
    // One barrier in 6 of 8 blocks and two in 4.
    assert_eq!(s.barriers_per_block, 14.0 / 12.0);
    assert_eq!(s.barriers_per_row, 14.0 / 128.0);
}
