"""Answers requests, one JSON object a line, until `quit` or the end of the input.

Request: `{"id": 1, "do": "measure", "implementation": "triton", "warmup": 25, "iterations": 100}`; with `"handle": 1`,
of a second handle of that implementation, which reads and writes memory of its own.
Reply: `{"id": 1, "ok": true, "samples_us": [...]}`, or
`{"id": 1, "ok": false, "error": "one line", "traceback": "..."}`.
"""

import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from . import environment, implementations
from .errors import Unavailable, WorkerError

if TYPE_CHECKING:
    from .session import Session

Request = dict[str, Any]
Reply = dict[str, Any]


def cuda_session() -> "Session":
    """Opens the session once its packages are known to be there."""
    environment.require_packages()
    from .session import open_session

    return open_session()


def serve(requests: BinaryIO, replies: BinaryIO, open_session: Callable[[], "Session"] = cuda_session) -> int:
    """Serves until the end; returns the exit status: 0, or 1 after a fatal device error."""
    session: Session | None = None
    for line in requests:
        identity: Any = None
        try:
            request = _parse(line)
            identity = request.get("id")
            if request.get("do") == "quit":
                _reply(replies, {"id": identity, "ok": True})
                return 0
            action = _action(request)
            if session is None:
                session = open_session()
            _reply(replies, {"id": identity, "ok": True, **action(session, request)})
        except BrokenPipeError:
            return 1
        except Exception as error:
            lost = session is not None and not session.device.alive()
            message = _one_line(error) + ("; the CUDA context is lost and the worker exits" if lost else "")
            _reply(replies, {"id": identity, "ok": False, "error": message, "traceback": traceback.format_exc()})
            if lost:
                return 1
    return 0


def _hello(session: "Session", _: Request) -> Reply:
    return session.hello()


def _load(session: "Session", request: Request) -> Reply:
    session.load(_text(request, "operation"), _dims(request), Path(_text(request, "inputs")))
    return {}


def _prepare(session: "Session", request: Request) -> Reply:
    """`choice` where there was something to choose; `unavailable`, the reason, where it does not run here."""
    how = implementations.Request(
        **{name: request[name] for name in ("rtol", "atol", "config") if request.get(name) is not None}
    )
    try:
        choice = session.prepare(_text(request, "implementation"), how, _handle(request))
    except Unavailable as reason:
        return {"unavailable": str(reason)}
    return {} if choice is None else {"choice": choice}


def _check(session: "Session", request: Request) -> Reply:
    implementation, path = _text(request, "implementation"), Path(_text(request, "output"))
    return {"elements": session.check(implementation, path, _handle(request))}


def _measure(session: "Session", request: Request) -> Reply:
    warmup, iterations = _count(request, "warmup", 0), _count(request, "iterations", 1)
    flush_bytes = _count(request, "flush_bytes", 1) if "flush_bytes" in request else 0
    implementation = _text(request, "implementation")
    return {"samples_us": session.measure(implementation, warmup, iterations, flush_bytes, _handle(request))}


def _verify_inputs(session: "Session", request: Request) -> Reply:
    implementation = _text(request, "implementation") if "implementation" in request else None
    return {"sha256": session.verify_inputs(implementation, _handle(request))}


ACTIONS: dict[str, Callable[["Session", Request], Reply]] = {
    "hello": _hello,
    "load": _load,
    "prepare": _prepare,
    "check": _check,
    "measure": _measure,
    "verify_inputs": _verify_inputs,
}


def _action(request: Request) -> Callable[["Session", Request], Reply]:
    name = request.get("do")
    if not isinstance(name, str) or name not in ACTIONS:
        raise WorkerError(f"do: found {name!r}, expected one of {', '.join(ACTIONS)}, quit")
    return ACTIONS[name]


def _parse(line: bytes) -> Request:
    try:
        request = json.loads(line)
    except ValueError as error:
        raise WorkerError(f"request: found {line[:200]!r} ({error}), expected one JSON object a line") from error
    if not isinstance(request, dict):
        raise WorkerError(f"request: found {line[:200]!r}, expected one JSON object a line")
    return request


def _text(request: Request, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise WorkerError(f"{name}: found {value!r}, expected a string")
    return value


def _count(request: Request, name: str, least: int) -> int:
    value = request.get(name)
    if type(value) is not int or value < least:
        raise WorkerError(f"{name}: found {value!r}, expected an integer of at least {least}")
    return value


def _handle(request: Request) -> int:
    return _count(request, "handle", 0) if "handle" in request else 0


def _dims(request: Request) -> tuple[int, ...]:
    value = request.get("dims")
    if not isinstance(value, list) or any(type(dim) is not int for dim in value):
        raise WorkerError(f"dims: found {value!r}, expected a list of integers")
    return tuple(value)


def _one_line(error: Exception) -> str:
    first = next(iter(str(error).strip().splitlines()), "")
    return first if isinstance(error, WorkerError) else f"{type(error).__name__}: {first}"


def _reply(replies: BinaryIO, reply: Reply) -> None:
    replies.write(json.dumps(reply, allow_nan=False).encode() + b"\n")
    replies.flush()
