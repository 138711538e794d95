"""Graphs are torch's: without it there is nothing here to collect."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") is not None else ["test_*.py"]
