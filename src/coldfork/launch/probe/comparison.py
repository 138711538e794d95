"""Compare a finding with the result of importing its module: woken, cold, or not testable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import realpath
from pathlib import Path
from types import MappingProxyType

from coldfork.model.effects import EffectKind
from coldfork.model.findings import Confirmed, Finding
from coldfork.model.probes import ModuleProbe, ProbeStatus
from coldfork.model.states import ImportSite, Waker
from coldfork.virtual.profiles import PROFILES, parse

#: Files under /dev that the drivers of NVIDIA, AMD, Intel and the Windows Subsystem for Linux make.
_NODES = ("nvidiactl", "nvidia[0-9]*", "kfd", "dri/renderD*", "accel/accel*", "dxg")
_OF_CUDA = ("nvidiactl", "nvidia[0-9]*", "dxg")
_OF_ROCM = ("kfd",)
#: Only a real or virtual device of the right make can wake these accelerators.
_OF_A_MAKE = frozenset({"cuda", "rocm"})
_STAND_INS = {"cuda": "h100", "rocm": "mi300x"}
_INSTALLED = re.compile(r"([\w.]+) (?:is installed|imports)\b")
Answer = tuple[Confirmed, str]


def device_before(virtual: str | None) -> str:
    """Return the device available to imports: `virtual:NAME`, `real`, or `none` without an accelerator."""
    if virtual:
        return f"virtual:{virtual}"
    return "real" if _any(_NODES) else "none"


def _any(names: tuple[str, ...]) -> bool:
    return any(next(Path("/dev").glob(name), None) is not None for name in names)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The devices that the probed imports could use, and the profile that the findings assume."""

    device: str
    """`real`, `none`, or `virtual:` and its name."""
    accelerators: frozenset[str] = frozenset()
    """Accelerators that are certainly there. Others may be there too, but only importing code that uses them
    can tell.
    """
    management: bool = True
    """Whether devices can be counted without the driver, as far as is known."""
    profile: str = "cuda"
    """The profile that the findings assume."""
    absent: frozenset[str] = frozenset()
    """Packages that findings name but the interpreter does not find."""
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The file behind each path that a probe names."""

    @classmethod
    def before(cls, virtual: str | None, profile: str = "cuda") -> Comparison:
        """Make the comparison for imports on a virtual device, or on this machine's own devices."""
        if virtual:
            played = PROFILES[parse(virtual)[0]]
            there, management = frozenset((played.accelerator,)), played.nvml
        else:
            seen = {"cuda": _any(_OF_CUDA), "rocm": _any(_OF_ROCM)}
            there, management = frozenset(name for name, found in seen.items() if found), True
        return cls(device_before(virtual), there, management, profile)


def packages_named(finding: Finding) -> frozenset[str]:
    """Return the top-level packages that a finding presumes or that its condition names."""
    named = _INSTALLED.findall(" and ".join((*finding.presumed, finding.condition or "")))
    return frozenset(name.partition(".")[0] for name in named)


def refusal(finding: Finding, comparison: Comparison) -> str | None:
    """Return why importing the module cannot test this finding; None if it can."""
    if finding.module.rpartition(".")[2] == "__main__":
        return "it is a program, and an import would run it"
    return no_device(str(finding.accelerator), comparison)


def no_device(accelerator: str, comparison: Comparison, flag: str = "--confirm") -> str | None:
    """Return why nothing can wake an accelerator in this comparison; None if something can."""
    if accelerator in comparison.accelerators:
        return None
    if accelerator in _OF_A_MAKE or comparison.device == "none":
        stand_in = _STAND_INS.get(accelerator)
        advice = f"; give it one with coldfork check {flag} --virtual {stand_in}" if stand_in else ""
        return f"{_spoken(comparison.device)} has no {accelerator} device to wake{advice}"
    return None


def compare(finding: Finding, probe: ModuleProbe, file: str, comparison: Comparison) -> Answer:
    """Compare a finding in `file` with the result of importing its module."""
    other = _another_file(finding, probe, file, comparison)
    if other is not None:
        return _untestable(f"the interpreter imports {finding.module} from {other}")
    match probe.status:
        case ProbeStatus.WOKEN:
            return _woken(finding, probe, file, comparison)
        case ProbeStatus.COLD:
            return _cold(finding, probe, comparison)
        case ProbeStatus.FAILED:
            return _failed(finding, probe, file, comparison)
        case ProbeStatus.UNKNOWN:
            return _untestable(probe.reason or "")


def _woken(finding: Finding, probe: ModuleProbe, file: str, comparison: Comparison) -> Answer:
    waker = probe.waker
    if probe.accelerator != finding.accelerator:
        return _untestable(f"the import woke {probe.accelerator} first{_by(waker)}")
    if waker is None or waker.module is None:
        return _untestable(_unattributed(probe))
    site = next((site for site in waker.import_chain if site.module == finding.module), None)
    if site is None:
        return _untestable(f"{finding.accelerator} was awake before the module ran: woken{_by(waker)}")
    if site.line is None:
        return _untestable(
            f"the module woke {finding.accelerator}, but the line was not seen"
            + (f": {probe.reason}" if probe.reason else "")
        )
    if finding.line <= site.line <= max(finding.line, finding.end_line or 0):
        return Confirmed.WOKEN, _how(finding, probe, waker, site, comparison)
    place = f"{finding.path}:{site.line}"
    if runs_before(file, finding.line, site.line):
        passed = f"the line had not woken {finding.accelerator} by the time {place} did"
        return Confirmed.COLD, f"{passed}, on {comparison.device}"
    if runs_before(file, site.line, finding.line):
        return _untestable(f"{place} had woken {finding.accelerator} before the line ran")
    return _untestable(
        f"{place} woke {finding.accelerator} first, so it was not seen whether this line would have"
    )


