"""Runs the PyTorch and Triton implementations of the five operations on a CUDA GPU, one request at a time."""
