"""What is prepared: by implementation, and by handle where one implementation is prepared more than once."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import implementations
from .errors import WorkerError

if TYPE_CHECKING:
    from .device import Cuda
    from .inputs import Inputs


@dataclass(frozen=True)
class Handle:
    """A prepared implementation and the inputs that it reads."""

    prepared: implementations.Prepared
    inputs: "Inputs"


class Handles:
    """Handle 0 of an implementation reads the loaded inputs; each other runs the same code on a copy of its own."""

    def __init__(self) -> None:
        self._handles: dict[tuple[str, int], Handle] = {}

    def clear(self) -> None:
        """Frees all of them."""
        self._handles.clear()

    def prepare(
        self,
        implementation: str,
        number: int,
        inputs: "Inputs",
        device: "Cuda",
        request: implementations.Request,
    ) -> implementations.Prepared:
        """Prepares a handle in the place of an earlier one of its number, and calls it once.

        Where handle 0 chose something, every other runs what it chose, on the same call path, or fails.
        """
        module = implementations.module(implementation)
        self._handles.pop((implementation, number), None)
        if number:
            first = self.get(implementation, 0).prepared
            inputs = inputs.copy()
            if first.choice is not None:
                request = replace(request, config=first.choice["config"], again=True)
        prepared = module.prepare(inputs, device, request)
        prepared.call()
        device.synchronize()
        self._handles[implementation, number] = Handle(prepared, inputs)
        return prepared

    def get(self, implementation: str, number: int) -> Handle:
        """The handle of that number."""
        implementations.module(implementation)
        handle = self._handles.get((implementation, number))
        if handle is None:
            which = f" as handle {number}" if number else ""
            raise WorkerError(
                f"implementation: found {implementation!r} not prepared{which}, expected a prepare since the last load"
            )
        return handle
