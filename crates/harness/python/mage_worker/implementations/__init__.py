"""The implementations by name.

Each is a module with `prepare(inputs, device, request) -> Prepared`, and `imports()`, which imports what it needs
without touching the GPU.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import WorkerError

if TYPE_CHECKING:
    import torch

MODULES: dict[str, str] = {
    "python": "python",
    "torch-compile": "torch_compile",
    "triton": "triton",
    "triton-tuned": "triton_tuned",
    "cusparse": "cusparse",
}
"""Name in experiments to module of this package."""


@dataclass(frozen=True)
class Request:
    """How an implementation is to be prepared."""

    rtol: float = 1e-4
    atol: float = 1e-4
    """Bound of the full-output check that a candidate must pass, where there is something to choose."""
    config: dict[str, Any] | None = None
    """What an earlier preparation chose: run exactly this and choose nothing."""
    again: bool = False
    """Another handle of what chose `config` in this process: its calls take the path that the first one's take."""


@dataclass(frozen=True)
class Prepared:
    """An implementation bound to its inputs."""

    call: "Callable[[], torch.Tensor]"
    """One call, exactly as measured, captured and checked; returns the output."""
    poison: Callable[[], None]
    """Fills with NaN whatever memory the next call's output will be in."""
    choice: dict[str, Any] | None = None
    """What was chosen outside everything that is timed: `config`, which prepares it again, and how it was chosen."""


def module(name: str) -> ModuleType:
    """The module of the implementation of that name."""
    if name not in MODULES:
        raise WorkerError(f"implementation: found {name!r}, expected one of {', '.join(MODULES)}")
    return importlib.import_module(f"{__name__}.{MODULES[name]}")
