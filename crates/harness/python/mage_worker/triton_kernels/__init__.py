"""Triton kernels, one operation a file.

Each file has its kernel and `bind(inputs, output)`, which returns the call that launches it once and returns `output`.
Offsets are 32-bit: no array has more than 2^31-1 elements.
"""
