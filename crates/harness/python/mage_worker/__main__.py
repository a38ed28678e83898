"""Command line: `python -m mage_worker serve` and `python -m mage_worker capture ...`."""

import argparse
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import environment, implementations, stdio
from .capture import capture
from .errors import Unavailable, WorkerError
from .implementations import MODULES
from .operations import DIM_NAMES
from .serve import cuda_session, serve
from .turn import Turn


def main() -> int:
    """Runs one command; returns the exit status."""
    arguments = parser().parse_args()
    replies = stdio.claim_stdout()
    if arguments.command == "serve":
        return serve(stdio.claim_stdin(), replies)
    environment.require_packages()
    implementations.module(arguments.implementation).imports()
    turn = Turn(arguments.lock)
    session = capture(
        cuda_session,
        arguments.operation,
        arguments.dims,
        arguments.implementation,
        arguments.inputs,
        arguments.iterations,
        arguments.warmup,
        arguments.config,
        turn,
    )
    answer: dict[str, Any] = {"gpu_uuid": session.device.uuid()}
    if arguments.config is not None:
        answer["config"] = arguments.config
    replies.write(json.dumps(answer).encode() + b"\n")
    replies.flush()
    turn.end()
    return 0


def parser() -> argparse.ArgumentParser:
    """The two commands and their options."""
    top = argparse.ArgumentParser(prog="mage_worker", description="PyTorch and Triton implementations on a CUDA GPU.")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer JSON requests, one a line, on standard input and output")
    one = commands.add_parser("capture", help="run one capture range for Nsight Systems")
    one.add_argument("--operation", required=True, choices=DIM_NAMES)
    one.add_argument("--dims", required=True, type=dims, help="comma-separated, 1024,1024,1024")
    one.add_argument("--implementation", required=True, choices=MODULES)
    one.add_argument("--inputs", required=True, type=Path, help="directory with the operation's files")
    one.add_argument("--iterations", required=True, type=at_least(1), help="calls inside the range")
    one.add_argument("--warmup", required=True, type=at_least(0), help="calls before the range opens")
    one.add_argument("--config", type=config, help="what the run chose, as JSON, for those that choose")
    one.add_argument(
        "--lock",
        type=Path,
        help="file whose lock is shared while this prepares and ends, held alone from warm-up to last call",
    )
    return top


def config(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a JSON object")
    return value


def dims(text: str) -> tuple[int, ...]:
    """`1024,1024,1024` as numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected comma-separated integers") from None


def at_least(least: int) -> Callable[[str], int]:
    """A parser of integers of at least `least`."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"found {text!r}, expected an integer of at least {least}")
        return int(text)

    return parse


if __name__ == "__main__":
    try:
        status = main()
    except (WorkerError, Unavailable) as error:
        print(f"mage_worker: error: {error}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        status = 130
    except Exception:
        traceback.print_exc()
        status = 1
    sys.exit(status)
