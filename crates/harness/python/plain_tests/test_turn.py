"""Turns of captures that start side by side."""

import subprocess
import sys
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

    def test_nothing_is_measured_beside_one_that_ends(self) -> None:
        # What is left of it when its functions have returned is deleted while it still holds the lock.
        program = """
import sys
from pathlib import Path
from mage_worker.turn import Turn

class Left:
    def __del__(self):
        print("deleted", flush=True)
        sys.stdin.readline()

def main():
    Turn(Path(sys.argv[1])).end()

left = Left()
main()
"""
        process = subprocess.Popen(
            [sys.executable, "-c", program, self.lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdin is not None and process.stdout is not None
            self.assertEqual(process.stdout.readline(), "deleted\n")
            _, prepares = self.enters(Turn(self.lock).preparing())
            self.assertTrue(prepares.wait(10))
            _, measures = self.enters(Turn(self.lock).measuring())
            self.assertFalse(measures.wait(0.2))
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertTrue(measures.wait(10))

    def test_without_a_lock_there_is_nothing_to_wait_for(self) -> None:
        with Turn(None).measuring(), Turn(None).measuring():
            Turn(None).end()


if __name__ == "__main__":
    unittest.main()
