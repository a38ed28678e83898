"""Handles: what is shared between two of one implementation, and what is not; and how requests name them."""

import io
import json
import unittest
from unittest import mock

from mage_worker.errors import WorkerError
from mage_worker.handles import Handles
from mage_worker.implementations import Prepared, Request
from mage_worker.serve import serve


class Memory:
    """Stands in for inputs; a copy knows what it was copied from."""

    def __init__(self, of: "Memory | None" = None) -> None:
        self.of = of

    def copy(self) -> "Memory":
        return Memory(self)


class Device:
    def synchronize(self) -> None:
        pass


class Chooser:
    """An implementation that chooses another tile whenever it is asked to choose."""

    def __init__(self, chooses: bool = True) -> None:
        self.chooses = chooses
        self.asked: list[tuple[Memory, Request]] = []
        self.calls = 0

    def prepare(self, inputs: Memory, device: Device, request: Request) -> Prepared:
        self.asked.append((inputs, request))
        choice = {"config": request.config or {"tile": len(self.asked)}} if self.chooses else None
        return Prepared(self.call, lambda: None, choice)

    def call(self) -> None:
        self.calls += 1


class OfOneName(unittest.TestCase):
    def setUp(self) -> None:
        self.module = Chooser()
        patch = mock.patch("mage_worker.implementations.module", return_value=self.module)
        patch.start()
        self.addCleanup(patch.stop)
        self.inputs, self.handles = Memory(), Handles()

    def prepare(self, number: int) -> Prepared:
        return self.handles.prepare("triton", number, self.inputs, Device(), Request(rtol=0.5))

    def test_a_second_one_is_another_call_on_memory_of_its_own(self) -> None:
        first, second = self.prepare(0), self.prepare(1)
        self.assertIsNot(first, second)
        self.assertIs(self.handles.get("triton", 0).prepared, first)
        self.assertIs(self.handles.get("triton", 1).prepared, second)
        self.assertIs(self.handles.get("triton", 0).inputs, self.inputs)
        self.assertIs(self.handles.get("triton", 1).inputs.of, self.inputs)
        self.assertEqual(self.module.calls, 2, "each is called once")

    def test_a_second_one_runs_what_the_first_chose(self) -> None:
        chosen = [self.prepare(number).choice for number in (0, 1, 2)]
        self.assertEqual(chosen, [{"config": {"tile": 1}}] * 3)
        requests = [request for _, request in self.module.asked]
        self.assertEqual(requests[0], Request(rtol=0.5))
        self.assertEqual(requests[1:], [Request(rtol=0.5, config={"tile": 1}, again=True)] * 2)

    def test_a_second_one_of_what_chooses_nothing_is_asked_as_the_first(self) -> None:
        self.module.chooses = False
        self.prepare(0)
        self.prepare(1)
        self.assertEqual([request for _, request in self.module.asked], [Request(rtol=0.5)] * 2)

    def test_a_second_one_needs_the_first_and_the_load(self) -> None:
        with self.assertRaisesRegex(WorkerError, "'triton' not prepared, expected a prepare since the last load"):
            self.prepare(1)
        self.prepare(0)
        with self.assertRaisesRegex(WorkerError, "'triton' not prepared as handle 1"):
            self.handles.get("triton", 1)
        self.handles.clear()
        with self.assertRaisesRegex(WorkerError, "'triton' not prepared"):
            self.handles.get("triton", 0)

    def test_what_fails_is_not_prepared(self) -> None:
        self.prepare(0)
        with mock.patch.object(self.module, "call", side_effect=RuntimeError), self.assertRaises(RuntimeError):
            self.prepare(0)
        with self.assertRaisesRegex(WorkerError, "not prepared"):
            self.handles.get("triton", 0)


class Session:
    """Answers with the handle that it was asked for."""

    def prepare(self, implementation: str, request: Request, handle: int) -> dict:
        return {"config": {"of": [implementation, handle]}}

    def check(self, implementation: str, path: object, handle: int) -> int:
        return handle

    def measure(self, implementation: str, warmup: int, iterations: int, flush_bytes: int, handle: int) -> list[float]:
        return [float(handle)]

    def verify_inputs(self, implementation: str | None, handle: int) -> dict[str, str]:
        return {"of": f"{implementation} {handle}"}


class Requests(unittest.TestCase):
    def ask(self, **request: object) -> dict:
        replies = io.BytesIO()
        serve(io.BytesIO(json.dumps({"id": 1, **request}).encode()), replies, Session)
        return json.loads(replies.getvalue())

    def test_each_request_reaches_its_handle(self) -> None:
        of = {"implementation": "triton"}
        for name, handle in ((of, 0), (of | {"handle": 0}, 0), (of | {"handle": 3}, 3)):
            self.assertEqual(self.ask(do="prepare", **name)["choice"]["config"]["of"], ["triton", handle])
            self.assertEqual(self.ask(do="check", output="o", **name)["elements"], handle)
            self.assertEqual(self.ask(do="measure", warmup=0, iterations=1, **name)["samples_us"], [handle])
            self.assertEqual(self.ask(do="verify_inputs", **name)["sha256"]["of"], f"triton {handle}")
        self.assertEqual(self.ask(do="verify_inputs")["sha256"]["of"], "None 0")


if __name__ == "__main__":
    unittest.main()
