"""Kernels. Whoever imports any part of the package imports what is re-exported here."""

from kernels.delta import delta_rule
from kernels.retention import retention

__all__ = ["delta_rule", "retention"]
