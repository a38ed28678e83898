"""The device that tests run on: the GPU where there is one, else a stand-in on the CPU."""

import time

from mage_worker.errors import WorkerError

from . import ON_CUDA


class CpuEvent:
    """A clock reading."""

    def __init__(self) -> None:
        self.records = 0
        self.at = 0.0

    def record(self, stream: None) -> None:
        self.records += 1
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: "CpuEvent") -> float:
        return (end.at - self.at) * 1000.0


class Cpu:
    """Stands in for `Cuda`; keeps a log of what it was asked."""

    name = "cpu"

    def __init__(self) -> None:
        self.log: list[str] = []
        self.is_alive = True

    def require(self) -> None:
        pass

    def describe(self) -> dict[str, str]:
        return {"name": "CPU", "compute_capability": "0.0"}

    def synchronize(self) -> None:
        self.log.append("synchronize")

    def alive(self) -> bool:
        return self.is_alive

    def stream(self) -> None:
        return None

    def event(self) -> CpuEvent:
        return CpuEvent()

    def flush(self, size: int):
        return lambda: self.log.append(f"flush {size}")

    def release_free_memory(self) -> None:
        pass

    def poison_free_memory(self) -> None:
        self.log.append("poison")

    def call_us(self, call) -> float:
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e6

    def profiler_start(self) -> None:
        self.log.append("start")

    def profiler_stop(self) -> None:
        self.log.append("stop")

    def range_push(self, name: str) -> None:
        self.log.append(f"push {name}")

    def range_pop(self) -> None:
        self.log.append("pop")


class Lost(Cpu):
    """A device whose context is lost at the first load."""

    def release_free_memory(self) -> None:
        self.is_alive = False
        raise WorkerError("an illegal memory access was encountered")


def device_under_test():
    """The GPU where there is one."""
    if ON_CUDA:
        from mage_worker.device import Cuda

        return Cuda()
    return Cpu()
