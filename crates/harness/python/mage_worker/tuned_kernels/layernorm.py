"""Layer normalisation, eps 1e-5, with scale and shift: whole rows in registers, read once, two-pass variance.

A row is one block padded to a power of two, or two: the largest power of two within the width, and the rest padded to
one. 768 is 512 and 256, with nothing padded.
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
def layer_norm_two(a, b, c, y, rows, width, ROWS: tl.constexpr, HEAD: tl.constexpr, TAIL: tl.constexpr):
    """a and y (rows, width), b and c (width); HEAD <= width < HEAD + TAIL + 1."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    head = tl.arange(0, HEAD)[None, :]
    tail = HEAD + tl.arange(0, TAIL)[None, :]
    live = row < rows
    x = tl.load(a + row * width + head, mask=live, other=0.0)
    z = tl.load(a + row * width + tail, mask=live & (tail < width), other=0.0)
    scale_x = tl.load(b + head)
    shift_x = tl.load(c + head)
    scale_z = tl.load(b + tail, mask=tail < width, other=0.0)
    shift_z = tl.load(c + tail, mask=tail < width, other=0.0)
    mean = (tl.sum(x, axis=1, keep_dims=True) + tl.sum(z, axis=1, keep_dims=True)) / width
    x = x - mean
    z = tl.where(tail < width, z - mean, 0.0)
    variance = (tl.sum(x * x, axis=1, keep_dims=True) + tl.sum(z * z, axis=1, keep_dims=True)) / width
    inverse = tl.rsqrt(variance + 1e-5)
    tl.store(y + row * width + head, x * inverse * scale_x + shift_x, mask=live)
    tl.store(y + row * width + tail, z * inverse * scale_z + shift_z, mask=live & (tail < width))


def candidates(dims: tuple[int, ...]) -> list[Config]:
    """Rows a program and warps, in one block a row and in two."""
    _, width = dims
    if width > MAX_WIDTH:
        raise Unavailable(f"width: found {width}, expected at most {MAX_WIDTH}, for a row is held in registers")
    forms = ["one"] if width == triton.next_power_of_2(width) else ["one", "two"]
    return [
        {"form": form, "rows": rows, "warps": warps, "stages": 1}
        for form in forms
        for rows in (1, 2, 4, 8, 16)
        for warps in (1, 2, 4, 8, 16)
        if 4 <= rows * triton.next_power_of_2(width) // (32 * warps) <= 64 or rows == 1 and warps in (1, 4)
    ]


def launches(inputs: Inputs, output: torch.Tensor, config: Config) -> list[Launch]:
    """One launch."""
    a, b, c = (inputs.tensors[name] for name in "abc")
    rows, width = inputs.dims
    arguments = (a, b, c, output, rows, width)
    grid = (triton.cdiv(rows, config["rows"]), 1, 1)
    block = triton.next_power_of_2(width)
    if config["form"] == "one" or block == width:
        constants = {"ROWS": config["rows"], "BLOCK": block}
        return [Launch(layer_norm_one, grid, arguments, constants, config["warps"], 1)]
    constants = {"ROWS": config["rows"], "HEAD": block // 2, "TAIL": triton.next_power_of_2(width - block // 2)}
    return [Launch(layer_norm_two, grid, arguments, constants, config["warps"], 1)]
