"""`C[i,j] = sum_k A[i,k] B[k,j]`.

Form `direct`: one launch, FP32 tiles, products by the precision that the compiler is asked for. Form `split`: a first
launch writes each FP32 value as the sum of two BF16 values, a second multiplies them, `hh + hl + lh`; both count.
With `parts` above 1 the second cuts k into parts that add into an output which the first has set to 0; with `boxes` it
reads its tiles by tensor maps.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from ..inputs import Inputs
from ..launch import Launch
from . import Config

BLOCK = 2048
"""Elements that a program of `split_halves` takes."""


@triton.jit
def _place(program, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Row and column of a program's tile: GROUP rows of tiles are walked column by column, for the cache."""
    width = GROUP * tiles_n
    first = program // width * GROUP
    size = tl.minimum(tiles_m - first, GROUP)
    return first + program % width % size, program % width // size


@triton.jit
def matmul_direct(
    a, b, c, m, n, k,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    GROUP: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """a (m, k), b (k, n), c (m, n), row-major."""
    down, right = _place(tl.program_id(0), tl.cdiv(m, M), tl.cdiv(n, N), GROUP)
    row = down * M + tl.arange(0, M)[:, None]
    column = right * N + tl.arange(0, N)[None, :]
    across = tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        ka = start + across[None, :]
        kb = start + across[:, None]
        if EVEN:
            x = tl.load(a + row * k + ka)
            z = tl.load(b + kb * n + column)
        else:
            x = tl.load(a + row * k + ka, mask=(row < m) & (ka < k), other=0.0)
            z = tl.load(b + kb * n + column, mask=(kb < k) & (column < n), other=0.0)
        total = tl.dot(x, z, total, input_precision=PRECISION)
    tl.store(c + row * n + column, total, mask=(row < m) & (column < n))


@triton.jit
def _halves(x, offset, elements, high, low):
    inside = offset < elements
    value = tl.load(x + offset, mask=inside, other=0.0)
    top = value.to(tl.bfloat16)
    tl.store(high + offset, top, mask=inside)
    tl.store(low + offset, (value - top.to(tl.float32)).to(tl.bfloat16), mask=inside)


@triton.jit
def split_halves(a, b, c, a_high, a_low, b_high, b_low, in_a, in_b, in_c, BLOCK: tl.constexpr, CLEAR: tl.constexpr):
    """a (in_a), b (in_b) to their halves; with CLEAR, c (in_c) to 0."""
    program = tl.program_id(0)
    across = tl.arange(0, BLOCK)
    of_a = tl.cdiv(in_a, BLOCK)
    of_b = tl.cdiv(in_b, BLOCK)
    if program < of_a:
        _halves(a, program * BLOCK + across, in_a, a_high, a_low)
    elif program < of_a + of_b:
        _halves(b, (program - of_a) * BLOCK + across, in_b, b_high, b_low)
    elif CLEAR:
        offset = (program - of_a - of_b) * BLOCK + across
        tl.store(c + offset, tl.zeros((BLOCK,), tl.float32), mask=offset < in_c)


@triton.jit
def matmul_halves(
    a_high, a_low, b_high, b_low, c, m, n, k,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    GROUP: tl.constexpr, EVEN: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """Halves of a (m, k) and b (k, n), c (m, n), row-major; the second axis of programs is the part of k."""
    down, right = _place(tl.program_id(0), tl.cdiv(m, M), tl.cdiv(n, N), GROUP)
    row = down * M + tl.arange(0, M)[:, None]
    column = right * N + tl.arange(0, N)[None, :]
    across = tl.arange(0, K)
    size = tl.cdiv(tl.cdiv(k, K), PARTS) * K
    begin = tl.program_id(1) * size
    total = tl.zeros((M, N), tl.float32)
    for start in range(begin, tl.minimum(begin + size, k), K):
        ka = start + across[None, :]
        kb = start + across[:, None]
        in_a = row * k + ka
        in_b = kb * n + column
        if EVEN:
            ah = tl.load(a_high + in_a)
            al = tl.load(a_low + in_a)
            bh = tl.load(b_high + in_b)
            bl = tl.load(b_low + in_b)
        else:
            inside_a = (row < m) & (ka < k)
            inside_b = (kb < k) & (column < n)
            ah = tl.load(a_high + in_a, mask=inside_a, other=0.0)
            al = tl.load(a_low + in_a, mask=inside_a, other=0.0)
            bh = tl.load(b_high + in_b, mask=inside_b, other=0.0)
            bl = tl.load(b_low + in_b, mask=inside_b, other=0.0)
        total = tl.dot(al, bh, total)
        total = tl.dot(ah, bl, total)
        total = tl.dot(ah, bh, total)
    inside = (row < m) & (column < n)
    if PARTS == 1:
        tl.store(c + row * n + column, total, mask=inside)
    else:
        tl.atomic_add(c + row * n + column, total, mask=inside, sem="relaxed")


@triton.jit
def matmul_boxes(
    a_high, a_low, b_high, b_low, c, m, n, k,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """As `matmul_halves`, of tensor maps with boxes of M by K and K by N; what is outside reads as 0."""
    down, right = _place(tl.program_id(0), tl.cdiv(m, M), tl.cdiv(n, N), GROUP)
    size = tl.cdiv(tl.cdiv(k, K), PARTS) * K
    begin = tl.program_id(1) * size
    total = tl.zeros((M, N), tl.float32)
    for start in range(begin, tl.minimum(begin + size, k), K):
        ah = a_high.load([down * M, start])
        al = a_low.load([down * M, start])
        bh = b_high.load([start, right * N])
        bl = b_low.load([start, right * N])
        total = tl.dot(al, bh, total)
        total = tl.dot(ah, bl, total)
        total = tl.dot(ah, bh, total)
    row = down * M + tl.arange(0, M)[:, None]
    column = right * N + tl.arange(0, N)[None, :]
    inside = (row < m) & (column < n)
    if PARTS == 1:
        tl.store(c + row * n + column, total, mask=inside)
    else:
        tl.atomic_add(c + row * n + column, total, mask=inside, sem="relaxed")


def candidates(dims: tuple[int, ...]) -> list[Config]:
    """Tiles, warps, stages, the precisions of the products, and parts of k."""

    def direct(precision: str, m: int, n: int, k: int, warps: int, stages: int) -> Config:
        return {
            "form": "direct", "precision": precision, "m": m, "n": n, "k": k, "group": 8,
            "warps": warps, "stages": stages,
        }  # fmt: skip

    def split(m: int, n: int, k: int, parts: int, boxes: bool, warps: int, stages: int) -> Config:
        return {
            "form": "split", "boxes": boxes, "m": m, "n": n, "k": k, "parts": parts, "group": 8,
            "warps": warps, "stages": stages,
        }  # fmt: skip

    exact = [
        direct(precision, *tile)
        for precision in ("ieee", "tf32x3", "bf16x6")
        for tile in ((128, 64, 64, 8, 3), (128, 64, 32, 8, 4), (64, 64, 64, 4, 3))
    ]
    short = [direct("tf32", 128, 64, 32, 4, 4)] + [
        direct("bf16x3", *tile)
        for tile in ((64, 64, 64, 4, 3), (64, 64, 64, 4, 4), (64, 128, 32, 4, 4), (128, 64, 64, 8, 3))
    ]
    halves = [
        split(*tile, parts, boxes, warps, stages)
        for boxes in ((False, True) if dims[1] % 8 == 0 and dims[2] % 8 == 0 else (False,))
        for tile, parts, warps in (
            ((64, 64, 64), 1, 4), ((64, 64, 128), 1, 4), ((64, 128, 64), 1, 4), ((128, 64, 64), 1, 4),
            ((128, 64, 64), 1, 8), ((64, 128, 64), 2, 4), ((128, 128, 64), 2, 4), ((128, 128, 64), 2, 8),
            ((128, 256, 32), 4, 8),
        )
        for stages in ((2, 3, 4, 5) if boxes else (3,))
        if (tile[0] + tile[1]) * tile[2] * 4 * stages <= 220 * 1024
    ]  # fmt: skip
    return exact + short + halves


def launches(inputs: Inputs, output: torch.Tensor, config: Config) -> list[Launch]:
    """One launch, or for `split` two and their scratch memory."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    m, n, k = inputs.dims
    parts = config.get("parts", 1)
    sizes = {name.upper(): config[name] for name in ("m", "n", "k", "group")}
    tiles = triton.cdiv(m, sizes["M"]) * triton.cdiv(n, sizes["N"])
    even = m % sizes["M"] == 0 and n % sizes["N"] == 0 and k % (sizes["K"] * parts) == 0
    warps, stages = config["warps"], config["stages"]
    if config["form"] == "direct":
        constants = {**sizes, "EVEN": even, "PRECISION": config["precision"]}
        return [Launch(matmul_direct, (tiles, 1, 1), (a, b, output, m, n, k), constants, warps, stages)]
    halves = [torch.empty_like(x, dtype=torch.bfloat16) for x in (a, a, b, b)]
    counts = (a.numel(), b.numel(), output.numel())
    clear = parts > 1
    blocks = sum(triton.cdiv(count, BLOCK) for count in counts[: 3 if clear else 2])
    first = Launch(
        split_halves, (blocks, 1, 1), (a, b, output, *halves, *counts), {"BLOCK": BLOCK, "CLEAR": clear}, 8, 1
    )
    if config["boxes"]:
        boxes = [
            TensorDescriptor.from_tensor(half, [sizes["M"], sizes["K"]] if index < 2 else [sizes["K"], sizes["N"]])
            for index, half in enumerate(halves)
        ]
        constants = {**sizes, "PARTS": parts}
        second = Launch(matmul_boxes, (tiles, parts, 1), (*boxes, output, m, n, k), constants, warps, stages)
    else:
        constants = {**sizes, "EVEN": even, "PARTS": parts}
        second = Launch(matmul_halves, (tiles, parts, 1), (*halves, output, m, n, k), constants, warps, stages)
    return [first, second]
