"""`triton-tuned`: the fastest of many Triton configurations that pass the check; output allocated once.

The choice is made when the operation is prepared, by measured time, or taken from an earlier preparation. Launches go
to the compiled kernel directly (see `launch`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from .. import tuning
from ..errors import WorkerError
from ..inputs import Inputs
from ..launch import bind_all, compile_all
from ..tuned_kernels import Config, gelu, layernorm, matmul, neighbor, triangle
from . import Prepared, Request

if TYPE_CHECKING:
    from ..device import Cuda

OPERATIONS = {
    "matmul": matmul,
    "gelu": gelu,
    "layernorm": layernorm,
    "triangle": triangle,
    "neighbor": neighbor,
}


def imports() -> None:
    """Nothing beyond this module."""


def prepare(inputs: Inputs, device: "Cuda", request: Request) -> Prepared:
    """Allocates the output, chooses a configuration unless one is given, and binds its kernels."""
    kernels = OPERATIONS[inputs.operation]
    output = torch.empty(inputs.output_shape, dtype=torch.float32, device=device.name)

    def bind(config: Config) -> Callable[[], torch.Tensor]:
        return bind_all(kernels.launches(inputs, output, config), output)

    def poison() -> None:
        output.fill_(float("nan"))

    if request.config is not None:
        try:
            call = bind(request.config)
        except KeyError as missing:
            raise WorkerError(
                f"config: found {request.config} without {missing}, expected one of {inputs.operation}"
            ) from missing
        return Prepared(call, poison, {"config": request.config})
    configs = kernels.candidates(inputs.dims)
    compile_all([launch for config in configs for launch in kernels.launches(inputs, output, config)])
    call, choice = tuning.choose(configs, bind, poison, inputs, request, device)
    return Prepared(call, poison, choice)
