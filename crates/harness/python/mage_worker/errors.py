"""The errors that the worker raises on purpose."""

REQUIREMENTS = "crates/harness/python/requirements.txt"


class WorkerError(Exception):
    """What is wrong, in one line: the file or field, what was found, what was expected."""


class Unavailable(Exception):
    """Why an implementation cannot run an operation here, in one line: a result to report, not a failure."""
