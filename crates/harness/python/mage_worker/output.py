"""Writes an output as a file of raw little-endian f32."""

import os
from pathlib import Path

import torch

from .errors import WorkerError


def write(output: torch.Tensor, shape: tuple[int, ...], path: Path) -> int:
    """Writes `output`, row-major in its logical order, under a temporary name and renames it.

    Returns the number of elements.
    """
    if output.dtype != torch.float32 or tuple(output.shape) != shape:
        raise WorkerError(f"output: found {output.dtype} {list(output.shape)}, expected float32 {list(shape)}")
    array = output.cpu().contiguous().numpy()
    partial = path.with_name(path.name + ".partial")
    array.astype("<f4", copy=False).tofile(partial)
    os.replace(partial, path)
    return array.size
