"""What only a GPU can show: poisoned allocator memory, launches a call, the command line as a whole."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from . import ON_CUDA
from .cases import FULL
from .devices import device_under_test

ROOT = Path(__file__).resolve().parent.parent
LAUNCHES = {"matmul": 1, "gelu": 2, "layernorm": 1, "triangle": 3, "neighbor": 4}


@unittest.skipUnless(ON_CUDA, "needs a GPU")
class OnCuda(unittest.TestCase):
    def test_the_allocator_hands_out_nan_after_poisoning(self) -> None:
        import torch

        from mage_worker.device import Cuda

        for elements in (1, 1000, 300_000, 3_145_728):
            kept = torch.ones(elements, device="cuda")
            freed = torch.ones(elements, device="cuda")
            del freed
            Cuda().poison_free_memory()
            handed_out = torch.empty(elements, device="cuda")
            self.assertTrue(handed_out.isnan().all().item(), elements)
            self.assertTrue((kept == 1).all().item(), elements)
            del kept, handed_out

    def test_launches_a_call_and_spans(self) -> None:
        from torch.profiler import ProfilerActivity, profile

        from mage_worker.session import Session

        session = Session(device_under_test())
        for case in FULL:
            with tempfile.TemporaryDirectory() as name:
                session.load(case.operation, case.dims, case.write(Path(name)))
            for implementation, expected in (("python", LAUNCHES[case.operation]), ("triton", 1)):
                with self.subTest(operation=case.operation, implementation=implementation):
                    session.prepare(implementation)
                    call = session.prepared(implementation).call
                    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
                        for _ in range(10):
                            call()
                        session.device.synchronize()
                    launched = [e.name for e in profiler.events() if e.device_type.name == "CUDA"]
                    kernels = [name for name in launched if not name.startswith(("Memset", "Memcpy"))]
                    self.assertEqual(len(kernels), 10 * expected, sorted(set(launched)))
                    samples = session.measure(implementation, 25, 100)
                    self.assertEqual(len(samples), 100)
                    self.assertTrue(all(0 < sample < 10_000 for sample in samples), samples)

    def test_capture_command(self) -> None:
        from mage_worker.device import Cuda

        case = FULL[1]
        with tempfile.TemporaryDirectory() as name:
            case.write(Path(name))
            for implementation in ("python", "triton"):
                options = ["--operation", case.operation, "--dims", ",".join(map(str, case.dims)), "--inputs", name]
                options += ["--implementation", implementation, "--iterations", "3", "--warmup", "2"]
                run = subprocess.run(
                    [sys.executable, "-m", "mage_worker", "capture", *options],
                    capture_output=True,
                    text=True,
                    timeout=300,
                    cwd=ROOT,
                    env=os.environ,
                )
                expected = json.dumps({"gpu_uuid": Cuda().uuid()}) + "\n"
                self.assertEqual((run.returncode, run.stdout), (0, expected), run.stderr)
