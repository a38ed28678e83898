"""The protocol, over real pipes, with the worker in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from hashlib import sha256
from pathlib import Path

import numpy as np

from . import ON_CUDA
from .cases import Case

ROOT = Path(__file__).resolve().parent.parent
PRELUDE = """
import os, subprocess, sys
from mage_worker import stdio
from mage_worker.serve import serve
replies, requests = stdio.claim_stdout(), stdio.claim_stdin()
"""
ON_CPU = (
    PRELUDE
    + """
import tests
from tests.devices import Cpu, Lost
def open_session():
    from mage_worker.session import Session
    print("noise from Python")
    os.write(1, b"noise from C\\n")
    subprocess.run(["sh", "-c", "echo noise from a child; cat"], check=True)
    return Session(DEVICE())
sys.exit(serve(requests, replies, open_session))
"""
)


def talk(code: list[str], lines: list[str], **environment: str) -> tuple[list[dict], int, str]:
    """Starts a worker, sends all lines, closes its input; returns replies, exit status and standard error."""
    run = subprocess.run(
        [sys.executable, *code],
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    return [json.loads(line) for line in run.stdout.splitlines()], run.returncode, run.stderr


def on_cpu(requests: list[object], device: str = "Cpu") -> tuple[list[dict], int, str]:
    lines = [request if isinstance(request, str) else json.dumps(request) for request in requests]
    return talk(["-c", ON_CPU.replace("DEVICE", device)], lines)


class Protocol(unittest.TestCase):
    def test_a_whole_conversation_with_noise(self) -> None:
        case = Case("neighbor", (7, 9, 23))
        with tempfile.TemporaryDirectory() as name:
            directory = case.write(Path(name) / "inputs")
            path = Path(name) / "output.bin"
            replies, status, noise = on_cpu(
                [
                    {"id": 1, "do": "hello"},
                    {"id": 2, "do": "load", "operation": "neighbor", "dims": [7, 9, 23], "inputs": str(directory)},
                    {"id": 3, "do": "prepare", "implementation": "python"},
                    {"id": 4, "do": "check", "implementation": "python", "output": str(path)},
                    {"id": 5, "do": "measure", "implementation": "python", "warmup": 2, "iterations": 5},
                    {"id": 6, "do": "verify_inputs"},
                    {"id": 7, "do": "quit"},
                    {"id": 8, "do": "hello"},
                ]
            )
            self.assertEqual(status, 0, noise)
            self.assertEqual([(reply["id"], reply["ok"]) for reply in replies], [(i, True) for i in range(1, 8)])
            for source in ("Python", "C", "a child"):
                self.assertIn(f"noise from {source}", noise)
            hello, _, prepare, check, measure, verify, quit_ = replies
            self.assertEqual(
                set(hello) - {"id", "ok"}, {"python", "torch", "triton", "cuda", "tf32", "packages", "device"}
            )
            self.assertEqual(
                hello["tf32"],
                {"matmul_allow_tf32": False, "cudnn_allow_tf32": False, "float32_matmul_precision": "highest"},
            )
            self.assertLessEqual({"torch", "triton", "numpy"}, set(hello["packages"]))
            self.assertEqual(prepare, {"id": 3, "ok": True})
            self.assertEqual(check["elements"], 63)
            np.testing.assert_allclose(np.fromfile(path, "<f4").reshape(7, 9), case.reference(), atol=1e-5)
            self.assertEqual(sorted(os.listdir(name)), ["inputs", "output.bin"])
            self.assertEqual(len(measure["samples_us"]), 5)
            self.assertTrue(all(sample > 0 for sample in measure["samples_us"]))
            self.assertEqual(verify["sha256"]["a.bin"], sha256((directory / "a.bin").read_bytes()).hexdigest())
            self.assertEqual(quit_, {"id": 7, "ok": True})

    def test_bad_requests_are_answered_and_the_worker_goes_on(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            directory = Case("gelu", (3, 257)).write(Path(name))
            (directory / "b.bin").write_bytes(b"short")
            load = {"do": "load", "operation": "gelu", "dims": [3, 257], "inputs": str(directory)}
            sent = [
                ("{", "expected one JSON object a line"),
                ("[1]", "expected one JSON object a line"),
                ({"id": "x"}, "do: found None, expected one of hello"),
                ({"do": "dance"}, "do: found 'dance'"),
                ({"do": "measure", "implementation": "python", "warmup": -1, "iterations": 1}, "warmup: found -1"),
                ({"do": "measure", "implementation": "python", "warmup": 1, "iterations": 0}, "iterations: found 0"),
                ({"do": "prepare", "implementation": "cobol"}, "found 'cobol', expected one of python, torch"),
                ({"do": "prepare", "implementation": "python"}, "expected a load before"),
                ({"do": "check", "implementation": "python", "output": "o"}, "'python' not prepared"),
                ({"do": "load", "operation": "gelu", "dims": "3,257", "inputs": name}, "dims: found '3,257'"),
                (load, "b.bin: found 5 bytes, expected 1028"),
            ]
            replies, status, _ = on_cpu([request for request, _ in sent] + [{"id": 9, "do": "hello"}])
        self.assertEqual(status, 0)
        self.assertEqual(len(replies), len(sent) + 1)
        for (request, words), reply in zip(sent, replies[:-1], strict=True):
            self.assertFalse(reply["ok"])
            self.assertIn(words, reply["error"], request)
            self.assertNotIn("\n", reply["error"])
            self.assertIn("Traceback", reply["traceback"])
        self.assertEqual(replies[2]["id"], "x")
        self.assertTrue(replies[-1]["ok"])

    def test_a_lost_context_is_answered_and_ends_the_worker(self) -> None:
        load = {"id": 1, "do": "load", "operation": "gelu", "dims": [3, 257], "inputs": "."}
        replies, status, _ = on_cpu([load, {"id": 2, "do": "hello"}], device="Lost")
        self.assertEqual(status, 1)
        self.assertEqual(len(replies), 1)
        self.assertIn("the CUDA context is lost and the worker exits", replies[0]["error"])


class CommandLine(unittest.TestCase):
    def test_each_reply_comes_before_the_next_request(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-m", "mage_worker", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
        ) as worker:
            assert worker.stdin and worker.stdout
            for request, ok in (({"id": 1, "do": "dance"}, False), ({"id": 2, "do": "quit"}, True)):
                worker.stdin.write(json.dumps(request).encode() + b"\n")
                worker.stdin.flush()
                reply = json.loads(worker.stdout.readline())
                self.assertEqual((reply["id"], reply["ok"]), (request["id"], ok))
            self.assertEqual(worker.wait(timeout=60), 0)

    def test_the_end_of_the_input_ends_the_worker(self) -> None:
        self.assertEqual(talk(["-m", "mage_worker", "serve"], [])[:2], ([], 0))

    @unittest.skipIf(ON_CUDA, "needs a machine without CUDA")
    def test_without_cuda_hello_says_what_to_do(self) -> None:
        replies, status, _ = talk(["-m", "mage_worker", "serve"], ['{"id": 1, "do": "hello"}'])
        self.assertEqual(status, 0)
        self.assertFalse(replies[0]["ok"])
        self.assertIn("CUDA: found none", replies[0]["error"])
        self.assertIn("pip install -r crates/harness/python/requirements.txt", replies[0]["error"])

    def test_without_a_package_hello_says_what_to_do(self) -> None:
        code = "import sys; sys.modules['triton'] = None" + PRELUDE + "sys.exit(serve(requests, replies))"
        replies, status, _ = talk(["-c", code], ['{"id": 1, "do": "hello"}'])
        self.assertEqual(status, 0)
        self.assertIn("triton: found that it cannot be imported", replies[0]["error"])
        self.assertIn("pip install -r crates/harness/python/requirements.txt", replies[0]["error"])

    @unittest.skipIf(ON_CUDA, "needs a machine without CUDA")
    def test_a_capture_that_fails_prints_no_reply_and_exits_1(self) -> None:
        options = "--operation gelu --dims 3,257 --implementation python --inputs . --iterations 1 --warmup 0"
        replies, status, error = talk(["-m", "mage_worker", "capture", *options.split()], [])
        self.assertEqual((replies, status), ([], 1))
        self.assertIn("mage_worker: error: CUDA", error)
