"""Run pytest in a Python that can start no process: what tests start as one runs inside this one.

Arguments: the folder of the packages that the tests need, then pytest's own. A program of the tests that is
started with `sys.executable` gets the modules that were there at the beginning, and arguments, folders and
output of its own. Where a test needs a real process, or any other program, it is skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import os
import runpy
import subprocess
import sys
import sysconfig
import time
import types
import zipfile
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_LIBRARY = Path("/library")
_AT_START: dict[str, types.ModuleType] = dict(sys.modules)
_PATH_AT_START: list[str] = sys.path[:]
_FINDERS_AT_START = tuple(sys.meta_path)
_PACKAGES: list[str] = []
_FLAGS = ("-I", "-S", "-P", "-E", "-s", "-B")


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python program here, and return what `subprocess.run` would give."""
    program, *arguments = map(str, command)
    isolated = "-S" in arguments
    while arguments and arguments[0] in _FLAGS:
        arguments.pop(0)
    if program != sys.executable or not arguments[0].endswith(".py"):
        import pytest

        pytest.skip("no process of its own can be started here")
    output, errors = io.StringIO(), io.StringIO()
    modules, path, argv, recursion = dict(sys.modules), sys.path[:], sys.argv, sys.getrecursionlimit()
    environment, platform, finders = dict(os.environ), sys.platform, sys.meta_path[:]
    sys.modules.clear()
    sys.modules.update(_AT_START)
    sys.path[:] = _PATH_AT_START if isolated else [*_own_folder(arguments), *_PATH_AT_START, *_PACKAGES]
    sys.meta_path[:] = _FINDERS_AT_START  # without pytest's, which rewrites tests
    importlib.invalidate_caches()
    sys.platform = "linux"  # which the programs are written for
    status = 0
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            status = _run(arguments)
    finally:
        sys.modules.clear()
        sys.modules.update(modules)
        sys.path[:], sys.argv = path, argv
        sys.platform, sys.meta_path[:] = platform, finders
        os.environ.clear()
        os.environ.update(environment)
        sys.setrecursionlimit(recursion)
    if options.get("check") and status:
        raise subprocess.CalledProcessError(status, list(command), output.getvalue(), errors.getvalue())
    return subprocess.CompletedProcess(list(command), status, output.getvalue(), errors.getvalue())


def _own_folder(arguments: list[str]) -> list[str]:
    """Return the first entry of the path of a program that is not isolated."""
    return [str(Path(arguments[0]).parent)]


def _run(arguments: list[str]) -> int:
    try:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def drive(coroutine: Coroutine[Any, Any, Any], **_: Any) -> Any:
    """Return what `asyncio.run` would give for a coroutine that never waits: the loop is JavaScript's."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise NotImplementedError("this waits for something")


def unpack_library() -> None:
    """Put the sources of the standard library where `sysconfig` says that they are, from their archive.

    They are imported from a folder as well: what lies in an archive is compiled anew for each program.
    """
    folder = sysconfig.get_paths()["stdlib"]
    archive = next(entry for entry in sys.path if entry.endswith(".zip"))
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(
            folder, [name for name in packed.namelist() if "/" not in name and name.endswith(".py")]
        )
        packed.extractall(_LIBRARY)
        for member in packed.infolist():
            written = time.mktime((*member.date_time, 0, 0, 0))
            os.utime(_LIBRARY / member.filename, (written, written))
    packages = [module.__path__ for module in sys.modules.values() if hasattr(module, "__path__")]
    for path in (sys.path, _PATH_AT_START, *packages):
        path[:] = [entry.replace(archive, str(_LIBRARY), 1) for entry in path]
    for entry in [entry for entry in sys.path_importer_cache if entry.startswith(archive)]:
        del sys.path_importer_cache[entry]


def keep_bytecode(folder: Path) -> None:
    """Compile what is imported once, for all programs of this run and for the next one."""
    sys.pycache_prefix = str(folder)
    sys.dont_write_bytecode = False


def main() -> int:
    """Run pytest with the packages beside it, and say first which Python this is."""
    packages, *arguments = sys.argv[1:]
    _PACKAGES.extend([str(ROOT / "src"), packages])
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    sys.path.append(packages)
    subprocess.run = run  # type: ignore[assignment]
    asyncio.run = drive  # type: ignore[assignment]
    unpack_library()
    keep_bytecode(Path(packages).parent / "bytecode" / sys.implementation.cache_tag)
    import pytest

    print(sys.version.split()[0])
    return int(pytest.main(["--assert=plain", *arguments]))


if __name__ == "__main__":
    sys.exit(main())
