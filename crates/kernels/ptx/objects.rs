// Written by `cargo xtask kernels`.
&[
    Object { variant: "tiled_matmul", target: "sm_80", ptx: include_str!("tiled_matmul.sm_80.ptx") },
    Object { variant: "tiled_matmul_registers", target: "sm_80", ptx: include_str!("tiled_matmul_registers.sm_80.ptx") },
    Object { variant: "tiled_matmul_8x4", target: "sm_80", ptx: include_str!("tiled_matmul_8x4.sm_80.ptx") },
    Object { variant: "matmul_ffma_128x64", target: "sm_80", ptx: include_str!("matmul_ffma_128x64.sm_80.ptx") },
    Object { variant: "matmul_mma_f16x3", target: "sm_80", ptx: include_str!("matmul_mma_f16x3.sm_80.ptx") },
    Object { variant: "matmul_wgmma_f16x3", target: "sm_90a", ptx: include_str!("matmul_wgmma_f16x3.sm_90a.ptx") },
    Object { variant: "matmul_wgmma_f16x3_cluster", target: "sm_90a", ptx: include_str!("matmul_wgmma_f16x3_cluster.sm_90a.ptx") },
    Object { variant: "bias_gelu", target: "sm_80", ptx: include_str!("bias_gelu.sm_80.ptx") },
    Object { variant: "layer_norm", target: "sm_80", ptx: include_str!("layer_norm.sm_80.ptx") },
    Object { variant: "layer_norm_warp", target: "sm_80", ptx: include_str!("layer_norm_warp.sm_80.ptx") },
    Object { variant: "layer_norm_tile", target: "sm_80", ptx: include_str!("layer_norm_tile.sm_80.ptx") },
    Object { variant: "triangle", target: "sm_80", ptx: include_str!("triangle.sm_80.ptx") },
    Object { variant: "neighbor", target: "sm_80", ptx: include_str!("neighbor.sm_80.ptx") },
]
