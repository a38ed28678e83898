"""`C[i,j] = sum_k A[i,k] B[k,j]`: one 32x32 tile of C a program, 32 of k a step."""

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from ..inputs import Inputs

TILE = 32
WARPS = 4


@triton.jit
def matmul_kernel(a, b, c, m, n, k, TILE: tl.constexpr):
    """a (m, k), b (k, n), c (m, n), row-major."""
    program = tl.program_id(0)
    tiles_n = tl.cdiv(n, TILE)
    row = program // tiles_n * TILE + tl.arange(0, TILE)[:, None]
    column = program % tiles_n * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, k, TILE):
        k_across = start + tl.arange(0, TILE)[None, :]
        k_down = start + tl.arange(0, TILE)[:, None]
        a_tile = tl.load(a + row * k + k_across, mask=(row < m) & (k_across < k), other=0.0)
        b_tile = tl.load(b + k_down * n + column, mask=(k_down < k) & (column < n), other=0.0)
        total = tl.dot(a_tile, b_tile, total, input_precision="ieee")
    tl.store(c + row * n + column, total, mask=(row < m) & (column < n))


def bind(inputs: Inputs, output: torch.Tensor) -> Callable[[], torch.Tensor]:
    """A program for each tile of the output, row by row."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    m, n, k = inputs.dims
    grid = (triton.cdiv(m, TILE) * triton.cdiv(n, TILE),)

    def call() -> torch.Tensor:
        matmul_kernel[grid](a, b, output, m, n, k, TILE=TILE, num_warps=WARPS)
        return output

    return call
