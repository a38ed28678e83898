"""Tests of the worker that need no package: `python -m unittest discover -s plain_tests -t .` in crates/harness/python."""
