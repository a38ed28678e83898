"""What the numbers depend on outside this package: package versions and PyTorch's TF32 switches."""

import importlib
import importlib.metadata
import platform
import re
from typing import Any

from .errors import REQUIREMENTS, WorkerError

IEEE = {"matmul_allow_tf32": False, "cudnn_allow_tf32": False, "float32_matmul_precision": "highest"}


def require_packages() -> None:
    """Refuses an environment in which a needed package cannot be imported."""
    for package in ("numpy", "torch", "triton"):
        try:
            importlib.import_module(package)
        except Exception as error:  # a broken install raises more than ImportError
            reason = next(iter(str(error).splitlines()), "")
            raise WorkerError(
                f"{package}: found that it cannot be imported ({type(error).__name__}: {reason}), expected it"
                f" installed; pip install -r {REQUIREMENTS}"
            ) from error


def set_ieee_precision() -> None:
    """Switches TF32 off and reads the switches back."""
    import torch

    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if tf32() != IEEE:
        raise WorkerError(f"TF32 switches: found {tf32()} after setting them, expected {IEEE}")


def tf32() -> dict[str, Any]:
    """The TF32 switches as they stand."""
    import torch

    return {
        "matmul_allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
    }


def describe() -> dict[str, Any]:
    """Versions, switches, and the installed packages that take part."""
    import torch
    import triton

    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "triton": str(triton.__version__),
        "cuda": str(torch.version.cuda),
        "tf32": tf32(),
        "packages": packages(),
    }


def packages() -> dict[str, str]:
    """Installed version of torch, triton, numpy and every `nvidia-*` package, by normalised name."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name = re.sub(r"[-_.]+", "-", distribution.name or "").lower()
        if name in ("torch", "triton", "numpy") or name.startswith("nvidia-"):
            found.setdefault(name, distribution.version)  # the first on sys.path is the one imported
    return dict(sorted(found.items()))
