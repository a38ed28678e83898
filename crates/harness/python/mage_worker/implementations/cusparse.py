"""`cusparse`: the neighbor operation as a CSR matrix by a dense matrix, cuSPARSE's SpMM through PyTorch.

A reference for that one operation. The matrix object is made here, outside the call, of the very arrays that are
resident: the edges' weights are its values, nothing is scaled or copied.
"""

import warnings
from typing import TYPE_CHECKING

import torch

from ..errors import Unavailable
from ..inputs import Inputs
from . import Prepared, Request

if TYPE_CHECKING:
    from ..device import Cuda


def imports() -> None:
    """Nothing beyond this module."""


def prepare(inputs: Inputs, device: "Cuda", request: Request) -> Prepared:
    """Binds `matrix @ a`; every call allocates its output, as PyTorch does."""
    if inputs.operation != "neighbor":
        raise Unavailable("cuSPARSE has no routine for it: it computes neighbor alone")
    nodes, _, edges = inputs.dims
    if edges > nodes * nodes:
        raise Unavailable(f"cuSPARSE refuses more values, {edges}, than a matrix of {nodes} x {nodes} has places")
    a, weights, rowptr, indices = (inputs.tensors[name] for name in ("a", "b", "rowptr", "indices"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CSR support is called a beta
        # A row may name a node twice, which PyTorch's own invariants refuse and the product adds up.
        matrix = torch.sparse_csr_tensor(rowptr, indices, weights, (nodes, nodes), check_invariants=False)

    def call() -> torch.Tensor:
        return matrix @ a

    def poison() -> None:
        call()  # leaves in the allocator the very block that the next call takes
        device.poison_free_memory()

    return Prepared(call, poison)
