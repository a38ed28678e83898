"""`y[i] = sum over the row's edges of w[e] x[index[e]]`, CSR.

Form `edges`: one node a program, several of its edges a step, summed across. Form `nodes`: several nodes a program,
the steps of the longest of them, several edges of each in flight.
"""

import torch
import triton
import triton.language as tl

from ..inputs import Inputs
from ..launch import Launch
from . import Config


@triton.jit
def neighbor_edges(
    a, weights, rowptr, indices, y, width, EDGES: tl.constexpr, FEATURES: tl.constexpr, EVEN: tl.constexpr
):
    """a and y (nodes, width), weights and indices (edges), rowptr (nodes + 1)."""
    node = tl.program_id(0)
    feature = tl.program_id(1) * FEATURES + tl.arange(0, FEATURES)
    inside = feature < width
    first = tl.load(rowptr + node)
    last = tl.load(rowptr + node + 1)
    total = tl.zeros((EDGES, FEATURES), tl.float32)
    for start in range(first, last, EDGES):
        edge = start + tl.arange(0, EDGES)
        live = edge < last
        source = tl.load(indices + edge, mask=live, other=0)
        weight = tl.load(weights + edge, mask=live, other=0.0)
        if EVEN:
            x = tl.load(a + source[:, None] * width + feature[None, :], mask=live[:, None], other=0.0)
        else:
            x = tl.load(a + source[:, None] * width + feature[None, :], mask=live[:, None] & inside[None, :], other=0.0)
        total += weight[:, None] * x
    tl.store(y + node * width + feature, tl.sum(total, axis=0), mask=inside)


@triton.jit
def neighbor_nodes(
    a, weights, rowptr, indices, y, nodes, width, NODES: tl.constexpr, STEP: tl.constexpr, FEATURES: tl.constexpr
):
    """a and y (nodes, width), weights and indices (edges), rowptr (nodes + 1)."""
    node = tl.program_id(0) * NODES + tl.arange(0, NODES)
    feature = tl.program_id(1) * FEATURES + tl.arange(0, FEATURES)
    inside = (feature < width)[None, :]
    first = tl.load(rowptr + node, mask=node < nodes, other=0)
    last = tl.load(rowptr + node + 1, mask=node < nodes, other=0)
    total = tl.zeros((NODES, FEATURES), tl.float32)
    for start in range(0, tl.max(last - first), STEP):
        for ahead in tl.static_range(STEP):
            edge = first + start + ahead
            live = edge < last
            source = tl.load(indices + edge, mask=live, other=0)
            weight = tl.load(weights + edge, mask=live, other=0.0)
            x = tl.load(a + source[:, None] * width + feature[None, :], mask=live[:, None] & inside, other=0.0)
            total += weight[:, None] * x
    tl.store(y + node[:, None] * width + feature[None, :], total, mask=(node < nodes)[:, None] & inside)


def candidates(dims: tuple[int, ...]) -> list[Config]:
    """Edges a step, nodes a program, features a program and warps."""
    features = [size for size in (32, 64, 128) if size <= max(32, triton.next_power_of_2(dims[1]))]
    edges: list[Config] = [
        {"form": "edges", "edges": edges, "features": across, "warps": warps, "stages": stages}
        for across in features
        for edges in (4, 8, 16)
        for warps in (1, 2)
        for stages in (1,)
        if edges * across >= 64 * warps
    ]
    nodes: list[Config] = [
        {"form": "nodes", "nodes": nodes, "step": step, "features": across, "warps": warps, "stages": 1}
        for across in features
        for nodes in (1, 2, 4)
        for step in (4, 6, 8, 12)
        for warps in (1, 2)
        if nodes * across >= 64 * warps
    ]
    return edges + nodes


def launches(inputs: Inputs, output: torch.Tensor, config: Config) -> list[Launch]:
    """One launch."""
    a, weights, rowptr, indices = (inputs.tensors[name] for name in ("a", "b", "rowptr", "indices"))
    nodes, width, _ = inputs.dims
    across = config["features"]
    blocks = triton.cdiv(width, across)
    warps, stages = config["warps"], config["stages"]
    if config["form"] == "edges":
        arguments = (a, weights, rowptr, indices, output, width)
        constants = {"EDGES": config["edges"], "FEATURES": across, "EVEN": width % across == 0}
        return [Launch(neighbor_edges, (nodes, blocks, 1), arguments, constants, warps, stages)]
    grid = (triton.cdiv(nodes, config["nodes"]), blocks, 1)
    constants = {"NODES": config["nodes"], "STEP": config["step"], "FEATURES": across}
    return [Launch(neighbor_nodes, grid, (a, weights, rowptr, indices, output, nodes, width), constants, warps, stages)]
