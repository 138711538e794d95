"""The extension that `%load_ext coldfork` loads: magics, displays, and the cell that woke a device.

    %coldfork [state]        the state of every accelerator in this kernel, and who woke it
    %coldfork decide         how this kernel may start processes now, and why
    %%coldfork run           runs the cell as a program of its own, watched, and shows the verdict

Nothing here imports IPython, which is reached through the shell that loads this extension.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import threading
from html import escape
from pathlib import Path
from traceback import walk_stack
from typing import TYPE_CHECKING, Any

from coldfork.model.decisions import Decision
from coldfork.model.errors import UsageError
from coldfork.observe import injection
from coldfork.observe.watch import MAIN, watch
from coldfork.report.notebook import decision_html, states_html, states_text
from coldfork.start.decide import decide
from coldfork.start.states import state
from coldfork.start.wakers import WAKERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import CodeType

    from coldfork.model.states import State
    from coldfork.observe.watch import Watch

NAME = "coldfork"
_USAGE = "%coldfork [state], %coldfork decide [TARGET], or %%coldfork run [OPTIONS] above the code to run"
_UNSURE, _OR = "unknown: ", " or "
"""The texts before and between several possible wakers."""
_PAGE_STYLE = "width: 100%; height: 40em; border: 0"


def load_ipython_extension(shell: Any) -> None:
    """Load the extension; IPython calls this for `%load_ext coldfork`."""
    if not isinstance(_loaded(shell), NotebookExtension):
        NotebookExtension(shell).begin()


def unload_ipython_extension(shell: Any) -> None:
    """Unload the extension; IPython calls this for `%unload_ext coldfork`."""
    extension = _loaded(shell)
    if isinstance(extension, NotebookExtension):
        extension.end()


def _loaded(shell: Any) -> object:
    return getattr(shell.find_line_magic(NAME), "__self__", None)


class NotebookExtension:
    """The extension's additions to one shell; `end` removes them."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._cells = CellObserver(shell)

    def begin(self) -> None:
        """Register the magics and the displays, and begin to watch the cells."""
        self._shell.register_magic_function(self.line, "line", NAME)
        self._shell.register_magic_function(self.cell, "cell", NAME)
        self._formatter("text/html").for_type(Decision, decision_html)
        self._formatter("text/plain").for_type(Decision, _print_plainly)
        self._cells.begin()

    def end(self) -> None:
        """Remove the magics and the displays, and stop watching."""
        self._cells.end()
        for form in ("text/html", "text/plain"):
            self._formatter(form).pop(Decision, None)
        for kind in ("line", "cell"):
            self._shell.magics_manager.magics[kind].pop(NAME, None)

    def _formatter(self, form: str) -> Any:
        return self._shell.display_formatter.formatters[form]

    def line(self, text: str) -> object:
        """Run the line magic."""
        what, *rest = shlex.split(text) or [""]
        if what in ("", "state") and not rest:
            self._cells.poll()
            return States(state())
        if what == "decide" and len(rest) < 2:
            self._cells.poll()
            return decide(*rest)
        raise UsageError(f"coldfork in a notebook: {_USAGE}")

    def cell(self, text: str, code: str) -> object:
        """Run the cell magic."""
        what, *options = shlex.split(text) or [""]
        if what != "run":
            raise UsageError(f"coldfork in a notebook: {_USAGE}")
        return run(code, options)


class States:
    """The states of a kernel at one moment, as they are displayed."""

    def __init__(self, states: tuple[State, ...]) -> None:
        self.states = states

    def __repr__(self) -> str:
        return states_text(self.states)

    def _repr_html_(self) -> str:
        return states_html(self.states)


class Verdict:
    """The result of running a cell as a program: the verdict as text, and the recording as a page."""

    def __init__(self, status: int, text: str, page: str) -> None:
        self.status = status
        """The program's exit status."""
        self._text = text
        self._page = page

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str | None:
        if not self._page:
            return None
        return (
            f'<iframe srcdoc="{escape(self._page)}" style="{_PAGE_STYLE}" sandbox="allow-scripts"></iframe>'
        )


