"""Private copies of standard input and output, out of reach of library noise and child processes."""

import os
import sys
from typing import BinaryIO


def claim_stdout() -> BinaryIO:
    """Returns the real standard output; whatever writes to fd 1 from now on lands on standard error."""
    sys.stdout.flush()
    private = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(private, "wb")


def claim_stdin() -> BinaryIO:
    """Returns the real standard input; whatever reads fd 0 from now on finds it empty."""
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(private, "rb")
