"""Event spans: the time between two events around one call, in microseconds."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .device import Cuda


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collects now, and not again inside the block."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def event_spans(
    call: Callable[[], Any], warmup: int, iterations: int, device: "Cuda", flush_bytes: int = 0
) -> list[float]:
    """Spans of `iterations` calls after `warmup` calls, in microseconds, in measured order.

    Each span starts on an idle stream, so it can include gaps while the host submits the call's work. With
    `flush_bytes`, that many bytes of other memory are written before each span, which empties the L2 cache.
    """
    flush = device.flush(flush_bytes) if flush_bytes else None
    stream = device.stream()
    pairs = [(device.event(), device.event()) for _ in range(iterations)]
    for start, end in pairs:  # PyTorch creates an event when it is first recorded: do that here
        start.record(stream)
        end.record(stream)
    with no_garbage_collection():
        for _ in range(warmup):
            call()
        device.synchronize()
        for start, end in pairs:
            if flush is not None:
                flush()
                device.synchronize()
            start.record(stream)
            call()
            end.record(stream)
            end.synchronize()
    return [start.elapsed_time(end) * 1000.0 for start, end in pairs]
