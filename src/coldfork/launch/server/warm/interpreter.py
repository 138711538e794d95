"""Begin and end a script's process as Python would, but keep the modules that its server has imported.

The kernel put the mark and the command line in fixed places when the server was started. Tools that look at
the process from outside read them there, so they are overwritten. At the end the script's own objects are
released as usual, and functions registered with `atexit` are called. But imported objects are not released:
that would write to every page shared with the server, and can take longer than the script.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from _signal import SIG_DFL, SIGINT, signal
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

from coldfork.observe.processes.table import Standing, contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, NoReturn

_STREAMS = (("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb"))


@dataclass(frozen=True, slots=True)
class Place:
    """The place in memory of a variable in this process's initial environment."""

    address: int
    length: int


def place_of(variable: str) -> Place:
    """Return the place of a variable in the initial environment; raise `ValueError` if it is not there."""
    begin, _ = _own().environment
    carried = contents("/proc/self/environ")
    at = carried.index(f"{variable}=".encode())
    return Place(begin + at, carried.index(b"\0", at) - at)


def mark(place: Place, variable: str, value: str) -> None:
    """Write a variable's value to its place, cut to the length of the place."""
    _write(place.address, f"{variable}={value}".encode()[: place.length].ljust(place.length, b"\0"))


def entitle(words: Sequence[str]) -> None:
    """Show this command line in process lists, cut to the length of the original one."""
    begin, end = _own().arguments
    text = b"\0".join(map(os.fsencode, words)) + b"\0"
    _write(begin, text[: end - begin - 1].ljust(end - begin, b"\0"))


def _own() -> Standing:
    return Standing(contents("/proc/self/stat"))


def _write(address: int, content: bytes) -> None:
    import ctypes

    ctypes.memmove(address, content, len(content))


def open_anew() -> None:
    """Reopen this process's standard streams on its present descriptors."""
    for number, (name, mode) in enumerate(_STREAMS):
        former = getattr(sys, f"__{name}__", None)
        if former is None:
            continue
        former.flush()
        made = _made(number, name, mode, former)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)


def _made(number: int, name: str, mode: str, former: Any) -> Any:
    unbuffered = mode == "wb" and isinstance(former.buffer, io.RawIOBase)
    binary: Any = io.open(number, mode, 0 if unbuffered else -1, closefd=False)  # noqa: UP020, SIM115
    (binary if unbuffered else binary.raw).name = f"<{name}>"
    stream = io.TextIOWrapper(
        binary,
        encoding=former.encoding,
        errors=former.errors,
        newline="\n",
        line_buffering=not former.write_through and (name == "stderr" or os.isatty(number)),
        write_through=former.write_through,
    )
    stream.mode = "r" if mode == "rb" else "w"  # type: ignore[misc]
    return stream


_CANNOT_FLUSH = 120
"""The exit status of a Python that could not flush its output at the end."""


def report(error: BaseException) -> int:
    """Report the exception that ended the script, as Python does; return the exit status."""
    if isinstance(error, SystemExit):
        return _status(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    sys.last_exc = error  # type: ignore[attr-defined, unused-ignore]
    failed: BaseException | None = None
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except BaseException as another:
        failed = another
    if isinstance(failed, SystemExit):
        return _status(failed)
    if failed is not None:
        trace = failed.__traceback__ and failed.__traceback__.tb_next
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(failed), failed.with_traceback(trace), trace)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, error.__traceback__)
    return 1


def _status(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    if sys.stderr is not None:
        sys.stderr.write(f"{error.code}\n")
    return 1


def end(status: int, imported: Collection[str], *, interrupted: bool) -> NoReturn:
    """End this process as Python does; `imported` are the modules that the server had imported."""
    threading: Any = sys.modules.get("threading")
    if threading is not None:
        _attempt(threading._shutdown)
    import atexit

    atexit._run_exitfuncs()
    if not _flush():
        status = _CANNOT_FLUSH
    _take_apart(imported)
    _flush()
    if interrupted:
        signal(SIGINT, SIG_DFL)
        os.kill(os.getpid(), SIGINT)
    import ctypes

    library = ctypes.PyDLL(None)
    if any(name == "LD_PRELOAD" or "INJECTION" in name for name in os.environ):
        # A profiler writes its results in exit handlers, so run those. PyDLL keeps the interpreter's lock
        # meanwhile: no thread must run on in a library that is being unloaded.
        library.exit(status)
    library.fflush(None)
    os._exit(status)


def _attempt(do: Any) -> None:
    try:
        do()
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)


def _flush() -> bool:
    """Flush the standard streams; if that fails, report it if possible, and return False."""
    done = True
    for stream in (sys.stdout, sys.stderr):
        if stream is None or getattr(stream, "closed", False):
            continue
        try:
            stream.flush()
        except BaseException as error:
            if stream is sys.stdout:
                sys.unraisablehook(_unraisable(error, stream))
                done = False
    return done


def _unraisable(error: BaseException, stream: object) -> Any:
    return SimpleNamespace(
        exc_type=type(error), exc_value=error, exc_traceback=error.__traceback__, err_msg=None, object=stream
    )


def _take_apart(imported: Collection[str]) -> None:
    """Release the script's objects, whose finalizers may still have work to do."""
    own = [name for name in sys.modules if name not in imported and not name.startswith("coldfork.")]
    held: list[Any] = [sys.modules.pop(name) for name in own]
    namespaces = [vars(module) for module in reversed(held) if isinstance(module, ModuleType)]
    for namespace in (vars(sys.modules["__main__"]), *namespaces):
        # Names that begin with an underscore are released first, as in Python.
        for name in sorted(namespace, key=lambda one: not str(one).startswith("_")):
            if name != "__builtins__":
                namespace[name] = None
    del held, namespaces
    gc.collect()
    for each in gc.get_objects():
        if isinstance(each, io.IOBase) and not each.closed:
            try:
                each.flush()
            except BaseException:
                # This file cannot be flushed, but the others may be.
                continue
