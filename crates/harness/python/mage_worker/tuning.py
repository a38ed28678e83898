"""Chooses among configurations by measured time, outside everything that is reported as measured."""

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from .errors import Unavailable
from .implementations import Request
from .implementations.python import OPERATIONS
from .inputs import Inputs

if TYPE_CHECKING:
    from .device import Cuda

Config = dict[str, Any]
Call = Callable[[], torch.Tensor]

FINALISTS = 4
"""How many of the fastest are measured again, in turns."""
TURNS = 5

HOW = (
    "median of the device time of one call, calls back to back in a CUDA graph, inputs and output hot in the caches;"
    f" the {FINALISTS} fastest that pass the full-output check measured again in {TURNS} turns"
)
"""How candidates are timed, for the record."""


def reference(inputs: Inputs) -> torch.Tensor:
    """The operation's PyTorch expression in FP64."""
    wide = {name: x.double() if x.is_floating_point() else x for name, x in inputs.tensors.items()}
    return OPERATIONS[inputs.operation](Inputs(inputs.operation, inputs.dims, wide))()


def choose(
    configs: list[Config],
    bind: Callable[[Config], Call],
    poison: Callable[[], None],
    inputs: Inputs,
    request: Request,
    device: "Cuda",
) -> tuple[Call, dict[str, Any]]:
    """The call under the fastest configuration whose whole output passes the check, and the record of the choice.

    Every candidate is recorded: with its time, or with the reason why it has none. `bind` gives the call under a
    configuration; `poison` fills with NaN what the call after it writes.
    """
    expected = reference(inputs)
    records: list[dict[str, Any]] = []
    passed: list[tuple[float, int, Call]] = []
    for index, config in enumerate(configs):
        record: dict[str, Any] = {"config": config}
        records.append(record)
        try:
            call = bind(config)
            call()
            poison()
            output = call()
            device.synchronize()
        except Exception as error:  # the compiler's and the driver's errors have no common class
            if not device.alive():
                raise
            record |= {"outcome": "does not run", "reason": one_line(error)}
            continue
        worst, share = errors(output, expected, request)
        record["max_abs_error"] = worst
        if not share <= 1.0:
            record |= {"outcome": "fails the check", "reason": _why(share)}
            continue
        time_us = device.call_us(call)
        record |= {"outcome": "passes", "time_us": time_us}
        passed.append((time_us, index, call))
    if not passed:
        reasons = sorted({f"{record['outcome']}: {record['reason']}" for record in records})
        raise Unavailable(f"none of {len(configs)} configurations passes: {'; '.join(reasons[:3])}")
    passed.sort(key=lambda one: one[:2])
    finalists = passed[:FINALISTS]
    turns = [[device.call_us(call) for _, _, call in finalists] for _ in range(TURNS)]
    again = [statistics.median(times) for times in zip(*turns, strict=True)]
    for (_, index, _), time_us in zip(finalists, again, strict=True):
        records[index]["final_us"] = time_us
    _, index, call = finalists[again.index(min(again))]
    return call, {"config": configs[index], "how": HOW, "candidates": records}


def errors(output: torch.Tensor, expected: torch.Tensor, request: Request) -> tuple[float | None, float]:
    """Largest absolute error, and largest error as a share of what the check allows; NaN or infinity is `inf`."""
    error = (output.double() - expected).abs()
    share = error / (request.atol + request.rtol * expected.abs())
    if not bool(torch.isfinite(output).all()):
        return None, float("inf")
    return float(error.max()), float(share.max())


def _why(share: float) -> str:
    return "output is not finite" if share == float("inf") else f"largest error is {share:.3g} of what is allowed"


def one_line(error: Exception) -> str:
    """Class and the last line that says anything, within 300 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"[:300]
