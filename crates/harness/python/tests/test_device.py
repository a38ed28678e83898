"""What the GPU's wrapper asks of PyTorch and the driver, without a GPU."""

import os
import unittest
from typing import Any
from unittest import mock

from mage_worker.device import NAN_BITS, Cuda
from mage_worker.errors import WorkerError

SEGMENTS = [
    {"address": 4096, "blocks": [{"size": 512, "state": "active_allocated"}, {"size": 1024, "state": "inactive"}]},
    {"address": 65536, "blocks": [{"size": 2048, "state": "inactive"}]},
]


class Poison(unittest.TestCase):
    def poison(self, segments: list[dict], status: int = 0) -> list[tuple[int, ...]]:
        with (
            mock.patch("mage_worker.device.ctypes.CDLL") as library,
            mock.patch("torch.cuda.memory_snapshot", return_value=segments),
            mock.patch("torch.cuda.synchronize"),
        ):
            memset = library.return_value.cuMemsetD32_v2
            memset.return_value = status
            Cuda().poison_free_memory()
            return [call.args for call in memset.call_args_list]

    def test_free_blocks_and_no_others_are_filled(self) -> None:
        self.assertEqual(self.poison(SEGMENTS), [(4608, NAN_BITS, 256), (65536, NAN_BITS, 512)])

    def test_a_failure_and_nothing_to_fill_are_errors(self) -> None:
        for segments, status, words in ((SEGMENTS, 1, "found status 1"), (SEGMENTS[:0], 0, "no free block")):
            with self.assertRaisesRegex(WorkerError, words):
                self.poison(segments, status)


class Uuid(unittest.TestCase):
    def uuid(self, *statuses: int) -> str:
        def fill(identity: Any, device: Any) -> int:
            identity._obj[:] = range(0xF0, 0x100)
            return statuses[1]

        with mock.patch("mage_worker.device.ctypes.CDLL") as library:
            library.return_value.cuDeviceGet.return_value = statuses[0]
            library.return_value.cuDeviceGetUuid.side_effect = fill
            return Cuda().uuid()

    def test_the_card_is_named_as_nvidia_smi_does(self) -> None:
        self.assertEqual(self.uuid(0, 0), "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff")

    def test_a_refusal_of_the_driver_is_an_error(self) -> None:
        for statuses in ((101, 0), (0, 3)):
            with self.assertRaisesRegex(WorkerError, f"found status {max(statuses)}"):
                self.uuid(*statuses)


class Require(unittest.TestCase):
    def test_settings_that_change_what_runs_are_refused(self) -> None:
        for variable in ("TRITON_INTERPRET", "NVIDIA_TF32_OVERRIDE"):
            clean = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
            with (
                mock.patch("torch.cuda.is_available", return_value=True),
                mock.patch.dict(os.environ, {**clean, variable: "1"}, clear=True),
                self.assertRaisesRegex(WorkerError, f"{variable}: found '1'"),
            ):
                Cuda().require()
