"""`torch-compile`: the PyTorch expression through `torch.compile`, tuned as `max-autotune-no-cudagraphs` does it.

Without CUDA graphs: a captured graph would copy inputs, hand out one static output, and stand in a profile as one
graph launch: another call path than that of the other implementations. Of matrix products the search takes the
library's kernels alone: templates of unrolled FP32 products take minutes to compile, and what such a kernel can do
stands in the record of `triton-tuned` (`direct`, `ieee`).

The triangle contraction is written as a sum of products, which the compiler fuses into one kernel: as `einsum`, it
gives a copy and a library product, or a template, and both are slower.

What the compiler emitted is recorded. A capture loads exactly that code, by its hash, and calls it without the
compiler in between: the kernels are those of the run, the host's part of a call is not looked at there.
"""

import importlib
import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch

from ..errors import Unavailable, WorkerError
from ..inputs import Inputs
from ..tuning import one_line
from . import Prepared, Request, python

if TYPE_CHECKING:
    from ..device import Cuda

MODE = "max-autotune-no-cudagraphs"
OPTIONS = {"max_autotune": True, "coordinate_descent_tuning": True, "max_autotune_gemm_backends": "ATEN"}
"""What the mode stands for, and the one restriction."""

Config = dict[str, Any]
Call = Callable[[], torch.Tensor]


def _broadcast(inputs: Inputs) -> Call:
    """The triangle contraction as a sum of products."""
    a, b = inputs.tensors["a"], inputs.tensors["b"]
    return lambda: (a[:, None] * b[None]).sum(2)


EXPRESSIONS: dict[str, tuple[str, Callable[[Inputs], Call]]] = {
    operation: ("eager", expression) for operation, expression in python.OPERATIONS.items()
} | {"triangle": ("sum of products", _broadcast)}
"""By operation, a name and the expression: `eager` is that of `python`."""


def imports() -> None:
    """What emitted code imports itself."""
    for name in ("async_compile", "codecache", "select_algorithm", "runtime.triton_heuristics"):
        importlib.import_module(f"torch._inductor.{name}")


def prepare(inputs: Inputs, device: "Cuda", request: Request) -> Prepared:
    """Compiles; or loads what an earlier preparation emitted."""
    name, expression = EXPRESSIONS[inputs.operation]
    eager = expression(inputs)
    latest: list[Call] = []

    def poison() -> None:
        latest[0]()  # leaves in the allocator the very blocks that the next call takes
        device.poison_free_memory()

    def compiled(config: Config) -> Call:
        call = torch.compile(eager, options=dict(OPTIONS), fullgraph=True, dynamic=False)
        latest[:] = [call]
        config["emitted"] = _emitted(call, eager)
        return call

    asked = request.config
    if asked is None:
        config: Config = {"mode": MODE, "gemm_backends": OPTIONS["max_autotune_gemm_backends"], "expression": name}
        try:
            call = compiled(config)
        except WorkerError:
            raise
        except Exception as error:  # the compilers' errors have no common class
            if not device.alive():
                raise
            raise Unavailable(f"torch.compile: {one_line(error)}") from error
        return Prepared(call, poison, {"config": config})
    if asked.get("mode") != MODE or asked.get("expression") != name or "emitted" not in asked:
        raise WorkerError(f"config: found {asked}, expected mode {MODE}, expression {name} and what was emitted")
    # Another handle goes through the compiler's front as the first does, which costs a call its time on the host.
    loaded = None if request.again else _loaded(asked["emitted"], eager)
    if loaded is None:
        again: Config = {}
        loaded = compiled(again)
        if again["emitted"] != asked["emitted"]:
            raise WorkerError(f"torch.compile: found {again['emitted']}, expected {asked['emitted']}, as the run chose")
    latest[:] = [loaded]
    return Prepared(loaded, poison, {"config": asked})