class CellObserver:
    """After each statement of a cell, checks whether a device woke, to name the cell and the line."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._watch: Watch | None = None
        self._statement: tuple[str, int | None] | None = None
        self._kernels: frozenset[str] = frozenset()
        """The names of the kernel's own threads, which run none of the notebook's code."""

    def begin(self) -> None:
        """Begin to watch."""
        self._kernels = self._threads_without_cells()
        self._watch = watch(self._heard, base=MAIN, imports=False)
        # A kernel has threads of its own, so only CUDA itself can always name the thread that woke it.
        library = injection.build()
        if library is not None:
            self._watch.bear_witness(library)
        run_code: Callable[..., Awaitable[bool]] = self._shell.run_code

        async def run_and_look(code: CodeType, *args: Any, **options: Any) -> bool:
            self._statement = (self._cell(code.co_filename) or code.co_filename, _first_line(code))
            try:
                return await run_code(code, *args, **options)
            finally:
                self.poll()
                self._statement = None

        self._shell.run_code = run_and_look

    def end(self) -> None:
        """Restore the function that runs the statements, and stop watching."""
        self._shell.__dict__.pop("run_code", None)
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def poll(self) -> None:
        """Check now whether a device woke."""
        if self._watch is not None:
            self._watch.poll()

    def _heard(self, event: Mapping[str, Any]) -> None:
        if event.get("event") == "wake":
            WAKERS.heard({**event, "waker": self._placed(event["waker"])})

    def _placed(self, waker: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a waker with cells in place of files, and without the kernel's own calls."""
        stack = [self._in_cell(frame) for frame in waker["stack"]]
        chain = [self._in_cell(site) for site in waker["import_chain"]]
        first = next((place for place, frame in enumerate(stack) if frame.get("cell")), None)
        if first is not None:
            stack = stack[first:]
        known = {**waker, "stack": stack, "import_chain": chain}
        if chain:
            return known
        if first is not None:
            return {**known, **{key: stack[0][key] for key in ("path", "line", "function")}}
        return self._by_statement(known)

    def _by_statement(self, waker: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a waker with the executed statement as its place, if no more precise place is known."""
        if self._statement is None:
            return waker
        cell, line = self._statement
        main = threading.main_thread().name
        suspects = waker["thread"].removeprefix(_UNSURE).split(_OR)
        others = [name for name in suspects if name != main and name not in self._kernels]
        if waker["module"] == MAIN or not others:
            return {**waker, "module": MAIN, "path": cell, "line": line, "function": None, "thread": main}
        # A thread that some cell has started may also have woken the device.
        return {**waker, "thread": _UNSURE + _OR.join([f"{main} in {cell}, line {line}", *others])}

    def _threads_without_cells(self) -> frozenset[str]:
        """Return the present threads, except the one that runs cells and those that cells have started."""
        known = {thread.ident: thread.name for thread in threading.enumerate()}
        known.pop(threading.main_thread().ident, None)
        frames = sys._current_frames()
        return frozenset(
            name
            for ident, name in known.items()
            if ident in frames
            and not any(self._cell(each.f_code.co_filename) for each, _ in walk_stack(frames[ident]))
        )

    def _in_cell(self, place: Mapping[str, Any]) -> dict[str, Any]:
        cell = None if place["path"] is None else self._cell(place["path"])
        return dict(place) if cell is None else {**place, "path": cell, "cell": True}

    def _cell(self, path: str) -> str | None:
        """Return the cell with this path, as a traceback names it; None for other files."""
        named = self._shell.compile.format_code_name(path)
        return None if named is None else str(named[1])


def run(code: str, options: list[str]) -> Verdict:
    """Run code as a program of its own, watched; its output is printed."""
    with tempfile.TemporaryDirectory(prefix="coldfork-cell-") as folder:
        program, recording = Path(folder, "cell.py"), Path(folder, "cell.coldfork")
        program.write_text(code, encoding="utf-8")
        watched = ("run", "--quiet", "--exact", MAIN, "--output", str(recording))
        done = _printing(_coldfork(*watched, *options, str(program)))
        text, page = (_reported(recording, form) for form in ("text", "html"))
    return Verdict(done, text or f"nothing was recorded; the program ended with status {done}", page)


def _coldfork(*words: str) -> list[str]:
    return [sys.executable, "-m", "coldfork", *words]


def _printing(command: list[str]) -> int:
    """Run a command and print its output as it arrives, because a kernel shows only Python's own output."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="backslashreplace",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(_here_first())},
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
    return process.returncode


def _here_first() -> list[str]:
    """Return the folders for PYTHONPATH with which the program can import the notebook's modules."""
    named = os.environ.get("PYTHONPATH")
    return [str(Path.cwd()), *([named] if named else [])]


def _reported(recording: Path, form: str) -> str:
    """Return the recording in this format; empty if it cannot be shown."""
    command = _coldfork("report", str(recording), "--format", form, "--color", "never")
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    return done.stdout if done.returncode == 0 else ""


def _print_plainly(decision: Decision, printer: Any, cycle: bool) -> None:
    printer.text(str(decision))


def _first_line(code: CodeType) -> int | None:
    """Return the line on which a statement begins."""
    return min((line for _, _, line in code.co_lines() if line), default=None)
