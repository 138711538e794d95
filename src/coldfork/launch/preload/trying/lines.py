"""Find lines for reports: the line that runs now, lines that start things, and lines that define names."""

from __future__ import annotations

import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from types import FrameType
    from typing import Any

    Site = tuple[str | None, int | None]


_IS_FUNCTION = 0x1
"""The flag of code that belongs to a function, not to a module's or a class's body."""
_OURS = __name__.rpartition(".launch.")[0] + "."
_PROCESSES = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"})
_CONNECTIONS = frozenset({"socket.connect", "socket.bind"})
_WRITING = os.O_WRONLY | os.O_RDWR
_TAKING = ("acquire", "__enter__")


def site() -> Site:
    """Return the file and line of the innermost module or class body that is running; None without one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_flags & _IS_FUNCTION and not _is_machinery(frame):
            return code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None, None


def _is_machinery(frame: FrameType) -> bool:
    if frame.f_code.co_filename.startswith("<"):
        # Skip frames of importlib and of generated code: the responsible line is further out.
        return True
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.startswith(_OURS)


class Starts:
    """The most recent lines that started a thread, opened a socket or opened a file."""

    def __init__(self) -> None:
        self.process: Site = (None, None)
        self.threads: dict[int, Site] = {}
        """By the `Thread` that is started."""
        self.sockets: dict[int, Site] = {}
        """By descriptor."""
        self.files: dict[str, Site] = {}
        """By path."""
        self._home = os.getpid()

    def listen(self) -> None:
        """Record such lines from now on; the audit hook for this stays until the process ends."""
        sys.addaudithook(self._heard)
        kind: Any = threading.Thread
        start = kind.start

        def noted(thread: threading.Thread) -> None:
            self.threads[id(thread)] = site()
            start(thread)

        kind.start = noted

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING and isinstance(path, (str, bytes)):
                self.files[os.path.realpath(os.fsdecode(path))] = site()
        elif event in _PROCESSES:
            self.process = site()
        elif event in _CONNECTIONS:
            try:
                self.sockets[arguments[0].fileno()] = site()
            except (AttributeError, OSError, ValueError):
                pass


def line_of(module: str, name: str) -> Site:
    """Return the file and line that acquires a lock or, failing that, binds its name in the source."""
    path = getattr(sys.modules.get(module), "__file__", None)
    tree = parsed(path)
    if tree is None:
        return path if isinstance(path, str) else None, None
    import ast

    first = name.partition(".")[0]
    taken = [_line(node) for node in ast.walk(tree) if _takes(node, first)]
    bound = [_line(node) for node in ast.walk(tree) if _binds(node, first)]
    return path, next(iter(taken or bound), None)


def parsed(path: object) -> ast.Module | None:
    """Return the syntax tree of a Python file; None for any other file."""
    if not isinstance(path, str) or not path.endswith(".py"):
        return None
    import ast

    try:
        with open(path, "rb") as stream:
            return ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return None


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _takes(node: ast.AST, name: str) -> bool:
    import ast

    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _TAKING
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
    )


def _binds(node: ast.AST, name: str) -> bool:
    import ast

    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        targets = [node.target]
    else:
        return False
    return any(isinstance(one, ast.Name) and one.id == name for target in targets for one in ast.walk(target))
