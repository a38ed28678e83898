"""Reads an operation's input files, checks them, and puts them on the device."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from .errors import WorkerError
from .operations import InputFile, check_dims, input_files, output_shape


@dataclass(frozen=True)
class Inputs:
    """One operation's inputs, resident on the device."""

    operation: str
    dims: tuple[int, ...]
    tensors: dict[str, torch.Tensor]
    """By array name: `f32` files as float32, `u32` files as int32 (the same bytes; values below 2^31)."""

    @property
    def output_shape(self) -> tuple[int, ...]:
        return output_shape(self.operation, self.dims)

    def copy(self) -> "Inputs":
        """The same inputs in memory of their own."""
        return Inputs(self.operation, self.dims, {name: tensor.clone() for name, tensor in self.tensors.items()})

    def sha256(self) -> dict[str, str]:
        """SHA-256 of the bytes on the device now, by file name."""
        return {f"{name}.bin": _sha256(tensor) for name, tensor in self.tensors.items()}


def load(operation: str, dims: tuple[int, ...], directory: Path, device: str) -> Inputs:
    """Reads the files of `operation` from `directory` onto `device`."""
    check_dims(operation, dims)
    arrays = {file.name: _read(directory / file.file_name, file) for file in input_files(operation, dims)}
    if operation == "neighbor":
        _check_graph(directory, arrays["rowptr"], arrays["indices"], nodes=dims[0], edges=dims[2])
    tensors = {name: torch.from_numpy(_signed(array)).to(device) for name, array in arrays.items()}
    return Inputs(operation, dims, tensors)


def _read(path: Path, file: InputFile) -> np.ndarray:
    """The array in `path`, whose length must be exactly that of its shape."""
    expected = f"{file.bytes} ({file.element} {list(file.shape)})"
    if not path.is_file():
        raise WorkerError(f"{path}: found no file, expected {expected} bytes")
    found = path.stat().st_size
    if found != file.bytes:
        raise WorkerError(f"{path}: found {found} bytes, expected {expected}")
    return np.fromfile(path, dtype="<f4" if file.element == "f32" else "<u4").reshape(file.shape)


def _check_graph(directory: Path, rowptr: np.ndarray, indices: np.ndarray, nodes: int, edges: int) -> None:
    """Refuses a CSR graph that would read outside its arrays."""
    path = directory / "rowptr.bin"
    if rowptr[0] != 0 or rowptr[-1] != edges:
        raise WorkerError(f"{path}: found {rowptr[0]} to {rowptr[-1]}, expected 0 to {edges} (edges)")
    falls = np.flatnonzero(rowptr[1:] < rowptr[:-1])
    if falls.size:
        row = int(falls[0])
        raise WorkerError(f"{path}: found {rowptr[row]} before {rowptr[row + 1]} at row {row}, expected no fall")
    if edges and indices.max() >= nodes:
        raise WorkerError(f"{directory / 'indices.bin'}: found node {indices.max()}, expected below {nodes} (nodes)")


def _signed(array: np.ndarray) -> np.ndarray:
    """The same bytes with u32 seen as i32: PyTorch has few operations on u32."""
    return array.view("<i4") if array.dtype == np.dtype("<u4") else array


def _sha256(tensor: torch.Tensor) -> str:
    return hashlib.sha256(tensor.cpu().numpy().tobytes()).hexdigest()