def _cold(finding: Finding, probe: ModuleProbe, comparison: Comparison) -> Answer:
    if probe.file is None:
        return _untestable("it is not known which file the module was imported from")
    accelerator = str(finding.accelerator)
    if accelerator not in comparison.accelerators:
        return _untestable(
            f"it is unknown whether {_spoken(comparison.device)} has a device for {accelerator}"
        )
    if comparison.profile == "cuda-without-nvml" and comparison.management:
        return _untestable(
            f"{_spoken(comparison.device)} has NVML, unlike the profile; remove it with coldfork check "
            "--confirm --virtual h100-without-nvml"
        )
    absent = sorted(packages_named(replace(finding, condition=None)) & comparison.absent)
    if absent:
        return _untestable(f"it presumes that {absent[0]} is installed, which the interpreter does not find")
    seen = f"a fresh interpreter that imported the module stayed cold, on {comparison.device}"
    unmet = sorted(packages_named(finding) & comparison.absent)
    if unmet:
        return Confirmed.COLD, f"{seen}, where {unmet[0]} is not installed"
    if finding.effect == EffectKind.QUERIES_DEVICE and comparison.management:
        return Confirmed.COLD, f"{seen}; a machine where only the driver can answer may differ"
    return Confirmed.COLD, seen


def _failed(finding: Finding, probe: ModuleProbe, file: str, comparison: Comparison) -> Answer:
    """Judge a failed import: the lines before the failing line have run, so findings about them can be
    judged.
    """
    stopped = _line_of_failure(probe, file, comparison)
    if probe.asleep and finding.accelerator in comparison.accelerators and stopped is not None:
        if runs_before(file, finding.line, stopped):
            passed = (
                f"the import passed the line, and {finding.accelerator} stayed cold, on {comparison.device}"
            )
            return Confirmed.COLD, f"{passed}; at line {stopped} {probe.reason}"
    return _untestable(probe.reason or "the import failed")


def _line_of_failure(probe: ModuleProbe, file: str, comparison: Comparison) -> int | None:
    if probe.failure is None:
        return None
    frames = (frame for frame in probe.failure.stack if _same(comparison.files.get(frame.path), file))
    return next((frame.line for frame in frames), None)


def _another_file(finding: Finding, probe: ModuleProbe, file: str, comparison: Comparison) -> str | None:
    """Return the file from which the module was loaded, if it is not the checked one."""
    loaded = probe.file
    if loaded is None and probe.waker is not None:
        sites = (site for site in probe.waker.import_chain if site.module == finding.module)
        loaded = next((comparison.files.get(site.path) for site in sites if site.path), None)
    return None if loaded is None or _same(loaded, file) else loaded


def _same(one: str | None, other: str) -> bool:
    return one is not None and realpath(one) == realpath(other)


def _how(finding: Finding, probe: ModuleProbe, waker: Waker, site: ImportSite, comparison: Comparison) -> str:
    seen = f"a fresh interpreter woke {finding.accelerator} at this line, on {comparison.device}"
    if waker.import_chain[-1] is not site and (waker.path, waker.line) != (site.path, site.line):
        seen += f", through {_place(waker)}"
    if waker.call:
        seen += f", by {waker.call}"
    return seen + (f"; {probe.reason}" if probe.reason else "")


def _unattributed(probe: ModuleProbe) -> str:
    thread = probe.waker.thread if probe.waker is not None else ""
    other = f" on the thread {thread}" if thread not in ("", "MainThread") else ""
    return f"the import woke {probe.accelerator}{other}, but the line was not seen"


def _by(waker: Waker | None) -> str:
    return "" if waker is None or waker.path is None else f" by {_place(waker)}"


def _place(waker: Waker) -> str:
    return f"{waker.path}:{waker.line}" if waker.line else str(waker.path)


def _spoken(device: str) -> str:
    return device if device.startswith("virtual:") else "this machine"


def _untestable(reason: str) -> Answer:
    return Confirmed.NOT_TESTABLE, reason


def runs_before(file: str, first: int, second: int) -> bool:
    """Return whether the statement on line `first` has ended, or is skipped, when line `second` begins.

    Also return False if only a run could tell: for two lines in the same loop, statement or `try`.
    """
    block: Sequence[ast.stmt] | None = parsed(file).body
    while block:
        one, other = _index(block, first), _index(block, second)
        if one is None or other is None:
            return False
        if one != other:
            return one < other
        blocks = _blocks(block[one])
        block = next((inner for inner in blocks if _holds(inner, first) and _holds(inner, second)), None)
    return False


def parsed(file: str) -> ast.Module:
    """Parse a file; return an empty tree if that fails."""
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _index(block: Sequence[ast.stmt], line: int) -> int | None:
    """Return the index of the statement that contains a line; None if no statement of the block does."""
    spans = (
        (number, _begins(statement), statement.end_lineno or statement.lineno)
        for number, statement in enumerate(block)
    )
    return next((number for number, begin, end in spans if begin <= line <= end), None)


def _holds(block: Sequence[ast.stmt], line: int) -> bool:
    return _index(block, line) is not None


def _begins(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Yield the blocks of a statement that run at most once, from top to bottom."""
    if isinstance(statement, ast.If | ast.With | ast.ClassDef | ast.Try | ast.TryStar):
        yield statement.body
    if isinstance(statement, ast.If | ast.Try | ast.TryStar):
        yield statement.orelse
    if isinstance(statement, ast.Try | ast.TryStar):
        yield statement.finalbody
        yield from (handler.body for handler in statement.handlers)
    if isinstance(statement, ast.Match):
        yield from (case.body for case in statement.cases)
