"""What happens to accelerators inside a running program: standard library only, never raises into it."""

from __future__ import annotations

from coldfork.observe.watch import MAIN, Watch, watch

__all__ = ["MAIN", "Watch", "watch"]
