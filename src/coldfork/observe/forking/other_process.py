"""Another process that reads sources for this one: its machine, its variables, and what it says in time."""

from __future__ import annotations

import os
import signal
import sys

from coldfork.observe.installation import ROOT
from coldfork.observe.processes.programs import OWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

_KEPT_VARIABLES = ("COLDFORK_CACHE_DIR",)


def profile() -> str:
    """The machine to assume: what the PyTorch that is loaded was built for, else CUDA."""
    version = sys.modules.get("torch.version")
    if isinstance(getattr(version, "hip", None), str):
        return "rocm"
    return "xpu" if isinstance(getattr(version, "xpu", None), str) else "cuda"


def environment() -> dict[str, str]:
    """This process's, without what would watch, guard or set up the check itself, and marked as our own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COLDFORK_") or name in _KEPT_VARIABLES
    }
    name, _, value = OWN.partition("=")
    kept[name] = value
    before = kept.get("PYTHONPATH")
    kept["PYTHONPATH"] = f"{ROOT}{os.pathsep}{before}" if before else ROOT
    return kept


def ask(command: Sequence[str], question: str, deadline: float) -> tuple[int, str, str] | None:
    """The status, output and errors of a command that is told a question; None where it took too long."""
    import subprocess

    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A folder that is not removed meanwhile.
        cwd=os.path.abspath(os.sep),
        env=environment(),
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    with process:
        try:
            said, complaint = process.communicate(question, timeout=deadline)
        except subprocess.TimeoutExpired:
            _end(process)
            return None
        except BaseException:
            _end(process)
            raise
    return process.returncode, said, complaint


def _end(process: subprocess.Popen[str]) -> None:
    """Kill it and those who help it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        process.kill()