def _tensors(eager: Call) -> list[torch.Tensor]:
    """What the expression is bound to: the inputs of the emitted code, in some order."""
    cells = [cell.cell_contents for cell in eager.__closure__ or ()]  # type: ignore[attr-defined]
    return [value for value in cells if isinstance(value, torch.Tensor)]


def _emitted(call: Call, eager: Call) -> dict[str, Any]:
    """Calls for the first time; says what was emitted, and keeps it in the compiler's cache.

    A hash of the code, each kernel with its tiles, the library calls, and the order in which the code takes the
    expression's tensors, as it is seen to take them.
    """
    from torch._inductor.output_code import CompiledFxGraph
    from torch._inductor.utils import run_and_get_code

    taken: list[int] = []
    runs = CompiledFxGraph.__call__

    def watched(self: CompiledFxGraph, inputs: Any) -> Any:
        taken[:] = [value.data_ptr() for value in inputs]
        return runs(self, inputs)

    with mock.patch.object(CompiledFxGraph, "__call__", watched):
        output, sources = run_and_get_code(call)
    if len(sources) != 1:
        raise WorkerError(f"torch.compile: found {len(sources)} pieces of emitted code, expected one")
    digest = _digest(sources[0])
    path = _kept(digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sources[0])
    module = _module(sources[0])
    tensors = _tensors(eager)
    addresses = [tensor.data_ptr() for tensor in tensors]
    if not taken or any(address not in addresses for address in taken):
        raise WorkerError("torch.compile: found emitted code that takes other inputs than the expression's tensors")
    order = [addresses.index(address) for address in taken]
    found = module.call([tensors[i] for i in order])[0]
    if not torch.allclose(found, output, rtol=1e-4, atol=1e-4, equal_nan=True):
        raise WorkerError("torch.compile: found another output from the emitted code by itself")
    return {
        "code_sha256": digest,
        "arguments": order,
        "kernels": _kernels(module),
        "library_calls": re.findall(r"extern_kernels\.\w+", sources[0]),
    }


def _loaded(emitted: dict[str, Any], eager: Call) -> Call | None:
    """The emitted code by its hash; none where it was not kept."""
    path = _kept(emitted["code_sha256"])
    if not path.is_file():
        return None
    source = path.read_text()
    if _digest(source) != emitted["code_sha256"]:
        raise WorkerError(f"{path}: found SHA-256 {_digest(source)}, expected {emitted['code_sha256']}")
    module = _module(source)
    tensors = _tensors(eager)
    arguments = [tensors[i] for i in emitted["arguments"]]
    run = module.call

    def call() -> torch.Tensor:
        return run(list(arguments))[0]

    call()
    if _kernels(module) != emitted["kernels"]:
        raise WorkerError(f"{path}: found {_kernels(module)}, expected {emitted['kernels']}, as the run chose")
    return call


def _module(source: str) -> Any:
    """The emitted code as a module, its kernels compiled or found in the cache."""
    from torch._inductor.codecache import PyCodeCache

    return PyCodeCache.load(source)


def _kernels(module: Any) -> list[dict[str, Any]]:
    """The Triton kernels of emitted code that has been called, and the tiles that they run with."""
    kernels = []
    for name, value in sorted(vars(module).items()):
        if launchers := getattr(value, "launchers", None):
            chosen = launchers[0].config
            tiles = {**chosen.kwargs, "num_warps": chosen.num_warps, "num_stages": chosen.num_stages}
            kernels.append({"kernel": name, "config": {key: tiles[key] for key in sorted(tiles)}})
    return kernels


def _kept(digest: str) -> Path:
    """Where emitted code is kept."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    return Path(os.path.abspath(cache_dir())) / "emitted" / f"{digest}.py"


def _digest(source: str) -> str:
    """SHA-256 of emitted code without the comments that name a cache's place."""
    return sha256(re.sub(r"(?m)^\s*# kernel path:.*$", "", source).encode()).hexdigest()
