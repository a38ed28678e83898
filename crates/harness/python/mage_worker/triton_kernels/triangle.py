"""`O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`: one 32x32 tile of (i, j) in one channel a program, 32 of k a step."""

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from ..inputs import Inputs

TILE = 32
WARPS = 4


@triton.jit
def triangle_kernel(a, b, o, n, channels, TILE: tl.constexpr):
    """a, b and o (n, n, channels), row-major."""
    program = tl.program_id(0)
    tiles = tl.cdiv(n, TILE)
    channel = program // (tiles * tiles)
    i = program // tiles % tiles * TILE + tl.arange(0, TILE)[:, None]
    j = program % tiles * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, n, TILE):
        k_across = start + tl.arange(0, TILE)[None, :]
        k_down = start + tl.arange(0, TILE)[:, None]
        a_tile = tl.load(a + (i * n + k_across) * channels + channel, mask=(i < n) & (k_across < n), other=0.0)
        b_tile = tl.load(b + (j * n + k_down) * channels + channel, mask=(j < n) & (k_down < n), other=0.0)
        total = tl.dot(a_tile, b_tile, total, input_precision="ieee")
    tl.store(o + (i * n + j) * channels + channel, total, mask=(i < n) & (j < n))


def bind(inputs: Inputs, output: torch.Tensor) -> Callable[[], torch.Tensor]:
    """A program for each tile of each channel, channel by channel."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    n, channels = inputs.dims
    grid = (triton.cdiv(n, TILE) ** 2 * channels,)

    def call() -> torch.Tensor:
        triangle_kernel[grid](a, b, output, n, channels, TILE=TILE, num_warps=WARPS)
        return output

    return call
