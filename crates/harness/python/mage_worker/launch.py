"""Launches of Triton kernels by their shortest supported path."""

import inspect
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import torch
import triton
from triton import knobs
from triton.runtime.driver import driver
from triton.tools.tensor_descriptor import TensorDescriptor


@dataclass(frozen=True)
class Launch:
    """One kernel and everything that it is launched with."""

    kernel: Any
    """A function under `triton.jit`."""
    grid: tuple[int, int, int]
    """Programs along each axis."""
    arguments: tuple[Any, ...]
    """Tensors and integers, in the order of the kernel's parameters."""
    constants: dict[str, Any]
    """Compile-time parameters, which follow the others."""
    warps: int = 4
    stages: int = 3
    """Depth of the software pipeline."""
    options: dict[str, Any] = field(default_factory=dict)
    """Further compiler options."""

    def compile(self) -> Any:
        """The compiled kernel, from the cache where it is there."""
        compiled = self.kernel.warmup(
            *self.arguments,
            grid=self.grid,
            **self.constants,
            num_warps=self.warps,
            num_stages=self.stages,
            **self.options,
        )
        return compiled.result() if hasattr(compiled, "result") else compiled

    def bind(self) -> Callable[[], None]:
        """The call that launches it on the current stream.

        Arguments are bound and specialised once, not at every call as `kernel[grid](...)` does it: the host's part
        of a call is the launcher alone.
        """
        if knobs.runtime.interpret:
            options = {"num_warps": self.warps, "num_stages": self.stages}
            return lambda: self.kernel[self.grid](*self.arguments, **self.constants, **options)
        compiled = self.compile()
        run, function, packed = compiled.run, compiled.function, compiled.packed_metadata
        values = dict(zip(self.kernel.arg_names, self.arguments, strict=False)) | self.constants
        launch, bound = _bound(run, compiled, [values[name] for name in self.kernel.arg_names])
        fixed = (function, run.launch_cooperative_grid, run.launch_pdl, None, None, packed, None, None, None, *bound)
        if run.global_scratch_size or run.profile_scratch_size:
            raise RuntimeError(f"{self.kernel.__name__}: found scratch memory, expected a kernel without any")
        x, y, z = self.grid
        kept = self.arguments  # the launcher sees addresses: what lies there must live as long as the call
        device = driver.active.get_current_device()
        stream = driver.active.get_current_stream

        def call() -> None:
            launch(x, y, z, stream(device), *fixed)

        call.kept = kept  # type: ignore[attr-defined]
        return call


def _bound(run: Any, compiled: Any, values: list[Any]) -> tuple[Callable[..., None], list[Any]]:
    """The launcher in C and its arguments: addresses for tensors, an encoded map for a tensor descriptor.

    Triton encodes a descriptor again at every launch, in a wrapper around that launcher; here it is done once.
    """
    if not any(isinstance(value, TensorDescriptor) for value in values):
        return run.launch, [value.data_ptr() if isinstance(value, torch.Tensor) else value for value in values]
    from triton.backends.nvidia.driver import make_tensordesc_arg

    metas = iter(compiled.metadata.tensordesc_meta or itertools.repeat(None))
    bound: list[Any] = []
    for value in values:
        if isinstance(value, TensorDescriptor):
            bound.extend(make_tensordesc_arg(value, next(metas)))
        else:
            bound.append(value.data_ptr() if isinstance(value, torch.Tensor) else value)
    return inspect.getclosurevars(run.launch).nonlocals["launcher"], bound


def compile_all(launches: list[Launch]) -> None:
    """Compiles on all cores; what fails to compile fails again, by name, when it is bound."""
    if knobs.runtime.interpret:
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool, triton.AsyncCompileMode(pool, ignore_errors=True):
        for launch in launches:
            launch.kernel.warmup(
                *launch.arguments,
                grid=launch.grid,
                **launch.constants,
                num_warps=launch.warps,
                num_stages=launch.stages,
                **launch.options,
            )


def bind_all(launches: list[Launch], output: torch.Tensor) -> Callable[[], torch.Tensor]:
    """The call that makes all of them in order and returns `output`."""
    calls = [launch.bind() for launch in launches]
    if len(calls) == 1:
        (only,) = calls

        def one() -> torch.Tensor:
            only()
            return output

        return one

    def several() -> torch.Tensor:
        for call in calls:
            call()
        return output

    return several
