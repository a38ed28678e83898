"""The one error that the worker raises on purpose."""

REQUIREMENTS = "crates/harness/python/requirements.txt"


class WorkerError(Exception):
    """What is wrong, in one line: the file or field, what was found, what was expected."""
