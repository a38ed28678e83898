"""Turns of captures that start side by side."""

import tempfile
import threading
import unittest
from contextlib import AbstractContextManager
from pathlib import Path

from mage_worker.turn import Turn


class Turns(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.lock = Path(temporary.name) / "captures.lock"

    def enters(self, turn: AbstractContextManager[None]) -> tuple[threading.Thread, threading.Event]:
        """A thread that enters the turn of another process's place, and the event that it did."""
        entered = threading.Event()

        def enter() -> None:
            with turn:
                entered.set()

        thread = threading.Thread(target=enter)
        thread.start()
        self.addCleanup(thread.join)
        return thread, entered

    def test_captures_prepare_together(self) -> None:
        with Turn(self.lock).preparing():
            _, entered = self.enters(Turn(self.lock).preparing())
            self.assertTrue(entered.wait(10))

    def test_nothing_prepares_or_measures_beside_a_measurement(self) -> None:
        with Turn(self.lock).measuring():
            waiting = [self.enters(Turn(self.lock).preparing()), self.enters(Turn(self.lock).measuring())]
            for _, entered in waiting:
                self.assertFalse(entered.wait(0.2))
        for _, entered in waiting:
            self.assertTrue(entered.wait(10))

    def test_a_measurement_waits_for_those_that_prepare(self) -> None:
        with Turn(self.lock).preparing():
            _, entered = self.enters(Turn(self.lock).measuring())
            self.assertFalse(entered.wait(0.2))
        self.assertTrue(entered.wait(10))

    def test_without_a_lock_there_is_nothing_to_wait_for(self) -> None:
        with Turn(None).measuring(), Turn(None).measuring():
            pass


if __name__ == "__main__":
    unittest.main()
