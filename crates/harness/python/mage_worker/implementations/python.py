"""`python`: PyTorch eager. Every call allocates its output, as PyTorch does."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import gelu, layer_norm

from ..inputs import Inputs
from . import Prepared, Request

if TYPE_CHECKING:
    from ..device import Cuda

Call = Callable[[], torch.Tensor]


def imports() -> None:
    """Nothing beyond this module."""


def prepare(inputs: Inputs, device: "Cuda", _: Request) -> Prepared:
    """Binds the operation's PyTorch expression to `inputs`."""
    call = OPERATIONS[inputs.operation](inputs)

    def poison() -> None:
        call()  # leaves in the allocator the very blocks that the next call takes
        device.poison_free_memory()

    return Prepared(call, poison)


def _matmul(inputs: Inputs) -> Call:
    """(m, k) by (k, n) to (m, n); 1 launch."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    return lambda: a @ b


def _gelu(inputs: Inputs) -> Call:
    """(rows, width) and bias (width) to (rows, width); 2 launches: add, GELU."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    return lambda: gelu(a + b, approximate="tanh")


def _layernorm(inputs: Inputs) -> Call:
    """(rows, width), scale and shift (width) to (rows, width); 1 launch."""
    a, b, c = (inputs.tensors[name] for name in "abc")
    shape = (inputs.dims[1],)
    return lambda: layer_norm(a, shape, b, c, eps=1e-5)


def _triangle(inputs: Inputs) -> Call:
    """Two (n, n, channels) to (n, n, channels); 3 launches: two copies, a batched product.

    The result is a permuted view of the product's (channels, n, n).
    """
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    return lambda: torch.einsum("ikc,jkc->ijc", a, b)


def _neighbor(inputs: Inputs) -> Call:
    """(nodes, width) over a CSR graph to (nodes, width); 4 launches: zeros, gather, multiply, index_add.

    PyTorch's indexing works on int64: the row of each edge and the wide indices are made here, not in the call.
    """
    a, weights = inputs.tensors["a"], inputs.tensors["b"]
    nodes, _, edges = inputs.dims
    counts = inputs.tensors["rowptr"].long().diff()
    dest = torch.arange(nodes, device=a.device).repeat_interleave(counts, output_size=edges)
    indices = inputs.tensors["indices"].long()
    return lambda: torch.zeros_like(a).index_add_(0, dest, weights[:, None] * a[indices])


OPERATIONS: dict[str, Callable[[Inputs], Call]] = {
    "matmul": _matmul,
    "gelu": _gelu,
    "layernorm": _layernorm,
    "triangle": _triangle,
    "neighbor": _neighbor,
}
