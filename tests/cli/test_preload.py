"""`coldfork preload`: what it asks for, what it writes, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

if sys.platform != "linux":
    pytest.skip("a zygote needs Linux", allow_module_level=True)

import coldfork.launch.preload.search
from coldfork.launch.preload.search import PreloadRequest
from coldfork.launch.probe import comparison
from coldfork.launch.server.preload_list import read
from coldfork.model.preloads import Kept, LeftOut, Preloading, Stain, VariableUse

Run = Callable[..., Result]
THREAD = "import threading\n\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"


class Searcher:
    """Stands in for the search: remembers what was asked and finds what it was told to."""

    def __init__(self) -> None:
        self.requests: list[PreloadRequest] = []
        self.left: tuple[LeftOut, ...] = ()

    def search(self, request: PreloadRequest, progress: object = None) -> Preloading:
        self.requests.append(request)
        return Preloading(
            wanted=request.wanted,
            device="virtual:h100",
            python=request.setup.python,
            kept=(Kept("json", 0.25),),
            left_out=self.left,
            reads=(
                VariableUse("HF_HOME", "json", "json/__init__.py", 1),
                VariableUse("PYTHONPATH", "json", "json/__init__.py", 1),
                VariableUse("CUDA_VISIBLE_DEVICES", "json", "json/__init__.py", 1),
            ),
            seeds=("json:x",),
            total=1.0,
            rest=0.01,
            file=request.file,
        )


@pytest.fixture
def searcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Searcher:
    made = Searcher()
    monkeypatch.setattr(coldfork.launch.preload.search, "preload", made.search)
    monkeypatch.setattr(
        comparison, "device_before", lambda virtual, *_: f"virtual:{virtual}" if virtual else "none"
    )
    monkeypatch.chdir(tmp_path)
    return made


def test_the_list_is_written_and_the_report_printed(searcher: Searcher, run: Run, tmp_path: Path) -> None:
    result = run("preload", "engine.worker", "--output", "list.toml")
    assert (result.exit_code, result.stderr) == (0, "coldfork: wrote 1 module to list.toml\n")
    assert result.stdout.startswith("1 module may be imported before a worker is forked\n")
    listed = read(tmp_path / "list.toml")
    assert (listed.modules, listed.wanted, listed.seeds) == (("json",), ("engine.worker",), ("json:x",))
    # What each worker has its own of, and what the interpreter has read anyway, means no other server.
    assert listed.variables == {"HF_HOME": "json"}


def test_a_machine_without_a_device_is_given_a_virtual_one(searcher: Searcher, run: Run) -> None:
    run("preload", "engine.worker")
    run("preload", "engine.worker", "--virtual", "a100:2")
    assert [request.setup.virtual for request in searcher.requests] == ["h100", "a100:2"]


def test_a_machine_with_a_device_is_left_as_it_is(
    searcher: Searcher, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "device_before", lambda *_: "real")
    run("preload", "engine.worker")
    assert searcher.requests[0].setup.virtual is None


def test_a_list_that_is_checked(searcher: Searcher, run: Run, tmp_path: Path) -> None:
    run("preload", "engine.worker", "--output", "list.toml")
    assert run("preload", "--check", "list.toml").exit_code == 0
    (_, asked) = searcher.requests
    assert (asked.wanted, asked.kept, asked.file) == (("engine.worker",), ("json",), "list.toml")
    searcher.left = (LeftOut("json", Stain.THREAD, "the thread 'x' runs", "json/__init__.py", 7),)
    result = run("preload", "--check", "list.toml")
    assert result.exit_code == 1
    assert result.stdout.startswith("list.toml is no longer clean, because of 1 module\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name the modules that a worker imports"),
        (("engine", "--check", "list.toml"), "--check takes no modules and no --output"),
        (("--check", "list.toml", "--output", "x.toml"), "--check takes no modules and no --output"),
        (("engine", "--output", "list.txt"), "choose a file name that ends with .toml"),
        (("src/engine.py",), "'src/engine.py' is not the name of a module; write engine"),
        (("--check", "none.toml"), "cannot read none.toml"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], said: str, searcher: Searcher, run: Run) -> None:
    result = run("preload", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


@pytest.mark.must_hold
def test_a_list_is_made_and_fails_when_a_module_of_it_has_become_warm(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "worker.py").write_text("import colorsys\nimport helping\n", encoding="utf-8")
    (tmp_path / "helping.py").write_text("import fractions\n", encoding="utf-8")
    made = run("preload", "worker", "--output", "list.toml")
    assert made.exit_code == 0, made.output
    assert read("list.toml").modules == ("worker",)
    assert run("preload", "--check", "list.toml").exit_code == 0
    (tmp_path / "helping.py").write_text(THREAD, encoding="utf-8")
    failed = run("preload", "--check", "list.toml")
    assert failed.exit_code == 1
    assert "left out helping: the thread" in failed.stdout
    assert "  --> helping.py:3\n" in failed.stdout
    assert "      worker                        worker.py:2\n" in failed.stdout


def test_a_module_that_is_not_there_is_said_in_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("preload", "no_such_module_anywhere")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "raises ModuleNotFoundError: No module named 'no_such_module_anywhere'" in result.stderr
