"""`%load_ext coldfork`: the magics, the displays, and the cell that woke a device."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import coldfork
from coldfork.model.decisions import Decision, Reason
from coldfork.model.errors import UsageError
from coldfork.model.states import State, Status, Waker
from coldfork.observe import injection
from coldfork.plugins import notebook
from coldfork.report.notebook import decision_html, states_html, states_text
from coldfork.start.wakers import Wakers

KERNEL = all(importlib.util.find_spec(name) for name in ("ipykernel", "nbclient", "nbformat"))
NO_KERNEL = "ipykernel and nbclient are not installed here"


class Formatter:
    """Keeps what shows which type, as IPython's does."""

    def __init__(self) -> None:
        self.by_type: dict[type, Any] = {}

    def for_type(self, kind: type, show: Any) -> None:
        self.by_type[kind] = show

    def pop(self, kind: type, default: object) -> object:
        return self.by_type.pop(kind, default)


class Compiler:
    """Names the code of cells, as a kernel's does."""

    def format_code_name(self, path: str) -> tuple[str, str] | None:
        return ("Cell", f"In[{path[7:-3]}]") if path.startswith("/cells/") else None


class Shell:
    """As much of IPython's shell as an extension is given."""

    def __init__(self) -> None:
        self.compile = Compiler()
        self.formatters = {"text/html": Formatter(), "text/plain": Formatter()}
        self.display_formatter = self
        self.magics: dict[str, dict[str, Any]] = {"line": {}, "cell": {}}
        self.magics_manager = self
        self.ran: list[str] = []

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        self.magics[kind][name] = function

    def find_line_magic(self, name: str) -> Any:
        return self.magics["line"].get(name)

    async def run_code(self, code: Any, result: object = None) -> bool:
        self.ran.append(code.co_filename)
        exec(code, {})
        return False


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setattr(injection, "build", lambda: None)
    return Shell()


@pytest.fixture
def wakers(monkeypatch: pytest.MonkeyPatch) -> Wakers:
    kept = Wakers()
    monkeypatch.setattr(notebook, "WAKERS", kept)
    return kept


def waker(**changes: Any) -> dict[str, Any]:
    """Return a watch's report on a waker."""
    nobody = dict.fromkeys(("module", "path", "line", "function", "call"))
    return {**nobody, "thread": "MainThread", "import_chain": [], "stack": [], **changes}


def wake(observer: notebook.CellObserver, **changes: Any) -> None:
    observer._heard({"event": "wake", "accelerator": "cuda", "level": "driver", "waker": waker(**changes)})


def statement(text: str, cell: int = 3, line: int = 4) -> Any:
    return compile("\n" * (line - 1) + text, f"/cells/{cell}.py", "exec")


def run(shell: Shell, code: Any) -> None:
    with pytest.raises(StopIteration):
        shell.run_code(code).send(None)


def test_ipython_finds_the_extension_in_the_package() -> None:
    assert coldfork.load_ipython_extension is notebook.load_ipython_extension
    assert coldfork.unload_ipython_extension is notebook.unload_ipython_extension


def test_unloading_leaves_no_trace(shell: Shell) -> None:
    original = shell.run_code
    notebook.load_ipython_extension(shell)
    assert shell.run_code != original
    assert set(shell.magics["line"]) == set(shell.magics["cell"]) == {"coldfork"}
    assert all(Decision in formatter.by_type for formatter in shell.formatters.values())
    notebook.unload_ipython_extension(shell)
    assert shell.run_code == original
    assert not any(shell.magics.values())
    assert not any(formatter.by_type for formatter in shell.formatters.values())
    notebook.unload_ipython_extension(shell)


def test_loading_twice_loads_once(shell: Shell) -> None:
    notebook.load_ipython_extension(shell)
    first = shell.run_code
    notebook.load_ipython_extension(shell)
    assert shell.run_code == first
    notebook.unload_ipython_extension(shell)


