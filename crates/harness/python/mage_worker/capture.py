"""One capture for Nsight Systems: a range that holds N calls and nothing else."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .implementations import Request
from .timing import no_garbage_collection

if TYPE_CHECKING:
    from .session import Session


def capture(
    session: "Session",
    operation: str,
    dims: tuple[int, ...],
    implementation: str,
    inputs: Path,
    iterations: int,
    warmup: int,
    config: dict[str, Any] | None = None,
) -> None:
    """Loads, prepares and warms up outside the range, then makes `iterations` calls inside it.

    `config` is what the run chose, where the implementation chooses: the capture runs that and tunes nothing.

    The CUDA profiler API opens and closes the range; each call stands in an NVTX range
    `mage:<operation>:<implementation>:<iteration from 0>`.
    """
    session.load(operation, dims, inputs)
    session.prepare(implementation, Request(config=config))
    call = session.prepared(implementation).call
    device = session.device
    names = [f"mage:{operation}:{implementation}:{iteration}" for iteration in range(iterations)]
    with no_garbage_collection():
        for _ in range(warmup):
            call()
        device.synchronize()
        device.profiler_start()
        for name in names:
            device.range_push(name)
            call()
            device.range_pop()
        device.synchronize()
        device.profiler_stop()
