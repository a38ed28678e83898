//! The kernels. `crates/kernels/src/variants.rs` tabulates their launch shapes and the dims that they take.
//!
//! Parameters: the inputs in the order of their files, the output, the dims in order, then the scratch memory of a
//! variant that has some.

#[cfg(any(not(target_arch = "nvptx64"), variant = "bias_gelu"))]
pub mod bias_gelu;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm"))]
pub mod layer_norm;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_tile"))]
pub mod layer_norm_tile;
#[cfg(any(not(target_arch = "nvptx64"), variant = "layer_norm_warp"))]
pub mod layer_norm_warp;
#[cfg(any(not(target_arch = "nvptx64"), variant = "neighbor"))]
pub mod neighbor;
#[cfg(any(not(target_arch = "nvptx64"), variant = "tiled_matmul"))]
pub mod tiled_matmul;
#[cfg(any(not(target_arch = "nvptx64"), variant = "tiled_matmul_8x4"))]
pub mod tiled_matmul_8x4;
#[cfg(any(not(target_arch = "nvptx64"), variant = "tiled_matmul_registers"))]
pub mod tiled_matmul_registers;
#[cfg(any(not(target_arch = "nvptx64"), variant = "triangle"))]
pub mod triangle;

// Device only: they use instructions that the CPU executor does not have.
#[cfg(all(target_arch = "nvptx64", variant = "matmul_ffma_128x64"))]
pub mod matmul_ffma_128x64;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_ffma_halves"))]
pub mod matmul_ffma_halves;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_mma_f16x3"))]
pub mod matmul_mma_f16x3;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_presplit"))]
pub mod matmul_presplit;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_presplit_b"))]
pub mod matmul_presplit_b;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_presplit_both"))]
pub mod matmul_presplit_both;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_presplit_rows"))]
pub mod matmul_presplit_rows;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_wgmma_f16x3"))]
pub mod matmul_wgmma_f16x3;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_wgmma_f16x3_cluster"))]
pub mod matmul_wgmma_f16x3_cluster;
#[cfg(all(target_arch = "nvptx64", variant = "matmul_wgmma_f16x3_stream"))]
pub mod matmul_wgmma_f16x3_stream;
