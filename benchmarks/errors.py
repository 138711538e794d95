"""The error of the benchmarks: something outside the code is missing or refuses."""

from __future__ import annotations


class BenchmarkError(Exception):
    """You asked for sources, a tree or a tool that cannot be had; the message says which and why."""
