"""`O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`.

Form `broadcast`: outer products in FP32, channels side by side as they lie in memory. Form `batched`: a batch of
tensor-core products, one a channel, of a tile that is read as it lies and transposed on the chip.
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


def candidates(dims: tuple[int, ...]) -> list[Config]:
    """Tiles of i, j, channels and k, warps, and the precisions of the products."""
    broadcast: list[Config] = [
        {"form": "broadcast", "i": i, "j": j, "c": c, "k": k, "warps": warps, "stages": 1}
        for c in (8, 16, 32)
        for i, j in ((4, 4), (4, 8), (8, 8), (8, 16), (16, 16), (16, 32))
        for k in (1, 4, 8)
        for warps in (2, 4, 8)
        if 4 <= i * j * c // (32 * warps) <= 32 and (c == 32 or i * j >= 64)
    ]
    batched: list[Config] = [
        {"form": "batched", "i": i, "j": j, "c": c, "k": k, "precision": precision, "warps": warps, "stages": stages}
        for precision in ("tf32", "tf32x3", "bf16x3", "bf16x6")
        for i, j, c in ((16, 16, 8), (16, 32, 8), (32, 32, 8), (16, 16, 16), (32, 32, 4), (32, 64, 4))
        for k in (16, 32)
        for warps in (4, 8)
        for stages in (2, 3)
        if precision in ("tf32x3", "bf16x3") or (k, stages, warps) == (16, 2, 4)
    ]
    return broadcast + batched


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
    constants = {**sizes, "EVEN": even, "PRECISION": config["precision"]}
    return [Launch(triangle_batched, grid, arguments, constants, config["warps"], config["stages"])]
