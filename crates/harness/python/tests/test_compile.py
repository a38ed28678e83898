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

TUNED = """
import sys
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from mage_worker.implementations.triton_tuned import OPERATIONS
from mage_worker.inputs import Inputs
from mage_worker.operations import input_files, output_shape
sys.path.insert(0, "tests")  # by itself: the package would switch Triton to its interpreter
from cases import FULL

TYPES = {torch.float32: "*fp32", torch.bfloat16: "*bf16", torch.int32: "*i32"}
for case in FULL:
    kernels, dims = OPERATIONS[case.operation], case.dims
    tensors = {
        file.name: torch.empty(file.shape, dtype=torch.float32 if file.element == "f32" else torch.int32)
        for file in input_files(case.operation, dims)
    }
    output = torch.empty(output_shape(case.operation, dims))
    first = {}
    for config in kernels.candidates(dims):
        if not config.get("boxes"):  # a tensor map is made on a GPU
            first.setdefault((config["form"], config.get("precision"), config.get("parts", 1) > 1), config)
    for config in first.values():
        for launch in kernels.launches(Inputs(case.operation, dims, tensors), output, config):
            names, signature, attrs = launch.kernel.arg_names, {}, {}
            for index, (name, value) in enumerate(zip(names, launch.arguments)):
                signature[name] = TYPES[value.dtype] if isinstance(value, torch.Tensor) else "i32"
                if isinstance(value, torch.Tensor) or value % 16 == 0:
                    attrs[(index,)] = [["tt.divisibility", 16]]
            signature |= {name: "constexpr" for name in launch.constants}
            source = ASTSource(launch.kernel, signature, launch.constants, attrs)
            options = {"num_warps": launch.warps, "num_stages": launch.stages}
            built = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
            assert built.asm["cubin"] and built.metadata.shared <= 227 * 1024, (config, built.metadata.shared)
        print(case.operation, config["form"])
"""


class Compile(unittest.TestCase):
    def compiled(self, program: str) -> list[str]:
        """The lines that `program` prints."""
        environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, cwd=ROOT, env=environment
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.splitlines()

    def test_kernels_compile_without_tf32(self) -> None:
        self.assertEqual(len(self.compiled(COMPILE)), 5 * 3 * 3)

    def test_every_form_of_the_tuned_kernels_compiles_for_hopper(self) -> None:
        forms = {"matmul direct", "matmul split", "gelu flat", "gelu columns", "layernorm one", "layernorm three"}
        forms |= {"triangle broadcast", "triangle batched", "triangle split", "neighbor edges", "neighbor nodes"}
        self.assertEqual(set(self.compiled(TUNED)), forms)
