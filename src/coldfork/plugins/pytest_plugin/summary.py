"""The summary of a run, over all of its processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coldfork.report.shared.quantities import plural

if TYPE_CHECKING:
    from coldfork.plugins.pytest_plugin.watch import Watching


@dataclass(frozen=True, slots=True)
class _Woken:
    """One device, awake in one or more processes."""

    accelerator: str
    who: str
    place: str
    marked: bool


@dataclass(slots=True)
class Summary:
    """The collected results of this process and of each worker of pytest-xdist."""

    device: str
    forked: bool = False
    """Whether every test runs in its own forked process, as with pytest-forked."""
    forks: int = 0
    awake_forks: int = 0
    unowned: list[str] = field(default_factory=list)
    """Failures of the run for which no single test is to blame."""
    doubts: list[str] = field(default_factory=list)
    conditions: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """Conditions under which forks break their children, for forks that failed no test; with their number."""
    recovered: Counter[str] = field(default_factory=Counter)
    """Devices that forked children touched without failing a test, with the number of children."""
    _woken: dict[_Woken, list[str]] = field(default_factory=dict)
    """The waker of each device, with the workers in which it woke."""
    _silent: list[str] = field(default_factory=list)
    """The workers that died before they could report."""

    @property
    def is_cold(self) -> bool:
        """Whether there is nothing to report."""
        seen = self._woken or self.awake_forks or self.conditions
        return not (seen or self.unowned or self.doubts or self._silent)

    def woken(self, accelerator: str, who: str, place: str, *, marked: bool) -> None:
        """Record the wake of a device, and its waker."""
        self._woken.setdefault(_Woken(accelerator, who, place, marked), [])

    def end(self, watching: Watching) -> None:
        """Record the facts that are known only at the end of the run."""
        self.forks += watching.forks
        self.awake_forks += watching.awake_forks
        self.conditions.update(watching.conditions)
        self.recovered.update(watching.recovered)
        self.doubts += [f"it is not known whether a device is awake: {said}" for said in watching.unknown()]
        self.doubts += [
            f"{_children(count)} touched {name} and caught the error; how it ended was not seen"
            for name, count in watching.unsettled().items()
        ]
        self.doubts += [f"the watch itself failed: {trouble}" for trouble in watching.troubles]

    def as_output(self) -> dict[str, Any]:
        """Return the results in the form in which a worker sends them to its controller."""
        return {
            "woken": [[one.accelerator, one.who, one.place, one.marked] for one in self._woken],
            "forks": self.forks,
            "awake_forks": self.awake_forks,
            "conditions": [[*what, count] for what, count in self.conditions.items()],
            "recovered": dict(self.recovered),
            "unowned": self.unowned,
            "doubts": self.doubts,
        }

    def take(self, worker: str, output: dict[str, Any] | None) -> None:
        """Add the results of a worker; a worker that died has sent none."""
        if output is None:
            self._silent.append(worker)
            return
        for accelerator, who, place, marked in output["woken"]:
            self._woken.setdefault(_Woken(accelerator, who, place, marked), []).append(worker)
        self.forks += output["forks"]
        self.awake_forks += output["awake_forks"]
        for condition, watched, count in output["conditions"]:
            self.conditions[condition, watched] += count
        self.recovered.update(output["recovered"])
        self.unowned += [text for text in output["unowned"] if text not in self.unowned]
        self.doubts += [text for text in output["doubts"] if text not in self.doubts]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        if not self._woken:
            where = " outside of the tests, which ran in forked processes" if self.forked else ""
            yield f"no device was woken{where}; device: {self.device}"
        for woken, workers in self._woken.items():
            if not woken.who:
                yield f"{woken.accelerator} was awake before the watch began"
                continue
            permitted = ", which may (wakes_device)" if woken.marked else ""
            where = f" [{', '.join(sorted(workers))}]" if workers else ""
            yield f"{woken.accelerator} was woken by {woken.who}{permitted}: {woken.place}{where}"
        if self.forks:
            yield f"{plural(self.forks, 'fork')}, {self.awake_forks or 'none'} while a device was awake"
        for (condition, watched), count in self.conditions.items():
            seen = (
                "a test fails where a child was seen to" if watched else "nothing in a child can detect that"
            )
            yield f"{plural(count, 'fork')} that may break the child: {condition}; {seen}"
        for name, count in self.recovered.items():
            yield f"{_children(count)} touched {name}, caught the error and ended well"
        for text in self.unowned:
            yield from ("", *text.splitlines())
        yield from (f"! {doubt}" for doubt in self.doubts)
        if self._silent:
            yield f"! ended before reporting what was seen: {', '.join(self._silent)}"
        if self.device == "none" and not self._woken:
            yield (
                "this machine has no GPU that could be woken; give it a virtual one with pytest --coldfork "
                "--coldfork-virtual h100"
            )


def _children(count: int) -> str:
    return "1 forked child" if count == 1 else f"{count} forked children"
