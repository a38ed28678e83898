"""One capture for Nsight Systems: a range that holds N calls and nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .implementations import Request
from .timing import no_garbage_collection
from .turn import Turn

if TYPE_CHECKING:
    from .session import Session


def capture(
    open_session: Callable[[], "Session"],
    operation: str,
    dims: tuple[int, ...],
    implementation: str,
    inputs: Path,
    iterations: int,
    warmup: int,
    config: dict[str, Any] | None = None,
    turn: Turn | None = None,
) -> "Session":
    """Prepares in a shared turn; in one of its own warms up, opens the range and makes `iterations` calls in it.

    Returns the session.

    `config` is what the run chose, where the implementation chooses: the capture runs that and tunes nothing.

    The CUDA profiler API opens and closes the range; each call stands in an NVTX range
    `mage:<operation>:<implementation>:<iteration from 0>`.
    """
    turn = turn or Turn(None)
    with turn.preparing():
        session = open_session()
        session.load(operation, dims, inputs)
        session.prepare(implementation, Request(config=config))
        call = session.prepared(implementation).call
        device = session.device
        device.synchronize()
    names = [f"mage:{operation}:{implementation}:{iteration}" for iteration in range(iterations)]
    with turn.measuring(), no_garbage_collection():
        for _ in range(warmup):
            call()
        device.synchronize()
        device.profiler_start()
        for name in names:
            device.range_push(name)
            call()
            device.range_pop()
        device.synchronize()
    # Outside the turn: the calls are over, and the next need not wait for the profiler.
    device.profiler_stop()
    return session
