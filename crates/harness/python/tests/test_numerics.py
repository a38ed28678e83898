"""All implementations against float64, through the session as the harness drives it."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

from mage_worker import tuned_kernels
from mage_worker.errors import Unavailable
from mage_worker.implementations import Request
from mage_worker.implementations.triton_tuned import OPERATIONS
from mage_worker.session import Session

from . import ON_CUDA
from .cases import FULL, SMALL, Case
from .devices import device_under_test

TOLERANCE = 1e-4


def forms(case: Case) -> list[tuned_kernels.Config]:
    """The smallest configuration of each form and precision that may pass, and one that cuts k into parts."""
    size = {"matmul": "mnk", "triangle": "ijck"}.get(case.operation, "")
    found: dict[tuple, tuned_kernels.Config] = {}
    for config in OPERATIONS[case.operation].candidates(case.dims):
        key = (config["form"], config.get("precision"), config.get("parts"), config.get("boxes"))
        if key not in found or sum(config[name] for name in size) < sum(found[key][name] for name in size):
            found[key] = config
    # TF32 alone misses the tolerance; the interpreter knows no BF16 products, and makes all products in FP32 anyway.
    untried = ("tf32",) if ON_CUDA else ("tf32", "bf16x3", "bf16x6")
    return [config for config in found.values() if config.get("precision") not in untried]


class Numerics(unittest.TestCase):
    def setUp(self) -> None:
        self.session = Session(device_under_test())
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = Path(temporary.name)

    def test_small_shapes(self) -> None:
        for case in SMALL:
            for implementation in ("python", "triton"):
                with self.subTest(case=case, implementation=implementation):
                    self.check(case, implementation)

    def test_every_form_of_the_tuned_kernels(self) -> None:
        for case in SMALL:
            for config in forms(case):
                with self.subTest(case=case, config=config):
                    self.check(case, "triton-tuned", Request(config=config))

    def test_cusparse_computes_neighbor_and_says_so_of_the_others(self) -> None:
        for case in SMALL:
            with self.subTest(case=case):
                if case.operation != "neighbor":
                    with self.assertRaisesRegex(Unavailable, "neighbor alone"):
                        self.check(case, "cusparse")
                elif case.dims[2] > case.dims[0] ** 2:
                    with self.assertRaisesRegex(Unavailable, "refuses more values"):
                        self.check(case, "cusparse")
                else:
                    self.check(case, "cusparse")

    @unittest.skipUnless(ON_CUDA, "needs a GPU: the interpreter is too slow")
    def test_full_shapes(self) -> None:
        for case in FULL:
            for implementation in ("python", "triton"):
                with self.subTest(case=case, implementation=implementation):
                    self.check(case, implementation)

    def test_gelu_saturates_without_overflow(self) -> None:
        for constant in (-200.0, -20.0, 20.0, 200.0):
            case = Case("gelu", (2, 5), constant=constant)
            for implementation in ("python", "triton"):
                with self.subTest(constant=constant, implementation=implementation):
                    self.check(case, implementation)

    def test_a_second_handle_computes_the_same_from_inputs_of_its_own(self) -> None:
        case = Case("gelu", (3, 257))
        directory = case.write(self.directory / "inputs")
        path = self.directory / "output.bin"
        for implementation in ("python", "triton"):
            with self.subTest(implementation=implementation):
                self.session.load(case.operation, case.dims, directory)
                before = self.session.verify_inputs()
                self.session.prepare(implementation)
                self.session.prepare(implementation, handle=1)
                self.session.loaded.tensors["a"].fill_(0.0)
                self.assertNotEqual(self.session.verify_inputs(implementation), before)
                self.assertEqual(self.session.verify_inputs(implementation, handle=1), before)
                self.session.check(implementation, path, handle=1)
                actual = np.fromfile(path, "<f4").reshape(3, 257)
                np.testing.assert_allclose(actual, case.reference(), atol=1e-5)

    def check(self, case: Case, implementation: str, request: Request | None = None) -> None:
        directory = case.write(self.directory / "inputs")
        self.session.load(case.operation, case.dims, directory)
        before = self.session.verify_inputs()
        self.session.prepare(implementation, request)
        path = self.directory / "output.bin"
        elements = self.session.check(implementation, path)
        expected = case.reference()
        actual = np.fromfile(path, "<f4").reshape(expected.shape).astype(np.float64)
        self.assertEqual(elements, expected.size)
        error = np.abs(actual - expected)
        self.assertTrue(np.all(error <= TOLERANCE + TOLERANCE * np.abs(expected)), f"largest error {error.max()}")
        self.assertEqual(self.session.verify_inputs(), before)


class Poison(unittest.TestCase):
    def test_triton_output_that_is_not_written_stays_nan(self) -> None:
        from mage_worker import implementations, inputs

        with tempfile.TemporaryDirectory() as name:
            case = Case("gelu", (3, 257))
            device = device_under_test()
            loaded = inputs.load(case.operation, case.dims, case.write(Path(name)), device.name)
            prepared = implementations.module("triton").prepare(loaded, device, Request())
            output = prepared.call()
            self.assertFalse(output.isnan().any())
            prepared.poison()
            self.assertTrue(output.isnan().all())
            self.assertIs(prepared.call(), output)
            self.assertFalse(output.isnan().any())
