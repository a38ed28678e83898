"""Captures that start side by side: they prepare and end together; each has the GPU to itself while it is measured."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Turn:
    """The lock of a file, or none where nothing else is captured."""

    def __init__(self, lock: Path | None) -> None:
        self._lock = lock

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Waits until nothing is measured; others may prepare meanwhile."""
        with self._held(fcntl.LOCK_SH):
            yield

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Waits until nothing is prepared or measured; nothing else is meanwhile."""
        with self._held(fcntl.LOCK_EX):
            yield

    def end(self) -> None:
        """Waits until nothing is measured; from then on nothing is until this process has ended."""
        if self._lock is not None:
            # No object owns it, so that it is closed with the process, after all that the process still does.
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT)
            fcntl.flock(descriptor, fcntl.LOCK_SH)

    @contextmanager
    def _held(self, how: int) -> Iterator[None]:
        if self._lock is None:
            yield
            return
        with self._lock.open("a") as file:
            fcntl.flock(file, how)
            yield
