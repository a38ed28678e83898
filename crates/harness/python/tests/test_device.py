"""What the GPU's wrapper asks of PyTorch and the driver, without a GPU."""

import os
import unittest
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
