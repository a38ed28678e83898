"""The five operations: dims, input files and output shapes (FP32, forward only)."""

import math
from dataclasses import dataclass

from .errors import WorkerError

DIM_NAMES: dict[str, tuple[str, ...]] = {
    "matmul": ("m", "n", "k"),
    "gelu": ("rows", "width"),
    "layernorm": ("rows", "width"),
    "triangle": ("n", "channels"),
    "neighbor": ("nodes", "width", "edges"),
}

MAX_ELEMENTS = 2**31 - 1
"""Largest number of elements of one array, so that device indices fit 31 bits."""


@dataclass(frozen=True)
class InputFile:
    """One input: row-major, little-endian, four bytes an element, no header."""

    name: str
    """Name of the array; the file is `<name>.bin`."""
    element: str
    """`f32` or `u32`."""
    shape: tuple[int, ...]
    """Outermost dimension first."""

    @property
    def file_name(self) -> str:
        return f"{self.name}.bin"

    @property
    def bytes(self) -> int:
        """Length of the file in bytes."""
        return 4 * math.prod(self.shape)


def check_dims(operation: str, dims: tuple[int, ...]) -> None:
    """Refuses an unknown operation, a wrong count of dims, zero dims (`edges` may be 0) and too large arrays."""
    if operation not in DIM_NAMES:
        raise WorkerError(f"operation: found {operation!r}, expected one of {', '.join(DIM_NAMES)}")
    names = DIM_NAMES[operation]
    if len(dims) != len(names):
        raise WorkerError(
            f"dims: found {len(dims)} values {list(dims)}, expected {len(names)} for {operation}: {', '.join(names)}"
        )
    for name, dim in zip(names, dims, strict=True):
        least = 0 if name == "edges" else 1
        if dim < least:
            raise WorkerError(f"dims: found {name} = {dim}, expected at least {least}")
    shapes = [file.shape for file in input_files(operation, dims)] + [output_shape(operation, dims)]
    if any(math.prod(shape) > MAX_ELEMENTS for shape in shapes):
        raise WorkerError(f"dims: found {list(dims)}, expected at most {MAX_ELEMENTS} (2^31-1) elements an array")


def input_files(operation: str, dims: tuple[int, ...]) -> list[InputFile]:
    """The input files in the order in which they are drawn. `dims` must have passed `check_dims`."""

    def f32(name: str, *shape: int) -> InputFile:
        return InputFile(name, "f32", shape)

    def u32(name: str, *shape: int) -> InputFile:
        return InputFile(name, "u32", shape)

    match operation:
        case "matmul":
            m, n, k = dims
            return [f32("a", m, k), f32("b", k, n)]
        case "gelu":
            rows, width = dims
            return [f32("a", rows, width), f32("b", width)]
        case "layernorm":
            rows, width = dims
            return [f32("a", rows, width), f32("b", width), f32("c", width)]
        case "triangle":
            n, channels = dims
            return [f32("a", n, n, channels), f32("b", n, n, channels)]
        case "neighbor":
            nodes, width, edges = dims
            return [f32("a", nodes, width), f32("b", edges), u32("rowptr", nodes + 1), u32("indices", edges)]
        case _:
            raise AssertionError(operation)


def output_shape(operation: str, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the FP32 output. `dims` must have passed `check_dims`."""
    match operation:
        case "triangle":
            n, channels = dims
            return (n, n, channels)
        case _:
            return dims[:2]
