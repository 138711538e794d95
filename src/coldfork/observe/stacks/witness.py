"""Read the stacks that `faulthandler` wrote, and find the imports in them."""

from __future__ import annotations

import sys

from coldfork.observe.late_imports import LATE
from coldfork.observe.stacks.frames import ACCELERATOR_LIBRARIES, DEEPEST, IMPORTLIB, MACHINERY, runs_inline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coldfork.observe.recording.events import Event


class Witness:
    """The stack of one thread at one moment, outermost frame first."""

    __slots__ = ("frames", "ident", "native")

    def __init__(self, native: int, ident: int | None, frames: list[Event]) -> None:
        self.native: int = native
        self.ident: int | None = ident
        """Python's number of the thread; None if Python does not know the thread, or no longer does."""
        self.frames: list[Event] = frames

    def waker(self, thread: str) -> Event:
        """Return the entry of a wake event about the line that woke the device."""
        modules = modules_by_path()
        chain = self._chain(modules)
        site, stack = self._site()
        innermost = chain[-1] if chain else {"module": None, "path": None, "line": None}
        if chain:
            innermost["line"] = site["line"] if site is not None else innermost["line"]
        return {
            "module": innermost["module"],
            "path": site["path"] if site is not None else innermost["path"],
            "line": site["line"] if site is not None else None,
            "function": site["function"] if site is not None else None,
            "call": _call(stack, site, modules),
            "thread": thread,
            "import_chain": chain,
            "stack": [frame for frame in stack if not _is_machinery(frame)][-DEEPEST:],
        }

    def _bodies(self) -> list[int]:
        """Return the positions of frames in which importlib runs the body of a module."""
        return [
            at
            for at, frame in enumerate(self.frames)
            if frame["function"] == "<module>"
            and at
            and self.frames[at - 1]["path"].startswith(IMPORTLIB)
            and not _is_machinery(frame)
        ]

    def _chain(self, modules: Mapping[str, str]) -> list[Event]:
        return [
            {"module": modules.get(path), "path": path, "line": self.frames[at]["line"]}
            for at in self._bodies()
            for path in (self.frames[at]["path"],)
        ]

    def _site(self) -> tuple[Event | None, list[Event]]:
        """Return the import-time line, and the frames from there on; if there is no import, all frames."""
        bodies = self._bodies()
        if not bodies:
            return None, self.frames
        at = bodies[-1]
        while at + 1 < len(self.frames) and self._stands_in(at + 1, bodies[-1]):
            at += 1
        return self.frames[at], self.frames[at:]

    def _stands_in(self, at: int, body: int) -> bool:
        frame = self.frames[at]
        if frame["path"] != self.frames[body]["path"]:
            return False
        if runs_inline(frame["function"]):
            return True
        LATE.load("coldfork.observe.stacks.call_source")
        from coldfork.observe.stacks.call_source import is_class_body

        return is_class_body(frame["path"], frame["function"], frame["line"])


def witnesses(text: str, threads: Mapping[int, int]) -> Iterator[Witness]:
    """Yield the stacks in the text; each is between a line that names the thread and one that ends
    the stack.
    """
    native: int | None = None
    frames: list[Event] = []
    for line in text.split("\n"):
        if line.startswith("thread "):
            native, frames = int(line[7:]), []
        elif line == "end" and native is not None:
            yield Witness(native, threads.get(native), frames[::-1])
            native = None
        elif line.startswith('  File "') and (frame := _frame(line)) is not None:
            frames.append(frame)


def _frame(line: str) -> Event | None:
    path, quote, rest = line[len('  File "') :].rpartition('", line ')
    number, _, function = rest.partition(" in ")
    if not quote or not number.isdigit():
        return None
    return {"path": _unescaped(path), "line": int(number), "function": _unescaped(function)}


def _unescaped(text: str) -> str:
    """Decode the backslash escapes of `faulthandler`, which stand for non-ASCII characters."""
    if "\\" not in text:
        return text
    try:
        return text.encode("ascii").decode("unicode_escape")
    except ValueError:
        return text


def _call(stack: list[Event], site: Event | None, modules: Mapping[str, str]) -> str:
    own = modules.get(site["path"], "").partition(".")[0] if site is not None else ""
    for frame in stack:
        module = modules.get(frame["path"], "")
        top = module.partition(".")[0]
        if top != own and top in ACCELERATOR_LIBRARIES and frame["function"] != "<module>":
            return f"{module}.{frame['function']}"
    return "cuInit"


def _is_machinery(frame: Event) -> bool:
    return bool(frame["path"].startswith(MACHINERY))


def modules_by_path() -> dict[str, str]:
    """Return the module of each loaded source file."""
    found: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        try:
            path = object.__getattribute__(module, "__dict__").get("__file__")
        except AttributeError:
            continue
        if isinstance(path, str):
            found.setdefault(path, name)
    return found
