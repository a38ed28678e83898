"""`O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`.

Form `broadcast`: outer products in FP32, channels side by side as they lie in memory. Form `batched`: a batch of
tensor-core products, one a channel, of a tile that is read as it lies and transposed on the chip. Form `split`: a first
launch writes each FP32 value as the sum of two BF16 values, channel by channel, a second multiplies those; both count.
"""

import torch
import triton
import triton.language as tl

from ..inputs import Inputs
from ..launch import Launch
from . import Config


@triton.jit
def triangle_broadcast(
    a, b, o, n, channels, TI: tl.constexpr, TJ: tl.constexpr, TC: tl.constexpr, TK: tl.constexpr, EVEN: tl.constexpr
):
    """a, b and o (n, n, channels), row-major."""
    c = tl.program_id(0) * TC + tl.arange(0, TC)[None, :]
    j = tl.program_id(1) * TJ + tl.arange(0, TJ)[:, None]
    i = tl.program_id(2) * TI + tl.arange(0, TI)[:, None]
    total = tl.zeros((TI, TJ, TC), tl.float32)
    for start in range(0, n, TK):
        for ahead in tl.static_range(TK):
            k = start + ahead
            if EVEN:
                x = tl.load(a + (i * n + k) * channels + c)
                z = tl.load(b + (j * n + k) * channels + c)
            else:
                x = tl.load(a + (i * n + k) * channels + c, mask=(i < n) & (k < n) & (c < channels), other=0.0)
                z = tl.load(b + (j * n + k) * channels + c, mask=(j < n) & (k < n) & (c < channels), other=0.0)
            total += x[:, None, :] * z[None, :, :]
    i = tl.program_id(2) * TI + tl.arange(0, TI)[:, None, None]
    j = tl.program_id(1) * TJ + tl.arange(0, TJ)[None, :, None]
    c = tl.program_id(0) * TC + tl.arange(0, TC)[None, None, :]
    tl.store(o + (i * n + j) * channels + c, total, mask=(i < n) & (j < n) & (c < channels))


