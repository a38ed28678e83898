"""Layer normalisation, eps 1e-5, with scale and shift: whole rows in registers, read once, two-pass variance.

A row is one block padded to a power of two, or three equal ones: 768 is three times 256, with nothing padded.
"""

import torch
import triton
import triton.language as tl

from ..errors import Unavailable
from ..inputs import Inputs
from ..launch import Launch
from . import Config

MAX_WIDTH = 2**16
"""Widest row that is held in registers."""


@triton.jit
def layer_norm_one(a, b, c, y, rows, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """a and y (rows, width), b and c (width)."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    offset = row * width + column
    inside = (row < rows) & (column < width)
    x = tl.load(a + offset, mask=inside, other=0.0)
    scale = tl.load(b + column, mask=column < width, other=0.0)
    shift = tl.load(c + column, mask=column < width, other=0.0)
    mean = tl.sum(x, axis=1, keep_dims=True) / width
    centred = tl.where(column < width, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=1, keep_dims=True) / width
    tl.store(y + offset, centred * tl.rsqrt(variance + 1e-5) * scale + shift, mask=inside)


@triton.jit
def layer_norm_three(a, b, c, y, rows, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """a and y (rows, width), b and c (width); width <= 3 BLOCK."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    first = tl.arange(0, BLOCK)[None, :]
    second = BLOCK + first
    third = 2 * BLOCK + first
    live = row < rows
    x = tl.load(a + row * width + first, mask=live & (first < width), other=0.0)
    z = tl.load(a + row * width + second, mask=live & (second < width), other=0.0)
    v = tl.load(a + row * width + third, mask=live & (third < width), other=0.0)
    mean = tl.sum(x + z + v, axis=1, keep_dims=True) / width
    x = tl.where(first < width, x - mean, 0.0)
    z = tl.where(second < width, z - mean, 0.0)
    v = tl.where(third < width, v - mean, 0.0)
    inverse = tl.rsqrt(tl.sum(x * x + z * z + v * v, axis=1, keep_dims=True) / width + 1e-5)
    _scale(x * inverse, b, c, y, row, first, width, live)
    _scale(z * inverse, b, c, y, row, second, width, live)
    _scale(v * inverse, b, c, y, row, third, width, live)


@triton.jit
def _scale(x, b, c, y, row, column, width, live):
    scale = tl.load(b + column, mask=column < width, other=0.0)
    shift = tl.load(c + column, mask=column < width, other=0.0)
    tl.store(y + row * width + column, x * scale + shift, mask=live & (column < width))


def candidates(dims: tuple[int, ...]) -> list[Config]:
    """Rows a program and warps, in one block a row and in three."""
    _, width = dims
    if width > MAX_WIDTH:
        raise Unavailable(f"width: found {width}, expected at most {MAX_WIDTH}, for a row is held in registers")
    forms = ["one", "three"] if 3 * _third(width) < triton.next_power_of_2(width) else ["one"]
    return [
        {"form": form, "rows": rows, "warps": warps, "stages": 1}
        for form in forms
        for rows in (1, 2, 4, 8)
        for warps in (1, 2, 4, 8)
        if 4 <= rows * triton.next_power_of_2(width) // (32 * warps) <= 64 or rows == 1 and warps in (1, 4)
    ]


def launches(inputs: Inputs, output: torch.Tensor, config: Config) -> list[Launch]:
    """One launch."""
    a, b, c = (inputs.tensors[name] for name in "abc")
    rows, width = inputs.dims
    arguments = (a, b, c, output, rows, width)
    grid = (triton.cdiv(rows, config["rows"]), 1, 1)
    if config["form"] == "one":
        constants = {"ROWS": config["rows"], "BLOCK": triton.next_power_of_2(width)}
        return [Launch(layer_norm_one, grid, arguments, constants, config["warps"], 1)]
    constants = {"ROWS": config["rows"], "BLOCK": _third(width)}
    return [Launch(layer_norm_three, grid, arguments, constants, config["warps"], 1)]


def _third(width: int) -> int:
    """The power of two that holds a third of a row."""
    return triton.next_power_of_2(triton.cdiv(width, 3))
