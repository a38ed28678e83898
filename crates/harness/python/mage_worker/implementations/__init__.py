"""The implementations by name.

Each is a module with `prepare(inputs, device) -> Prepared`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import WorkerError

if TYPE_CHECKING:
    import torch

MODULES: dict[str, str] = {
    "python": "python",
    "triton": "triton",
}
"""Name in experiments to module of this package."""


@dataclass(frozen=True)
class Prepared:
    """An implementation bound to its inputs."""

    call: "Callable[[], torch.Tensor]"
    """One call, exactly as measured, captured and checked; returns the output."""
    poison: Callable[[], None]
    """Fills with NaN whatever memory the next call's output will be in."""


def module(name: str) -> ModuleType:
    """The module of the implementation of that name."""
    if name not in MODULES:
        raise WorkerError(f"implementation: found {name!r}, expected one of {', '.join(MODULES)}")
    return importlib.import_module(f"{__name__}.{MODULES[name]}")
