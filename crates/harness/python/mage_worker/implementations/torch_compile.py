"""`torch-compile`: the PyTorch expression through `torch.compile`, tuned to the full but without CUDA graphs.

The mode is `max-autotune-no-cudagraphs`: the same search over kernels and tiles as `max-autotune`, with the result
called as ordinary launches. A captured graph would copy inputs, hand out one static output, and stand in a profile as
one graph launch: another call path than that of the other implementations.

Where an expression can be written in more than one way that a compiler treats differently, each is compiled, and the
fastest whose whole output passes is kept. What the compiler emitted is recorded: prepared again from a choice, it must
emit the same.
"""

import re
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import torch

from .. import tuning
from ..errors import Unavailable, WorkerError
from ..inputs import Inputs
from . import Prepared, Request, python

if TYPE_CHECKING:
    from ..device import Cuda

MODE = "max-autotune-no-cudagraphs"
Call = Callable[[], torch.Tensor]


def _broadcast(inputs: Inputs) -> Call:
    """The triangle contraction as a sum of products that the compiler fuses into one reduction."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    return lambda: (a[:, None] * b[None]).sum(2)


EXPRESSIONS: dict[str, dict[str, Callable[[Inputs], Call]]] = {
    operation: {"eager": expression} for operation, expression in python.OPERATIONS.items()
}
EXPRESSIONS["triangle"]["broadcast"] = _broadcast
"""By operation and name: `eager` is the expression of `python`."""


def prepare(inputs: Inputs, device: "Cuda", request: Request) -> Prepared:
    """Compiles and calls; chooses among expressions unless one is given."""
    expressions = EXPRESSIONS[inputs.operation]
    latest: list[Call] = []

    def bind(config: dict[str, Any]) -> Call:
        if config.get("expression") not in expressions or config.get("mode") != MODE:
            raise WorkerError(
                f"config: found {config}, expected mode {MODE} and an expression of {', '.join(expressions)}"
            )
        compiled = torch.compile(expressions[config["expression"]](inputs), mode=MODE, fullgraph=True, dynamic=False)
        emitted = _emitted(compiled)
        if config.get("emitted", emitted) != emitted:
            raise WorkerError(f"torch.compile: found {emitted} emitted, expected {config['emitted']}, as the run chose")
        config["emitted"] = emitted
        latest[:] = [compiled]
        return compiled

    def poison() -> None:
        latest[0]()  # leaves in the allocator the very blocks that the next call takes
        device.poison_free_memory()

    if request.config is not None:
        call = bind(dict(request.config))
        return Prepared(call, poison, {"config": request.config})
    configs: list[dict[str, Any]] = [{"mode": MODE, "expression": name} for name in expressions]
    try:
        call, choice = tuning.choose(configs, bind, poison, inputs, request, device)
    except Unavailable as reason:
        raise Unavailable(f"torch.compile: {reason}") from reason
    latest[:] = [call]
    return Prepared(call, poison, choice)


def _emitted(compiled: Call) -> dict[str, Any]:
    """Calls for the first time, and says what was compiled: a hash of the code, and each kernel and its tiles."""
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.utils import run_and_get_code

    before = list(PyCodeCache.modules)
    _, sources = run_and_get_code(compiled)
    text = "\n".join(re.sub(r"(?m)^\s*# kernel path:.*$", "", source) for source in sources)
    kernels = []
    for module in PyCodeCache.modules:
        if module in before:
            continue
        for name, value in sorted(vars(module).items()):
            if launchers := getattr(value, "launchers", None):
                chosen = launchers[0].config
                tiles = {**chosen.kwargs, "num_warps": chosen.num_warps, "num_stages": chosen.num_stages}
                kernels.append({"kernel": name, "config": {key: tiles[key] for key in sorted(tiles)}})
    return {
        "code_sha256": sha256(text.encode()).hexdigest(),
        "kernels": kernels,
        "library_calls": re.findall(r"extern_kernels\.\w+", text),
    }
