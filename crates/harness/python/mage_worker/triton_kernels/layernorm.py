"""Layer normalisation, eps 1e-5, with scale and shift: one row, padded to a power of two, a program."""

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from ..errors import WorkerError
from ..inputs import Inputs

MAX_WIDTH = 2**20
"""Largest block that Triton takes."""
WARPS = 4


@triton.jit
def layer_norm_kernel(a, b, c, y, width, BLOCK: tl.constexpr):
    """a and y (rows, width), b and c (width)."""
    row = tl.program_id(0) * width
    column = tl.arange(0, BLOCK)
    inside = column < width
    x = tl.load(a + row + column, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / width
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / width
    scale = tl.load(b + column, mask=inside, other=0.0)
    shift = tl.load(c + column, mask=inside, other=0.0)
    tl.store(y + row + column, centred * (1.0 / tl.sqrt(variance + 1e-5)) * scale + shift, mask=inside)


def bind(inputs: Inputs, output: torch.Tensor) -> Callable[[], torch.Tensor]:
    """A program for each row."""
    a, b, c = (inputs.tensors[name] for name in "abc")
    rows, width = inputs.dims
    if width > MAX_WIDTH:
        raise WorkerError(f"dims: found width = {width}, expected at most {MAX_WIDTH} for triton layernorm")
    block = triton.next_power_of_2(width)
    grid = (rows,)

    def call() -> torch.Tensor:
        layer_norm_kernel[grid](a, b, c, output, width, BLOCK=block, num_warps=WARPS)
        return output

    return call
