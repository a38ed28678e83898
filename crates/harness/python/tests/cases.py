"""Small cases with tile tails and degenerate shapes, their inputs, and float64 references."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mage_worker.operations import input_files

SEED = 20260910


@dataclass(frozen=True)
class Case:
    """One operation at one shape."""

    operation: str
    dims: tuple[int, ...]
    constant: float | None = None
    """Value of every element of `a`, where it is not drawn."""

    def arrays(self) -> dict[str, np.ndarray]:
        """The inputs by name, drawn in file order from a fresh generator."""
        generator = np.random.default_rng(SEED)
        drawn: dict[str, np.ndarray] = {}
        for file in input_files(self.operation, self.dims):
            if file.element == "f32":
                drawn[file.name] = generator.normal(0, 0.25, file.shape).astype("<f4")
        if self.operation == "neighbor":
            nodes, _, edges = self.dims
            destinations = np.sort(generator.integers(0, nodes, size=edges))
            counts = np.bincount(destinations, minlength=nodes)
            drawn["rowptr"] = np.concatenate([[0], np.cumsum(counts)]).astype("<u4")
            drawn["indices"] = generator.integers(0, nodes, size=edges, dtype=np.uint32).astype("<u4")
        if self.constant is not None:
            drawn["a"] = np.full_like(drawn["a"], self.constant)
        return drawn

    def write(self, directory: Path) -> Path:
        """Writes the input files into `directory`."""
        directory.mkdir(parents=True, exist_ok=True)
        for name, array in self.arrays().items():
            array.tofile(directory / f"{name}.bin")
        return directory

    def reference(self) -> np.ndarray:
        """The output in float64, by the contract's formulas."""
        x = {name: value.astype(np.float64) for name, value in self.arrays().items()}
        match self.operation:
            case "matmul":
                return x["a"] @ x["b"]
            case "gelu":
                z = x["a"] + x["b"]
                return 0.5 * z * (1 + np.tanh(0.7978845608 * (z + 0.044715 * z**3)))
            case "layernorm":
                centred = x["a"] - x["a"].mean(axis=1, keepdims=True)
                variance = (centred**2).mean(axis=1, keepdims=True)
                return centred / np.sqrt(variance + 1e-5) * x["b"] + x["c"]
            case "triangle":
                return np.einsum("ikc,jkc->ijc", x["a"], x["b"])
            case "neighbor":
                raw = self.arrays()
                y = np.zeros_like(x["a"])
                for node in range(self.dims[0]):
                    for edge in range(raw["rowptr"][node], raw["rowptr"][node + 1]):
                        y[node] += x["b"][edge] * x["a"][raw["indices"][edge]]
                return y
            case _:
                raise AssertionError(self.operation)


SMALL = [
    Case("matmul", (17, 19, 23)),
    Case("matmul", (1, 1, 1)),
    Case("matmul", (33, 65, 40)),
    Case("matmul", (33, 72, 40)),
    Case("gelu", (3, 257)),
    Case("gelu", (1, 1)),
    Case("layernorm", (3, 257)),
    Case("layernorm", (2, 1), constant=0.25),
    Case("layernorm", (4, 768), constant=0.25),
    Case("triangle", (7, 5)),
    Case("triangle", (1, 1)),
    Case("triangle", (33, 3)),
    Case("neighbor", (7, 9, 23)),
    Case("neighbor", (7, 9, 0)),
    Case("neighbor", (1, 5, 9)),
    Case("neighbor", (3, 70, 150)),
]

FULL = [
    Case("matmul", (1024, 1024, 1024)),
    Case("gelu", (4096, 768)),
    Case("layernorm", (4096, 768)),
    Case("triangle", (128, 32)),
    Case("neighbor", (4096, 64, 65536)),
]
