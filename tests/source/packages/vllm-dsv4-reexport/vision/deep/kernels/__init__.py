"""Kernels, offered in one place."""

from .gather import gather_rows  # expect: eager-reexport
from .layout import rows_first

__all__ = ["gather_rows", "rows_first"]
