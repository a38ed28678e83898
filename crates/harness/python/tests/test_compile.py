"""Every Triton kernel compiles to machine code for the GPUs in question; needs none of them."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from mage_worker.triton_kernels import gelu, layernorm, matmul, neighbor, triangle

F, I, N = "*fp32", "*i32", "i32"
KERNELS = [  # kernel, types of its arguments, tile sizes
    (matmul.matmul_kernel, dict(a=F, b=F, c=F, m=N, n=N, k=N), dict(TILE=matmul.TILE)),
    (gelu.bias_gelu_kernel, dict(a=F, b=F, y=F, elements=N, width=N), dict(BLOCK=gelu.BLOCK)),
    (layernorm.layer_norm_kernel, dict(a=F, b=F, c=F, y=F, width=N), dict(BLOCK=1024)),
    (triangle.triangle_kernel, dict(a=F, b=F, o=F, n=N, channels=N), dict(TILE=triangle.TILE)),
    (neighbor.neighbor_kernel, dict(a=F, weights=F, rowptr=I, indices=I, y=F, width=N),
     dict(EDGES=neighbor.EDGES, FEATURES=neighbor.FEATURES)),
]
for kernel, types, tiles in KERNELS:
    ints = [name for name, kind in types.items() if kind == N]
    for label, ones, divisible in (("any", [], []), ("ones", ints, []), ("sixteens", [], list(types))):
        signature = {**types, **{name: "constexpr" for name in [*ones, *tiles]}}
        constants = {**tiles, **{name: 1 for name in ones}}
        names = list(signature)
        attrs = {(names.index(name),): [["tt.divisibility", 16]] for name in divisible}
        source = ASTSource(kernel, signature, constants, attrs)
        for capability in (80, 89, 90):
            built = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
            ptx = built.asm["ptx"]
            assert built.asm["cubin"] and ".visible .entry" in ptx, kernel
            assert "tf32" not in ptx, f"{kernel}: TF32 in the code for sm_{capability}"
            print(kernel.fn.__name__, label, capability, built.metadata.shared)
"""


class Compile(unittest.TestCase):
    def test_kernels_compile_without_tf32(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        run = subprocess.run(
            [sys.executable, "-c", COMPILE], capture_output=True, text=True, timeout=600, cwd=ROOT, env=environment
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(run.stdout.splitlines()), 5 * 3 * 3)