def test_a_statement_that_woke_is_named(
    shell: Shell, wakers: Wakers, monkeypatch: pytest.MonkeyPatch
) -> None:
    observer = notebook.CellObserver(shell)
    observer.begin()
    monkeypatch.setattr(observer, "poll", lambda: wake(observer, module="__main__"))
    run(shell, statement("x = 1"))
    found = wakers.of("cuda")
    assert found is not None
    assert (found.module, found.path, found.line) == ("__main__", "In[3]", 4)
    observer.end()


def started(name: str, over: threading.Event, run: Any = None) -> threading.Thread:
    """A thread that goes on until it is told that all is over."""
    made = threading.Thread(target=run or over.wait, name=name)
    made.start()
    return made


def test_where_a_thread_of_a_cell_may_have_done_it_the_doubt_stays(
    shell: Shell, wakers: Wakers, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = threading.main_thread().name
    over = threading.Event()
    inside = threading.Event()
    within = statement("def run(begin, wait):\n    begin()\n    wait()\n")
    defined: dict[str, Any] = {}
    exec(within, defined)
    kernels = started("IOPub", over)
    # One that a cell has started before anybody watched, and one of later.
    threads = [kernels, started("early", over, lambda: defined["run"](inside.set, over.wait))]
    assert inside.wait(60)
    observer = notebook.CellObserver(shell)
    observer.begin()
    threads.append(started("late", over))
    said = "unknown: " + " or ".join(sorted(["IOPub", main, "early", "late"]))
    monkeypatch.setattr(observer, "poll", lambda: wake(observer, thread=said))
    run(shell, statement("x = 1"))
    over.set()
    for thread in threads:
        thread.join()
    found = wakers.of("cuda")
    assert found is not None
    assert (found.module, found.path, found.line) == (None, None, None)
    assert found.thread == f"unknown: {main} in In[3], line 4 or early or late"
    observer.end()


def test_the_kernels_own_threads_are_no_suspects(
    shell: Shell, wakers: Wakers, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = threading.main_thread().name
    over = threading.Event()
    kernels = started("IOPub", over)
    observer = notebook.CellObserver(shell)
    observer.begin()
    monkeypatch.setattr(observer, "poll", lambda: wake(observer, thread=f"unknown: IOPub or {main}"))
    run(shell, statement("x = 1"))
    over.set()
    kernels.join()
    found = wakers.of("cuda")
    assert found is not None
    assert (found.module, found.path, found.line, found.thread) == ("__main__", "In[3]", 4, main)
    observer.end()


def test_the_kernels_own_calls_are_left_out_of_a_stack(shell: Shell, wakers: Wakers) -> None:
    frames = [("/lib/ipykernel.py", 9, "start"), ("/cells/2.py", 4, "<module>"), ("/lib/torch.py", 7, "init")]
    stack = [{"path": path, "line": line, "function": function} for path, line, function in frames]
    wake(notebook.CellObserver(shell), module="__main__", stack=stack)
    found = wakers.of("cuda")
    assert found is not None
    assert [(frame.path, frame.line) for frame in found.stack] == [("In[2]", 4), ("/lib/torch.py", 7)]
    assert (found.path, found.line, found.function) == ("In[2]", 4, "<module>")


def test_an_import_that_woke_is_named_and_not_the_cell(shell: Shell, wakers: Wakers) -> None:
    chain = [
        {"module": "__main__", "path": "/cells/2.py", "line": 1},
        {"module": "engine", "path": "e.py", "line": 5},
    ]
    wake(notebook.CellObserver(shell), module="engine", path="e.py", line=5, import_chain=chain)
    found = wakers.of("cuda")
    assert found is not None
    assert (found.module, found.path, found.line) == ("engine", "e.py", 5)
    assert found.import_chain[0].path == "In[2]"


def test_a_statement_that_fails_is_looked_at_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = notebook.CellObserver(shell)
    observer.begin()
    polls: list[int] = []
    monkeypatch.setattr(observer, "poll", lambda: polls.append(1))
    with pytest.raises(ZeroDivisionError):
        shell.run_code(statement("1 / 0")).send(None)
    assert polls == [1]
    observer.end()


@pytest.mark.parametrize("text", ["states", "state now", "decide a b", "run"])
def test_a_magic_that_does_not_exist_is_refused_with_those_that_do(text: str, shell: Shell) -> None:
    notebook.load_ipython_extension(shell)
    with pytest.raises(UsageError, match=r"%coldfork \[state\], %coldfork decide"):
        shell.magics["line"]["coldfork"](text)
    with pytest.raises(UsageError, match="%%coldfork run"):
        shell.magics["cell"]["coldfork"]("walk", "x = 1")
    notebook.unload_ipython_extension(shell)


def test_the_magics_of_a_line(shell: Shell) -> None:
    notebook.load_ipython_extension(shell)
    for text in ("", "state"):
        shown = shell.magics["line"]["coldfork"](text)
        names = [state.accelerator for state in shown.states]
        assert names == [state.accelerator for state in coldfork.state()]
    assert shown._repr_html_().startswith("<table>")
    decided = shell.magics["line"]["coldfork"]("decide json:dumps")
    assert decided.target == "json"
    notebook.unload_ipython_extension(shell)


def test_a_cell_runs_as_a_program_beside_the_notebooks_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "beside.py").write_text("WORD = 'found'\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = notebook.run(
        "import beside, sys\nprint(beside.WORD, flush=True)\nprint('<&>', file=sys.stderr)\nsys.exit(3)", []
    )
    assert capfd.readouterr().out.splitlines() == ["found", "<&>"]
    assert shown.status == 3
    assert repr(shown).startswith("cold: ")
    page = shown._repr_html_()
    assert page is not None
    assert page.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert '"' not in page.removeprefix('<iframe srcdoc="').partition('" style=')[0]


def test_a_cell_of_which_nothing_was_recorded_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    shown = notebook.run("", ["--virtual", "no-such-device"])
    assert repr(shown) == "nothing was recorded; the program ended with status 2"
    assert shown._repr_html_() is None
    assert "there is no virtual device" in capfd.readouterr().out


STATES = (
    State("cuda", Status.AWAKE, reason="<1>", waker=Waker("m", "In[3]", 4, "f<g>", None, "MainThread")),
    State("rocm", Status.ABSENT),
)


def test_states_are_shown_with_their_wakers() -> None:
    assert states_text(STATES) == "cuda       awake  In[3], line 4, in f<g>"
    assert states_text(STATES[1:]) == "nothing that a fork could break is loaded"
    shown = states_html(STATES)
    assert "In[3], line 4, in f&lt;g&gt;" in shown
    assert "&lt;1&gt;" in shown
    assert "f<g>" not in shown


def test_decisions_are_shown_with_their_reasons() -> None:
    shown = decision_html(Decision("spawn", (Reason("x", "cuda is <awake>"),), target="m"))
    assert shown.startswith("<p><strong>spawn</strong> for m</p><table>")
    assert "cuda is &lt;awake&gt;" in shown
    assert decision_html(Decision("fork")) == "<p><strong>fork</strong>: nothing speaks against it</p>"


def test_it_needs_no_ipython() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, coldfork.plugins.notebook; print('IPython' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


CELLS = (
    "%load_ext coldfork",
    "from coldfork import virtual; virtual.install('h100')\nimport torch",
    "x = 1\ndef wake():\n    torch.cuda.init()\nwake()",
    "import coldfork\ncoldfork.state()[0].waker",
    "coldfork.decide()",
    "%coldfork state",
    "%unload_ext coldfork\nget_ipython().find_line_magic('coldfork') is None",
)


@pytest.mark.skipif(not KERNEL, reason=NO_KERNEL)
def test_a_kernel_names_the_cell_and_the_line_that_woke() -> None:
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(book, timeout=600, kernel_name="python3").execute()
    shown = [cell.outputs[-1]["data"] if cell.outputs else {} for cell in book.cells]
    woken = shown[3]["text/plain"]
    assert "path='In[3]', line=4" in woken
    assert "(woken by In[3]:4)" in shown[4]["text/plain"]
    assert shown[4]["text/html"].startswith("<p><strong>spawn</strong></p><table>")
    assert "In[3], line 4" in shown[5]["text/html"]
    assert shown[6]["text/plain"] == "True"
