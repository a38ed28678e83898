"""`triton`: fixed, untuned tiles; one launch a call into one output, allocated once."""

from typing import TYPE_CHECKING

import torch

from ..inputs import Inputs
from ..triton_kernels import gelu, layernorm, matmul, neighbor, triangle
from . import Prepared, Request

if TYPE_CHECKING:
    from ..device import Cuda

OPERATIONS = {
    "matmul": matmul.bind,
    "gelu": gelu.bind,
    "layernorm": layernorm.bind,
    "triangle": triangle.bind,
    "neighbor": neighbor.bind,
}


def imports() -> None:
    """Nothing beyond this module."""


def prepare(inputs: Inputs, device: "Cuda", _: Request) -> Prepared:
    """Allocates the output and binds the operation's kernel to it."""
    output = torch.empty(inputs.output_shape, dtype=torch.float32, device=device.name)
    call = OPERATIONS[inputs.operation](inputs, output)

    def poison() -> None:
        output.fill_(float("nan"))

    return Prepared(call, poison)
