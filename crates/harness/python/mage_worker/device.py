"""The CUDA GPU: all that the worker asks of it beyond tensors and kernels."""

import ctypes
import os
import statistics
from collections.abc import Callable
from typing import Any
from uuid import UUID

import torch

from .errors import REQUIREMENTS, WorkerError

NAN_BITS = 0x7FC00000
"""A quiet FP32 NaN."""


class Cuda:
    """Device 0 of those that CUDA shows to the process."""

    name = "cuda"
    """What tensors are placed on."""

    def require(self) -> None:
        """Refuses a machine without CUDA, and settings under which what runs is not what is named."""
        if not torch.cuda.is_available():
            built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
            raise WorkerError(
                f"CUDA: found none that PyTorch {torch.__version__} ({built}) can use, expected an NVIDIA GPU and its"
                f" driver and a CUDA build of PyTorch; see nvidia-smi, then pip install -r {REQUIREMENTS}"
            )
        for variable, allowed in (("TRITON_INTERPRET", ("", "0")), ("NVIDIA_TF32_OVERRIDE", ("", "0"))):
            found = os.environ.get(variable, "")
            if found not in allowed:
                raise WorkerError(f"environment variable {variable}: found {found!r}, expected it to be unset")

    def describe(self) -> dict[str, str]:
        """Product name and compute capability, `9.0`."""
        major, minor = torch.cuda.get_device_capability()
        return {"name": torch.cuda.get_device_name(), "compute_capability": f"{major}.{minor}"}

    def uuid(self) -> str:
        """Which card it is, `GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`: the driver's bytes as `nvidia-smi` shows them."""
        driver = ctypes.CDLL("libcuda.so.1")
        device = ctypes.c_int()
        identity = (ctypes.c_ubyte * 16)()
        status = driver.cuDeviceGet(ctypes.byref(device), 0)
        if status == 0:
            status = driver.cuDeviceGetUuid(ctypes.byref(identity), device)
        if status != 0:
            raise WorkerError(f"cuDeviceGetUuid: found status {status}, expected 0")
        return f"GPU-{UUID(bytes=bytes(identity))}"

    def synchronize(self) -> None:
        """Waits for all work; raises what went wrong in it."""
        torch.cuda.synchronize()

    def alive(self) -> bool:
        """Whether the context still works: a fatal error comes back from every later call."""
        try:
            torch.cuda.synchronize()
        except Exception:
            return False
        return True

    def stream(self) -> torch.cuda.Stream:
        """The stream that PyTorch and Triton launch on."""
        return torch.cuda.current_stream()

    def event(self) -> torch.cuda.Event:
        """A timing event, not yet created on the device."""
        return torch.cuda.Event(enable_timing=True)

    def flush(self, size: int) -> Callable[[], object]:
        """A function that writes `size` bytes of memory of its own."""
        return torch.empty(size, dtype=torch.uint8, device=self.name).zero_

    def release_free_memory(self) -> None:
        """Gives what the caching allocator holds and nobody uses back to the driver."""
        torch.cuda.empty_cache()

    def poison_free_memory(self) -> None:
        """Fills with NaN, in place, every free block that the caching allocator could hand out: at least one."""
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuMemsetD32_v2.argtypes = [ctypes.c_uint64, ctypes.c_uint, ctypes.c_size_t]
        driver.cuMemsetD32_v2.restype = ctypes.c_int
        torch.cuda.synchronize()
        filled = 0
        for segment in torch.cuda.memory_snapshot():
            address = segment["address"]
            for block in segment["blocks"]:  # end to end, from the segment's address on
                if block["state"] == "inactive":
                    status = driver.cuMemsetD32_v2(address, NAN_BITS, block["size"] // 4)
                    if status != 0:
                        raise WorkerError(f"cuMemsetD32: found status {status} on {block['size']} bytes, expected 0")
                    filled += block["size"]
                address += block["size"]
        torch.cuda.synchronize()
        if filled == 0:
            raise WorkerError("caching allocator: found no free block to poison, expected that of the call before")

    def call_us(self, call: Callable[[], Any], calls: int = 50, replays: int = 15) -> float:
        """Median over `replays` of the device time of one of `calls` calls back to back in a CUDA graph."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                call()
        graph.replay()
        start, end = self.event(), self.event()
        times = []
        for _ in range(replays):
            start.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1000.0 / calls)
        return statistics.median(times)

    def profiler_start(self) -> None:
        """Opens the capture range: `cudaProfilerStart`."""
        torch.cuda.profiler.start()

    def profiler_stop(self) -> None:
        """Closes the capture range: `cudaProfilerStop`."""
        torch.cuda.profiler.stop()

    def range_push(self, name: str) -> None:
        """Opens an NVTX range on this thread."""
        torch.cuda.nvtx.range_push(name)

    def range_pop(self) -> None:
        """Closes the innermost NVTX range."""
        torch.cuda.nvtx.range_pop()
