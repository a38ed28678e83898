"""Tests of the worker: `python -m unittest discover -s tests -t .` in crates/harness/python.

Without a GPU the PyTorch expressions run on the CPU and the Triton kernels under Triton's interpreter; with one, both
run on it, and `test_cuda` too. Without PyTorch or Triton all are skipped.
"""

import os
from importlib.util import find_spec
from unittest import SkipTest

for package in ("torch", "triton", "numpy"):
    if find_spec(package) is None:
        raise SkipTest(f"no {package}; pip install -r crates/harness/python/requirements.txt")

import torch  # noqa: E402

ON_CUDA = torch.cuda.is_available()
if not ON_CUDA:
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when a kernel is defined, its own at its import


def _multiply_bfloat16_as_numbers() -> None:
    """Triton 3.6.0's interpreter keeps BF16 as 16-bit integers, and its dot product multiplies those."""
    import triton.language as tl
    from triton.runtime import interpreter

    dot = interpreter.InterpreterBuilder.create_dot

    def widened(x):
        if x.dtype.scalar != tl.bfloat16:
            return x
        return interpreter.TensorHandle(
            interpreter._convert_float(x.data, tl.bfloat16, tl.float32, None).view("f4"), tl.float32
        )

    def create_dot(self, a, b, d, *rest):
        return dot(self, widened(a), widened(b), d, *rest)

    interpreter.InterpreterBuilder.create_dot = create_dot


if not ON_CUDA:
    _multiply_bfloat16_as_numbers()
