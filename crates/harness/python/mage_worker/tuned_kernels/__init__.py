"""Triton kernels to be tuned, one operation a file.

Each file has its kernels, `candidates(dims)`, the configurations to try, and `launches(inputs, output, config)`, what
one call launches under one of them. A configuration is plain data, as it stands in evidence: `form` names the kernel,
the rest are its tile sizes, `warps` and `stages`. Offsets are 32-bit: no array has more than 2^31-1 elements.
"""

from typing import Any

Config = dict[str, Any]
"""One configuration."""