@triton.jit
def triangle_batched(
    a, b, o, n, channels,
    TI: tl.constexpr, TJ: tl.constexpr, TC: tl.constexpr, TK: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """a, b and o (n, n, channels), row-major."""
    c = tl.program_id(0) * TC + tl.arange(0, TC)[None, None, :]
    j = tl.program_id(1) * TJ + tl.arange(0, TJ)[:, None, None]
    i = tl.program_id(2) * TI + tl.arange(0, TI)[:, None, None]
    total = tl.zeros((TC, TI, TJ), tl.float32)
    for start in range(0, n, TK):
        k = start + tl.arange(0, TK)[None, :, None]
        if EVEN:
            x = tl.load(a + (i * n + k) * channels + c)
            z = tl.load(b + (j * n + k) * channels + c)
        else:
            x = tl.load(a + (i * n + k) * channels + c, mask=(i < n) & (k < n) & (c < channels), other=0.0)
            z = tl.load(b + (j * n + k) * channels + c, mask=(j < n) & (k < n) & (c < channels), other=0.0)
        total = tl.dot(tl.permute(x, (2, 0, 1)), tl.permute(z, (2, 1, 0)), total, input_precision=PRECISION)
    row = tl.program_id(2) * TI + tl.arange(0, TI)[:, None, None]
    column = tl.program_id(1) * TJ + tl.arange(0, TJ)[None, :, None]
    inside = (row < n) & (column < n) & (c < channels)
    tl.store(o + (row * n + column) * channels + c, tl.permute(total, (1, 2, 0)), mask=inside)


@triton.jit
def split_channels(a, b, a_high, a_low, b_high, b_low, pairs, channels, TR: tl.constexpr, TC: tl.constexpr):
    """a and b (pairs, channels) to their halves (channels, pairs); the second axis of programs is which of them."""
    row = tl.program_id(0) * TR + tl.arange(0, TR)
    c = tl.program_id(2) * TC + tl.arange(0, TC)
    if tl.program_id(1) == 0:
        _split(a, a_high, a_low, row, c, pairs, channels)
    else:
        _split(b, b_high, b_low, row, c, pairs, channels)


@triton.jit
def _split(x, high, low, row, c, pairs, channels):
    inside = (row < pairs)[:, None] & (c < channels)[None, :]
    value = tl.trans(tl.load(x + row[:, None] * channels + c[None, :], mask=inside, other=0.0))
    top = value.to(tl.bfloat16)
    place = c[:, None] * pairs + row[None, :]
    inside = (c < channels)[:, None] & (row < pairs)[None, :]
    tl.store(high + place, top, mask=inside)
    tl.store(low + place, (value - top.to(tl.float32)).to(tl.bfloat16), mask=inside)


@triton.jit
def triangle_halves(
    a_high, a_low, b_high, b_low, o, n, channels,
    TI: tl.constexpr, TJ: tl.constexpr, TC: tl.constexpr, TK: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    """Halves of a and b (channels, n, n), o (n, n, channels)."""
    c = tl.program_id(0) * TC + tl.arange(0, TC)[:, None, None]
    j = tl.program_id(1) * TJ + tl.arange(0, TJ)[None, :, None]
    i = tl.program_id(2) * TI + tl.arange(0, TI)[None, :, None]
    total = tl.zeros((TC, TI, TJ), tl.float32)
    for start in range(0, n, TK):
        k = start + tl.arange(0, TK)[None, None, :]
        in_a = (c * n + i) * n + k
        in_b = (c * n + j) * n + k
        if EVEN:
            ah = tl.load(a_high + in_a)
            al = tl.load(a_low + in_a)
            bh = tl.permute(tl.load(b_high + in_b), (0, 2, 1))
            bl = tl.permute(tl.load(b_low + in_b), (0, 2, 1))
        else:
            inside_a = (c < channels) & (i < n) & (k < n)
            inside_b = (c < channels) & (j < n) & (k < n)
            ah = tl.load(a_high + in_a, mask=inside_a, other=0.0)
            al = tl.load(a_low + in_a, mask=inside_a, other=0.0)
            bh = tl.permute(tl.load(b_high + in_b, mask=inside_b, other=0.0), (0, 2, 1))
            bl = tl.permute(tl.load(b_low + in_b, mask=inside_b, other=0.0), (0, 2, 1))
        total = tl.dot(al, bh, total)
        total = tl.dot(ah, bl, total)
        total = tl.dot(ah, bh, total)
    row = tl.program_id(2) * TI + tl.arange(0, TI)[:, None, None]
    column = tl.program_id(1) * TJ + tl.arange(0, TJ)[None, :, None]
    channel = tl.program_id(0) * TC + tl.arange(0, TC)[None, None, :]
    inside = (row < n) & (column < n) & (channel < channels)
    tl.store(o + (row * n + column) * channels + channel, tl.permute(total, (1, 2, 0)), mask=inside)


def candidates(dims: tuple[int, ...]) -> list[Config]:
    """Tiles of i, j, channels and k, warps, and the precisions of the products."""
    broadcast: list[Config] = [
        {"form": "broadcast", "i": i, "j": j, "c": c, "k": k, "warps": warps, "stages": stages}
        for i, j, c, warps in ((8, 8, 8, 4), (4, 8, 32, 8), (4, 4, 32, 4), (8, 8, 16, 8))
        for k, stages in ((1, 1), (1, 3), (1, 4), (2, 3))
    ]
    batched: list[Config] = [
        {"form": "batched", "i": i, "j": j, "c": c, "k": 16, "precision": precision, "warps": warps, "stages": 3}
        for precision in ("tf32", "tf32x3", "bf16x3", "bf16x6")
        for i, j, c in ((16, 16, 8), (16, 32, 8), (32, 32, 4))
        for warps in (4, 8)
        if precision in ("tf32x3", "bf16x3") or warps == 4
    ]
    split: list[Config] = [
        {"form": "split", "i": i, "j": j, "c": c, "k": k, "warps": warps, "stages": stages}
        for i, j, c in ((16, 16, 8), (16, 32, 8), (32, 32, 8), (32, 32, 4), (64, 32, 4), (64, 64, 2))
        for k in (32, 64)
        for warps in (4, 8)
        for stages in (2, 3)
        if (i + j) * c * k * 4 * stages <= 200 * 1024
    ]
    return broadcast + batched + split


def launches(inputs: Inputs, output: torch.Tensor, config: Config) -> list[Launch]:
    """One launch."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    n, channels = inputs.dims
    sizes = {f"T{name.upper()}": config[name] for name in "ijck"}
    even = channels % sizes["TC"] == 0 and all(n % sizes[name] == 0 for name in ("TI", "TJ", "TK"))
    grid = (triton.cdiv(channels, sizes["TC"]), triton.cdiv(n, sizes["TJ"]), triton.cdiv(n, sizes["TI"]))
    arguments = (a, b, output, n, channels)
    if config["form"] == "broadcast":
        constants = {**sizes, "EVEN": even}
        return [Launch(triangle_broadcast, grid, arguments, constants, config["warps"], config["stages"])]
    if config["form"] == "split":
        halves = [torch.empty_like(x, dtype=torch.bfloat16) for x in (a, a, b, b)]
        rows, across = 64, min(32, triton.next_power_of_2(channels))
        blocks = (triton.cdiv(n * n, rows), 2, triton.cdiv(channels, across))
        first = Launch(split_channels, blocks, (a, b, *halves, n * n, channels), {"TR": rows, "TC": across}, 4, 1)
        both = (*halves, output, n, channels)
        return [first, Launch(triangle_halves, grid, both, {**sizes, "EVEN": even}, config["warps"], config["stages"])]
    constants = {**sizes, "EVEN": even, "PRECISION": config["precision"]}
    return [Launch(triangle_batched, grid, arguments, constants, config["warps"], config["stages"])]
