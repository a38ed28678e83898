//! The kernels. `crates/kernels/src/variants.rs` tabulates their launch shapes and the dims that they take.
//!
//! Parameters: the inputs in the order of their files, the output, the dims in order, the tensor maps and then the
//! scratch memory of a variant that has some.

#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu"))]
pub mod bias_gelu;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_bulk"))]
pub mod bias_gelu_bulk;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_few"))]
pub mod bias_gelu_few;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_full"))]
pub mod bias_gelu_full;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_loop"))]
pub mod bias_gelu_loop;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_once"))]
pub mod bias_gelu_once;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_order"))]
pub mod bias_gelu_order;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_pair"))]
pub mod bias_gelu_pair;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_quad"))]
pub mod bias_gelu_quad;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_row"))]
pub mod bias_gelu_row;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_rows"))]
pub mod bias_gelu_rows;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_share"))]
pub mod bias_gelu_share;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_stream"))]
pub mod bias_gelu_stream;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_two"))]
pub mod bias_gelu_two;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_wave"))]
pub mod bias_gelu_wave;
#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu_whole"))]
pub mod bias_gelu_whole;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_bulk"))]
pub mod copy_bulk;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_full"))]
pub mod copy_full;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_halves"))]
pub mod copy_halves;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_pair"))]
pub mod copy_pair;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_ring"))]
pub mod copy_ring;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_rows"))]
pub mod copy_rows;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_two"))]
pub mod copy_two;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_whole"))]
pub mod copy_whole;
#[cfg(any(not(target_arch = "nvptx64"), variant = "copy_wide"))]
pub mod copy_wide;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm"))]
pub mod layer_norm;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_columns"))]
pub mod layer_norm_columns;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_exact"))]
pub mod layer_norm_exact;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_four"))]
pub mod layer_norm_four;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_merge"))]
pub mod layer_norm_merge;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_once"))]
pub mod layer_norm_once;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_pair"))]
pub mod layer_norm_pair;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_shared"))]
pub mod layer_norm_shared;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_single"))]
pub mod layer_norm_single;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_swift"))]
pub mod layer_norm_swift;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_tile"))]
pub mod layer_norm_tile;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_two"))]
pub mod layer_norm_two;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_warp"))]
pub mod layer_norm_warp;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_wide"))]
pub mod layer_norm_wide;
#[cfg(any(not(target_arch = "nvptx64"), variant = "matmul_ffma_128x64"))]
pub mod matmul_ffma_128x64;
#[cfg(any(not(target_arch = "nvptx64"), variant = "matmul_ffma_halves"))]
pub mod matmul_ffma_halves;
#[cfg(any(not(target_arch = "nvptx64"), variant = "matmul_mma_f16x3"))]
pub mod matmul_mma_f16x3;
#[cfg(any(not(target_arch = "nvptx64"), variant = "matmul_narrow"))]
pub mod matmul_narrow;
#[cfg(any(not(target_arch = "nvptx64"), variant = "matmul_two_pass"))]
pub mod matmul_two_pass;
#[cfg(any(not(target_arch = "nvptx64"), variant = "matmul_wgmma_f16x3"))]
pub mod matmul_wgmma_f16x3;
#[cfg(any(not(target_arch = "nvptx64"), variant = "matmul_wgmma_f16x3_cluster"))]
pub mod matmul_wgmma_f16x3_cluster;
#[cfg(any(not(target_arch = "nvptx64"), variant = "matmul_wgmma_f16x3_stream"))]
pub mod matmul_wgmma_f16x3_stream;
#[cfg(any(not(target_arch = "nvptx64"), variant = "multiply_resident"))]
pub mod multiply_resident;
#[cfg(any(not(target_arch = "nvptx64"), variant = "neighbor"))]
pub mod neighbor;
#[cfg(any(not(target_arch = "nvptx64"), variant = "neighbor_block"))]
pub mod neighbor_block;
#[cfg(any(not(target_arch = "nvptx64"), variant = "neighbor_direct"))]
pub mod neighbor_direct;
#[cfg(any(not(target_arch = "nvptx64"), variant = "neighbor_half"))]
pub mod neighbor_half;
#[cfg(any(not(target_arch = "nvptx64"), variant = "neighbor_warp"))]
pub mod neighbor_warp;
#[cfg(any(not(target_arch = "nvptx64"), variant = "read_edges"))]
pub mod read_edges;
#[cfg(any(not(target_arch = "nvptx64"), variant = "tiled_matmul"))]
pub mod tiled_matmul;
#[cfg(any(not(target_arch = "nvptx64"), variant = "tiled_matmul_8x4"))]
pub mod tiled_matmul_8x4;
#[cfg(any(not(target_arch = "nvptx64"), variant = "tiled_matmul_registers"))]
pub mod tiled_matmul_registers;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle"))]
pub mod triangle;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_async"))]
pub mod triangle_async;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_box"))]
pub mod triangle_box;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_cluster"))]
pub mod triangle_cluster;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_groups"))]
pub mod triangle_groups;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_halves"))]
pub mod triangle_halves;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_masked"))]
pub mod triangle_masked;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_octet"))]
pub mod triangle_octet;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_ring"))]
pub mod triangle_ring;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_sector"))]
pub mod triangle_sector;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_staged"))]
pub mod triangle_staged;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_stagger"))]
pub mod triangle_stagger;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_tf32"))]
pub mod triangle_tf32;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_tile"))]
pub mod triangle_tile;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle_wide"))]
pub mod triangle_wide;

// Device only: they do what the CPU executor does not.
#[cfg(all(target_arch = "nvptx64", variant = "matmul_local"))]
pub mod matmul_local;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_meet"))]
pub mod matmul_meet;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_presplit"))]
pub mod matmul_presplit;
#[cfg(all(target_arch = "nvptx64", variant = "multiply_halves"))]
pub mod multiply_halves;
#[cfg(all(target_arch = "nvptx64", variant = "multiply_ring"))]
pub mod multiply_ring;
