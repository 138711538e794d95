"""Enforce caps on the memory and processor time of a script and its processes, and report their use."""

from __future__ import annotations

from time import monotonic

from coldfork.launch.supervisor import control_group
from coldfork.launch.supervisor.watch import MemoryWatch, ProcessorWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from coldfork.launch.supervisor.control_group import ControlGroup

OVER_MEMORY = "over-memory"
OVER_CPU = "over-cpu"
PATIENCE = 0.05
"""A script that was asked to end because of its processor time is killed after using this share more."""
_ENTERING_SECONDS = 1.0
"""A process that is not in its group by then was not let in."""
_GROUP = "cgroup"
_WATCH = "watch"


class Capping:
    """The caps on one script; without any, nothing is checked."""

    def __init__(self, caps: dict[str, Any], name: str, caller: int) -> None:
        """`caps` holds `memory` in bytes, `cpu` in seconds, and `groups`, which says whether to try a control
        group.
        """
        self._memory = None if caps["memory"] is None else MemoryWatch(caps["memory"])
        self._cpu = None if caps["cpu"] is None else ProcessorWatch(caps["cpu"])
        self._group: ControlGroup | None = None
        self._held_by_group = False
        self._entered = False
        self._made = monotonic()
        self.ended: float = 0.0
        """The processor time of processes that have ended and were reaped here."""
        if caps["groups"]:
            self._group_for(name, caller)

    @property
    def must_not_be_late(self) -> bool:
        """Return whether checks must be prompt, because the kernel does not enforce or measure for us."""
        return (self._memory is not None and not self._held_by_group) or self._group is None

    @property
    def entrance(self) -> str | None:
        """Return the control group that the script's process must enter first; None if there is no group."""
        return None if self._group is None else self._group.entrance

    def _group_for(self, name: str, caller: int) -> None:
        if self._memory is not None:
            group = control_group.make(name, caller, memory=True)
            if group is not None and group.hold_to(self._memory.most):
                self._group, self._held_by_group = group, True
                return
            if group is not None:
                group.remove()
        if self._cpu is not None:
            # A group counts processor time even if no controller is available.
            self._group = control_group.make(name, caller, memory=False)

    def look(self, processes: Callable[[], Sequence[int]]) -> tuple[str | None, bool]:
        """Check the processes; return the cap that they exceed, and whether to kill them without asking
        first.

        `processes` lists the tree, parents first.
        """
        over = self._over(processes)
        # While a script ends politely, its memory might grow far beyond the cap; a little more processor time
        # does less harm.
        return over, over == OVER_MEMORY or (over == OVER_CPU and self._far_over_cpu())

    def _over(self, processes: Callable[[], Sequence[int]]) -> str | None:
        group = self._entered_group()
        by_group = group is not None and self._held_by_group
        pids = processes() if (self._memory and not by_group) or (self._cpu and group is None) else ()
        if self._memory is not None:
            if group is not None and by_group:
                self._memory.reached = group.memory()
                self._memory.pause = 0.25
                if group.kills():
                    return OVER_MEMORY
            elif self._memory.look(pids):
                return OVER_MEMORY
        if self._cpu is not None:
            over = self._cpu.look(pids, self.ended) if group is None else self._cpu.take(group.seconds())
            if over:
                return OVER_CPU
        return None

    def _entered_group(self) -> ControlGroup | None:
        if self._group is not None and not self._entered:
            self._entered = self._group.used()
            if not self._entered:
                if monotonic() - self._made > _ENTERING_SECONDS:
                    # The kernel did not let the script into the group, so watch its processes instead.
                    self._group.remove()
                    self._group = None
                return None
        return self._group

    @property
    def pause(self) -> float:
        """Return the seconds until the next check."""
        return min(watch.pause for watch in (self._memory, self._cpu) if watch is not None)

    def _far_over_cpu(self) -> bool:
        return self._cpu is not None and self._cpu.used >= self._cpu.most * (1 + PATIENCE)

    def conclude(self) -> str | None:
        """Take a last reading after the script's end; return the cap that the kernel itself has enforced, if
        any.
        """
        over = self._over(tuple)
        if self._group is not None:
            self._group.remove()
        # A cap that was exceeded only in the last moments is not the reason for the script's end.
        return over if over == OVER_MEMORY and self._held_by_group else None

    def account(self) -> dict[str, Any]:
        """Return the report's entry about the caps."""
        memory, cpu = self._memory, self._cpu
        by_group = self._group is not None and self._entered
        return {
            "memory": memory
            and {
                "most": memory.most,
                "reached": memory.reached,
                "by": _GROUP if by_group and self._held_by_group else _WATCH,
            },
            "cpu": cpu
            and {
                "most": cpu.most,
                "reached": round(cpu.used, 3),
                "by": _GROUP if by_group else _WATCH,
            },
        }
