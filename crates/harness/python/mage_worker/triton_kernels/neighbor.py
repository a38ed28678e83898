"""`y[i] = sum over the row's edges of w[e] x[index[e]]`, CSR: one node and 64 features a program, 32 edges a step."""

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from ..inputs import Inputs

EDGES = 32
FEATURES = 64
WARPS = 4


@triton.jit
def neighbor_kernel(a, weights, rowptr, indices, y, width, EDGES: tl.constexpr, FEATURES: tl.constexpr):
    """a and y (nodes, width), weights and indices (edges), rowptr (nodes + 1)."""
    program = tl.program_id(0)
    blocks = tl.cdiv(width, FEATURES)
    node = program // blocks
    feature = program % blocks * FEATURES + tl.arange(0, FEATURES)
    inside = feature < width
    first = tl.load(rowptr + node)
    last = tl.load(rowptr + node + 1)
    total = tl.zeros((FEATURES,), tl.float32)
    for start in range(first, last, EDGES):
        edge = start + tl.arange(0, EDGES)
        live = edge < last
        source = tl.load(indices + edge, mask=live, other=0)
        weight = tl.load(weights + edge, mask=live, other=0.0)
        x = tl.load(a + source[:, None] * width + feature[None, :], mask=live[:, None] & inside[None, :], other=0.0)
        total += tl.sum(weight[:, None] * x, axis=0)
    tl.store(y + node * width + feature, total, mask=inside)


def bind(inputs: Inputs, output: torch.Tensor) -> Callable[[], torch.Tensor]:
    """A program for each node and 64 features of it."""
    a, weights, rowptr, indices = (inputs.tensors[name] for name in ("a", "b", "rowptr", "indices"))
    nodes, width, _ = inputs.dims
    grid = (nodes * triton.cdiv(width, FEATURES),)

    def call() -> torch.Tensor:
        neighbor_kernel[grid](
            a, weights, rowptr, indices, output, width, EDGES=EDGES, FEATURES=FEATURES, num_warps=WARPS
        )
        return output

    return call
