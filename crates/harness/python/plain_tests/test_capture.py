"""What a capture does in which turn."""

import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mage_worker.capture import capture


class Log:
    """Stands in for the session, its device and the turn; notes what is asked of each."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.device = self

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self.log.append(name)

    def open(self) -> Any:
        self.log.append("open")
        return self

    def prepared(self, _: str) -> "Log":
        return self

    @contextmanager
    def preparing(self) -> Iterator[None]:
        self.log.append("preparing")
        yield
        self.log.append("let others")

    @contextmanager
    def measuring(self) -> Iterator[None]:
        self.log.append("measuring")
        yield
        self.log.append("let others")


class Turns(unittest.TestCase):
    def test_it_prepares_beside_others_and_is_measured_alone(self) -> None:
        log = Log()
        played: Any = log
        session = capture(log.open, "gelu", (2, 4), "python", Path("inputs"), iterations=2, warmup=1, turn=played)
        self.assertIs(session, log)
        prepared = ["preparing", "open", "load", "prepare", "synchronize", "let others"]
        range_ = ["profiler_start", *["range_push", "call", "range_pop"] * 2, "synchronize"]
        measured = ["measuring", "call", "synchronize", *range_, "let others"]
        self.assertEqual(log.log, [*prepared, *measured, "profiler_stop"])


if __name__ == "__main__":
    unittest.main()
