"""Bias and tanh-form GELU by the identity `0.5 z (1 + tanh u) = z / (1 + exp(-2 u))`: one exponential, one division."""

import math

import torch
import triton
import triton.language as tl

from ..inputs import Inputs
from ..launch import Launch
from . import Config


@triton.jit
def _gelu(z):
    """`exp2` gives inf or 0 at the ends, and the quotient 0 or z."""
    SCALE: tl.constexpr = -2.0 * 0.7978845608 * 1.4426950408889634
    return z / (1.0 + tl.exp2(SCALE * (z + 0.044715 * z * z * z)))


@triton.jit
def bias_gelu_flat(a, b, y, elements, width, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    """a and y (elements), rows of `width` end to end; b (width)."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        z = tl.load(a + offset) + tl.load(b + offset % width)
        tl.store(y + offset, _gelu(z))
    else:
        inside = offset < elements
        z = tl.load(a + offset, mask=inside, other=0.0) + tl.load(b + offset % width, mask=inside, other=0.0)
        tl.store(y + offset, _gelu(z), mask=inside)


@triton.jit
def bias_gelu_columns(a, b, y, rows, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr, EVEN: tl.constexpr):
    """a and y (rows, width), b (width): a program has its columns' bias once, for all of its rows."""
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    offset = row * width + column[None, :]
    if EVEN:
        z = tl.load(a + offset) + tl.load(b + column)[None, :]
        tl.store(y + offset, _gelu(z))
    else:
        inside = (row < rows) & (column < width)[None, :]
        bias = tl.load(b + column, mask=column < width, other=0.0)
        z = tl.load(a + offset, mask=inside, other=0.0) + bias[None, :]
        tl.store(y + offset, _gelu(z), mask=inside)


def candidates(dims: tuple[int, ...]) -> list[Config]:
    """Blocks of the flat array, and tiles of rows by columns."""
    flat: list[Config] = [
        {"form": "flat", "block": block, "warps": warps, "stages": 1} for block in (1024, 2048) for warps in (4, 8)
    ]
    columns: list[Config] = [
        {"form": "columns", "rows": rows, "columns": across, "warps": warps, "stages": 1}
        for across in (64, 128, 256)
        for rows in (4, 8, 16, 32)
        for warps in (2, 4, 8)
        if 128 * warps <= rows * across <= 512 * warps and rows * across >= 1024
    ]
    return flat + columns


def launches(inputs: Inputs, output: torch.Tensor, config: Config) -> list[Launch]:
    """One launch."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    rows, width = inputs.dims
    if config["form"] == "flat":
        elements, block = math.prod(inputs.dims), config["block"]
        grid = (triton.cdiv(elements, block), 1, 1)
        constants = {"BLOCK": block, "EVEN": elements % block == 0}
        return [Launch(bias_gelu_flat, grid, (a, b, output, elements, width), constants, config["warps"], 1)]
    down, across = config["rows"], config["columns"]
    grid = (triton.cdiv(width, across), triton.cdiv(rows, down), 1)
    constants = {"ROWS": down, "COLUMNS": across, "EVEN": rows % down == 0 and width % across == 0}
    return [Launch(bias_gelu_columns, grid, (a, b, output, rows, width), constants, config["warps"], 1)]
