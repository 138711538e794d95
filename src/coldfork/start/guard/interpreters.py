"""Ask a Python interpreter for the place of the guard's pth file, which only the interpreter knows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from coldfork import __version__
from coldfork.model.errors import UsageError
from coldfork.observe.forking.questions import DEADLINE
from coldfork.start.guard import pth_file
from coldfork.start.guard.pth_file import PthFile

_TIMEOUT = 60.0
_OLDEST = (3, 11)

# This asks the interpreter about itself, without what this process's environment would add to its path; it
# runs in any Python 3.
_QUESTION = """
import json, sys, sysconfig
sys.path.pop(0)
try:
    import site
    folders = [sysconfig.get_path("purelib")] + site.getsitepackages() + [site.getusersitepackages()]
except Exception:
    folders = [sysconfig.get_path("purelib")]
try:
    import coldfork
    found = [coldfork.__version__, list(coldfork.__path__)[0]]
except Exception:
    found = [None, None]
print(json.dumps([sys.executable, list(sys.version_info[:3]), sys.platform, folders] + found))
"""
_MODE = """
import sys
process = sys.modules.get("coldfork.start.guard.process")
print("it starts without running the pth file" if process is None else process.HERE.mode)
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The answer of an interpreter about itself."""

    executable: str
    version: str
    platform: str
    folders: tuple[Path, ...]
    """The folders in which it searches for pth files; a new file goes into the first one."""
    coldfork: str | None
    """The version of coldfork that it would import; None if there is none."""
    home: str | None
    """The folder of that version of coldfork."""

    @property
    def named(self) -> str:
        """Return the description of the interpreter."""
        return f"{self.executable} (Python {self.version})"

    def pth_files(self) -> list[tuple[Path, PthFile | None]]:
        """Return the interpreter's guard files, each with its content, or None if coldfork did not
        write it.
        """
        found = []
        for folder in self.folders:
            path = folder / pth_file.FILE
            if path.is_file():
                found.append((path, pth_file.read(path.read_text("utf-8", errors="replace"))))
        return found


def ask(python: str | None) -> Interpreter:
    """Ask an interpreter, by default this one, about itself."""
    executable = python or sys.executable
    said, _ = _run(executable, "-E", "-c", _QUESTION)
    try:
        path, version, platform, folders, coldfork, home = json.loads(said.splitlines()[-1])
    except (ValueError, IndexError):
        raise UsageError(f"{executable} does not work as a Python interpreter") from None
    number = ".".join(map(str, version))
    if tuple(version) < _OLDEST:
        raise UsageError(f"{executable} is Python {number}, but coldfork needs 3.11 or newer")
    places = tuple(Path(folder) for folder in dict.fromkeys(folders))
    return Interpreter(path or executable, number, platform, places, coldfork, home)


def install(interpreter: Interpreter, mode: str) -> Path:
    """Write the pth file, and check that it turns the guard on."""
    if interpreter.platform != "linux":
        raise UsageError(
            f"the fork guard needs Linux, but {interpreter.executable} runs on {interpreter.platform}"
        )
    if interpreter.coldfork is None:
        raise UsageError(
            f"{interpreter.named} has no coldfork; "
            f"install it there first: {interpreter.executable} -m pip install coldfork"
        )
    path = interpreter.folders[0] / pth_file.FILE
    for stale in (where for where, _ in interpreter.pth_files() if where != path):
        _remove(stale)
    before = path.read_bytes() if path.is_file() else None
    _write(path, pth_file.written(mode, __version__).encode("ascii"))
    said = _mode_in(interpreter)
    if said != mode:
        if before is None:
            _remove(path)
        else:
            _write(path, before)
        raise UsageError(f"the guard does not turn on in {interpreter.named}, so nothing was changed: {said}")
    return path


def uninstall(interpreter: Interpreter) -> list[Path]:
    """Remove the pth files, and return their paths."""
    paths = [path for path, _ in interpreter.pth_files()]
    for path in paths:
        _remove(path)
    return paths


def _mode_in(interpreter: Interpreter) -> str:
    """Return the guard's mode in programs of this interpreter, or why they have none."""
    try:
        said, complaint = _run(interpreter.executable, "-E", "-c", _MODE)
    except UsageError as error:
        return str(error)
    return complaint.strip() or said.strip()


def _write(path: Path, text: bytes) -> None:
    """Write the file whole or not at all, because an interpreter may start at any moment."""
    try:
        handle, name = tempfile.mkstemp(prefix=".coldfork-", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot remove {path}: {error.strerror or error}") from None


def _run(executable: str, *arguments: str) -> tuple[str, str]:
    """Run a program with an interpreter, without this process's guard mode; return its output and errors."""
    environment = {name: value for name, value in os.environ.items() if name != "COLDFORK_GUARD"}
    try:
        done = subprocess.run(
            [executable, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"cannot run {executable}: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{executable} did not answer within {_TIMEOUT:.0f} seconds") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise UsageError(f"{executable} ended with status {done.returncode}: {last}")
    return done.stdout, done.stderr


READ = (
    "the target of a process, or its run",
    "the initializer of a pool, of an executor or of joblib",
    "a data set's __getitem__, __getitems__ or __iter__, collate_fn and worker_init_fn",
    "a preexec_fn",
)
"""Code that a worker will certainly call, and that is read while a device is awake."""

SECONDS = DEADLINE

UNREAD = (
    "the tasks that a pool gets later, and the code after a plain os.fork",
    "code of installed packages, compiled code, and sources that have changed since they were loaded",
    "workers of a process in which only a runtime without a device is awake",
)
"""Code that is not read, so that a fork for it is judged only by what the process holds."""
