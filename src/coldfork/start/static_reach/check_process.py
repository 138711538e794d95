"""Has `coldfork check` look at a module in another process, and waits for its answer so long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from coldfork.start.static_reach.answers import Place, ReachAnswer, Reached

if TYPE_CHECKING:
    from collections.abc import Sequence

_WAKING = ("initialises-driver", "creates-context", "queries-device")
_SURENESS = ("certain", "conditional", "possible")
_KEPT_VARIABLES = ("COLDFORK_CACHE_DIR",)
# What a project has accepted for itself must not silence the answer; what it knows of its libraries counts.
_WHATEVER_THE_PROJECT_WANTS = (
    "--rules=device-init-at-import,driver-init-at-import,waking-import,device-query-at-import,unreadable-source",
    "--ignore=unused-ignore",
    "--baseline=",
    "--output=",
    "--no-confirm",
    "--no-statistics",
    "--format=json",
    "--exit-zero",
)


def ask(place: Place, search: Sequence[str], deadline: float) -> ReachAnswer:
    """The answer for one module, or why there is none."""
    if not sys.executable:
        return ReachAnswer.unknown(place.module, "this interpreter has no command that could be started")
    process = subprocess.Popen(
        command(place, search),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A folder that is not removed meanwhile.
        cwd=os.path.abspath(os.sep),
        env=_environment(),
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    with process:
        try:
            said, complaint = process.communicate(timeout=deadline)
        except subprocess.TimeoutExpired:
            _end(process)
            return ReachAnswer.unknown(place.module, f"the check took longer than {deadline:g} s")
        except BaseException:
            _end(process)
            raise
    if process.returncode:
        last = complaint.strip().splitlines()[-1:] or [f"status {process.returncode}"]
        return ReachAnswer.unknown(place.module, f"the check failed: {last[0][:200]}")
    report = json.loads(said)
    return judged(place.module, report["findings"], len(report["skipped"]))


def judged(module: str, findings: Sequence[dict[str, Any]], skipped: int) -> ReachAnswer:
    """The answer in what `coldfork check` found: the surest line that wakes a device."""
    waking = [finding for finding in findings if finding["effect"] in _WAKING]
    if not waking:
        if skipped:
            return ReachAnswer.unknown(module, f"{skipped} of the files it imports could not be read")
        return ReachAnswer(module, Reached.NOTHING)
    first = min(waking, key=lambda one: (_WAKING.index(one["effect"]) > 1, _SURENESS.index(one["verdict"])))
    return ReachAnswer(
        module,
        Reached.WAKES,
        first["condition"],
        first["accelerator"],
        first["verdict"],
        first["path"],
        first["line"],
    )


def command(place: Place, search: Sequence[str]) -> list[str]:
    """The command line of the check."""
    line = [sys.executable, "-P", "-m", "coldfork", "check", place.path, "--entry", place.module]
    for folder in _folders(search, place):
        line += ["--site-packages", folder]
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return [*line, "--profile", profile(), "--target-version", version, *_WHATEVER_THE_PROJECT_WANTS]


def profile() -> str:
    """The machine to assume: what the PyTorch that is loaded was built for, else CUDA."""
    version = sys.modules.get("torch.version")
    if isinstance(getattr(version, "hip", None), str):
        return "rocm"
    return "xpu" if isinstance(getattr(version, "xpu", None), str) else "cuda"


def _folders(search: Sequence[str], place: Place) -> list[str]:
    """Where this program finds its packages, the standard library and the place itself left out."""
    standard = os.path.dirname(os.__file__)
    beside = {os.path.abspath(folder or os.curdir) for folder in search}
    return sorted(
        folder
        for folder in beside - {place.root, standard, os.path.join(standard, "lib-dynload")}
        if os.path.isdir(folder)
    )


def _environment() -> dict[str, str]:
    """This process's, without what would watch, guard or set up the check itself."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COLDFORK_") or name in _KEPT_VARIABLES
    }
    ours = os.path.abspath(__file__).rpartition(f"{os.sep}coldfork{os.sep}")[0]
    before = kept.get("PYTHONPATH")
    kept["PYTHONPATH"] = f"{ours}{os.pathsep}{before}" if before else ours
    return kept


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the check and those who help it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        process.kill()
