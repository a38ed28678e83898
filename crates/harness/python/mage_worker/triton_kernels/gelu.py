"""Bias and tanh-form GELU: `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))`, 256 elements a program."""

import math
from collections.abc import Callable

import torch
import triton
import triton.language as tl

from ..inputs import Inputs

BLOCK = 256
WARPS = 4


@triton.jit
def bias_gelu_kernel(a, b, y, elements, width, BLOCK: tl.constexpr):
    """a and y (elements), rows of `width` end to end; b (width)."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < elements
    z = tl.load(a + offset, mask=inside, other=0.0) + tl.load(b + offset % width, mask=inside, other=0.0)
    u = 0.7978845608 * (z + 0.044715 * z * z * z)
    tanh = 1.0 - 2.0 / (tl.exp(2.0 * u) + 1.0)  # exp gives inf or 0 at the ends, and tanh 1 or -1
    tl.store(y + offset, 0.5 * z * (1.0 + tanh), mask=inside)


def bind(inputs: Inputs, output: torch.Tensor) -> Callable[[], torch.Tensor]:
    """A program for each 256 elements of the output."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    elements, width = math.prod(inputs.dims), inputs.dims[1]
    grid = (triton.cdiv(elements, BLOCK),)

    def call() -> torch.Tensor:
        bias_gelu_kernel[grid](a, b, output, elements, width, BLOCK=BLOCK, num_warps=WARPS)
        return output

    return call
