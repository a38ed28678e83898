"""Event spans and captures: the order of what happens."""

import gc
import tempfile
import unittest
from pathlib import Path

from mage_worker.capture import capture
from mage_worker.session import Session
from mage_worker.timing import event_spans

from .cases import Case
from .devices import Cpu


class Clock(Cpu):
    """Events that log their calls; every span is 2 ms."""

    def event(self):
        return LoggedEvent(self.log)


class LoggedEvent:
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def record(self, stream: None) -> None:
        self.log.append("record")

    def synchronize(self) -> None:
        self.log.append("wait")

    def elapsed_time(self, end: "LoggedEvent") -> float:
        return 2.0


class Spans(unittest.TestCase):
    def test_events_exist_before_the_first_span_and_each_span_holds_one_call(self) -> None:
        device = Clock()
        collecting: list[bool] = []

        def call() -> None:
            device.log.append("call")
            collecting.append(gc.isenabled())

        samples = event_spans(call, warmup=2, iterations=3, device=device)
        self.assertEqual(samples, [2000.0] * 3)
        created, warm, span = ["record"] * 6, ["call"] * 2, ["record", "call", "record", "wait"]
        self.assertEqual(device.log, created + warm + ["synchronize"] + span * 3)
        self.assertFalse(any(collecting))
        self.assertTrue(gc.isenabled())


    def test_a_cold_span_starts_after_the_flush_has_ended(self) -> None:
        device = Clock()
        event_spans(lambda: device.log.append("call"), warmup=0, iterations=2, device=device, flush_bytes=64)
        span = ["flush 64", "synchronize", "record", "call", "record", "wait"]
        self.assertEqual(device.log[-12:], span * 2)


class Captures(unittest.TestCase):
    def test_the_range_holds_the_named_calls_and_nothing_else(self) -> None:
        device = Cpu()
        with tempfile.TemporaryDirectory() as name:
            case = Case("gelu", (3, 257))
            inputs = case.write(Path(name))
            capture(lambda: Session(device), "gelu", case.dims, "python", inputs, iterations=2, warmup=1)
        inside = device.log[device.log.index("start") :]
        ranges = [entry for i in range(2) for entry in (f"push mage:gelu:python:{i}", "pop")]
        self.assertEqual(inside, ["start", *ranges, "synchronize", "stop"])
        self.assertEqual(device.log[device.log.index("start") - 1], "synchronize")
        self.assertNotIn("poison", device.log)
