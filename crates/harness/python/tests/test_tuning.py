"""Choosing among configurations: the fastest that passes, every candidate on record, and the choice prepared again."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch

from mage_worker import inputs, tuning
from mage_worker.capture import capture
from mage_worker.errors import Unavailable, WorkerError
from mage_worker.implementations import Request, torch_compile, triton_tuned
from mage_worker.session import Session

from . import ON_CUDA
from .cases import Case
from .devices import Cpu, device_under_test

CASE = Case("gelu", (3, 257))


class Timed(Cpu):
    """Gives each call the time that the test says."""

    def __init__(self, times: dict[str, list[float]]) -> None:
        super().__init__()
        self.times = times

    def call_us(self, call) -> float:
        times = self.times[call.name]
        return times.pop(0) if len(times) > 1 else times[0]


class Choosing(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.inputs = inputs.load(CASE.operation, CASE.dims, CASE.write(Path(temporary.name)), "cpu")
        self.expected = tuning.reference(self.inputs).float()

    def choose(self, times: dict[str, list[float]], outputs: dict[str, torch.Tensor]) -> dict:
        def bind(config):
            if config["name"] == "broken":
                raise RuntimeError("first line\nout of resource: shared memory")

            def call():
                return outputs.get(config["name"], self.expected)

            call.name = config["name"]
            return call

        names = [*times, *outputs, "broken"]
        configs = [{"name": name} for name in dict.fromkeys(names)]
        device = Timed(times)
        _, choice = tuning.choose(configs, bind, lambda: None, self.inputs, Request(), device)
        return choice

    def test_the_fastest_that_passes_is_chosen_and_all_are_recorded(self) -> None:
        wrong = self.expected.clone()
        wrong[0, 0] += 1e-3
        choice = self.choose(
            {"slow": [9.0], "fast": [2.0], "wrong": [1.0], "lost": [1.0]},
            {"wrong": wrong, "lost": torch.full_like(self.expected, float("nan"))},
        )
        self.assertEqual(choice["config"], {"name": "fast"})
        found = {one["config"]["name"]: one for one in choice["candidates"]}
        self.assertEqual(found["fast"]["outcome"], "passes")
        self.assertEqual(found["fast"]["time_us"], 2.0)
        self.assertEqual(found["wrong"]["outcome"], "fails the check")
        self.assertAlmostEqual(found["wrong"]["max_abs_error"], 1e-3, places=5)
        self.assertNotIn("time_us", found["wrong"])
        self.assertEqual((found["lost"]["max_abs_error"], found["lost"]["reason"]), (None, "output is not finite"))
        self.assertEqual(found["broken"]["reason"], "RuntimeError: out of resource: shared memory")

    def test_finalists_are_measured_again(self) -> None:
        choice = self.choose({"a": [2.0, 5.0], "b": [3.0, 4.0]}, {})
        self.assertEqual(choice["config"], {"name": "b"})
        self.assertEqual([one.get("final_us") for one in choice["candidates"]], [5.0, 4.0, None])

    def test_where_none_passes_the_reason_is_given(self) -> None:
        with self.assertRaisesRegex(Unavailable, "none of 1 configurations passes: does not run: RuntimeError: out"):
            self.choose({}, {})


class Prepared(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = CASE.write(Path(temporary.name))

    def test_a_choice_is_prepared_again_without_choosing(self) -> None:
        session = Session(device_under_test())
        session.load(CASE.operation, CASE.dims, self.directory)
        few = triton_tuned.OPERATIONS["gelu"].candidates(CASE.dims)[:3]
        with mock.patch.object(triton_tuned.OPERATIONS["gelu"], "candidates", return_value=few):
            choice = session.prepare("triton-tuned")
        assert choice is not None
        self.assertIn(choice["config"], few)
        self.assertEqual(len(choice["candidates"]), 3)
        with mock.patch.object(tuning, "choose", side_effect=AssertionError("tuned again")):
            again = session.prepare("triton-tuned", Request(config=choice["config"]))
            self.assertEqual(again, {"config": choice["config"]})
            device = device_under_test()
            config = choice["config"]
            capture(lambda: Session(device), "gelu", CASE.dims, "triton-tuned", self.directory, 2, 1, config=config)
        with self.assertRaisesRegex(WorkerError, "without 'form', expected one of gelu"):
            session.prepare("triton-tuned", Request(config={}))

    def test_what_was_compiled_is_held_against_the_choice(self) -> None:
        session = Session(device_under_test())
        session.load(CASE.operation, CASE.dims, self.directory)
        choice = session.prepare("torch-compile")
        assert choice is not None
        self.assertEqual(choice["config"]["mode"], torch_compile.MODE)
        self.assertEqual(len(choice["config"]["emitted"]["code_sha256"]), 64)
        path = self.directory / "output.bin"
        self.assertEqual(session.check("torch-compile", path), 771)
        self.assertEqual(
            session.prepare("torch-compile", Request(config=choice["config"])), {"config": choice["config"]}
        )
        session.prepare("torch-compile")
        self.assertEqual(session.prepare("torch-compile", handle=1), {"config": choice["config"]})
        self.assertEqual(session.check("torch-compile", path, handle=1), 771)
        with mock.patch("torch.compile", side_effect=AssertionError("compiled again")):
            session.prepare("torch-compile", Request(config=choice["config"]))
            self.assertEqual(session.check("torch-compile", path), 771)
            kernels = [{"kernel": "another", "config": {}}]
            emitted = {**choice["config"]["emitted"], "kernels": kernels}
            with self.assertRaisesRegex(WorkerError, "as the run chose"):
                session.prepare("torch-compile", Request(config={**choice["config"], "emitted": emitted}))
        emitted = {**choice["config"]["emitted"], "code_sha256": "0" * 64}
        with self.assertRaisesRegex(WorkerError, "as the run chose"):
            session.prepare("torch-compile", Request(config={**choice["config"], "emitted": emitted}))
        with self.assertRaisesRegex(WorkerError, "expected mode max-autotune-no-cudagraphs"):
            session.prepare("torch-compile", Request(config={"mode": "default", "expression": "eager"}))

    @unittest.skipUnless(ON_CUDA, "needs a GPU")
    def test_a_choice_of_every_operation_at_its_measured_dims(self) -> None:
        from .cases import FULL

        session = Session(device_under_test())
        for case in FULL:
            with tempfile.TemporaryDirectory() as name:
                session.load(case.operation, case.dims, case.write(Path(name)))
            for implementation in ("triton-tuned", "torch-compile"):
                with self.subTest(operation=case.operation, implementation=implementation):
                    self.assertIsNotNone(session.prepare(implementation))
