"""What is loaded and prepared, and the requests on it."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import environment, implementations, inputs, output, timing
from .errors import WorkerError
from .handles import Handles

if TYPE_CHECKING:
    from .device import Cuda


class Session:
    """One device, at most one operation's inputs, and the implementations prepared for them."""

    def __init__(self, device: "Cuda") -> None:
        device.require()
        environment.set_ieee_precision()
        self.device = device
        self._inputs: inputs.Inputs | None = None
        self._handles = Handles()

    def hello(self) -> dict[str, Any]:
        """Versions, switches, packages and the device."""
        return {**environment.describe(), "device": self.device.describe()}

    def load(self, operation: str, dims: tuple[int, ...], directory: Path) -> None:
        """Frees what was loaded and loads the files of `operation` in `directory`."""
        self._handles.clear()
        self._inputs = None
        gc.collect()
        self.device.release_free_memory()
        self._inputs = inputs.load(operation, dims, directory, self.device.name)
        self.device.synchronize()

    def prepare(
        self, implementation: str, request: implementations.Request | None = None, handle: int = 0
    ) -> dict[str, Any] | None:
        """Compiles, chooses and allocates what `implementation` needs, and calls it once; returns the choice."""
        implementations.module(implementation)
        how = request or implementations.Request()
        return self._handles.prepare(implementation, handle, self.loaded, self.device, how).choice

    def check(self, implementation: str, path: Path, handle: int = 0) -> int:
        """Writes the output of one call, made into poisoned memory; returns its number of elements."""
        prepared = self.prepared(implementation, handle)
        prepared.poison()
        self.device.synchronize()
        result = prepared.call()
        self.device.synchronize()
        return output.write(result, self.loaded.output_shape, path)

    def measure(
        self, implementation: str, warmup: int, iterations: int, flush_bytes: int = 0, handle: int = 0
    ) -> list[float]:
        """Event spans in microseconds, in measured order; before each, `flush_bytes` of other memory are written."""
        call = self.prepared(implementation, handle).call
        return timing.event_spans(call, warmup, iterations, self.device, flush_bytes)

    def verify_inputs(self, implementation: str | None = None, handle: int = 0) -> dict[str, str]:
        """SHA-256 of each input's bytes on the device, by file name: those that a handle reads, or those loaded."""
        of = self.loaded if implementation is None else self._handles.get(implementation, handle).inputs
        return of.sha256()

    @property
    def loaded(self) -> inputs.Inputs:
        """The loaded inputs."""
        if self._inputs is None:
            raise WorkerError("inputs: found none loaded, expected a load before this request")
        return self._inputs

    def prepared(self, implementation: str, handle: int = 0) -> "implementations.Prepared":
        """The prepared implementation of that name."""
        return self._handles.get(implementation, handle).prepared


def open_session() -> Session:
    """A session on the CUDA GPU."""
    from .device import Cuda

    return Session(Cuda())
