"""The parts of the guard, each by itself; that they work together is asked of real processes elsewhere."""

from __future__ import annotations

import sys
import threading
import types
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.model.decisions import Reason
from coldfork.model.errors import UnsafeForkError, UnsafeForkWarning, UsageError
from coldfork.model.forking.judgement import Judgement
from coldfork.observe.forking.holding import Holding
from coldfork.start import process
from coldfork.start.evidence import table
from coldfork.start.guard import callers, consequences, examination, interpreters
from coldfork.start.guard.child_notes import Notes
from coldfork.start.guard.observation import WakeObservation
from coldfork.start.guard.process import ProcessGuard
from coldfork.start.guard.protocols import ModeRequest

AWAKE = Reason(
    "cuda-awake",
    "cuda is awake here",
    accelerator="cuda",
    judgement=Judgement.BREAKS_IF,
    condition="it fails if the child touches cuda",
    watched=True,
)
HELD = Holding("cuda", "cuda-awake", "cuda is awake here", accelerator="cuda")


# --- an examination is spared while nothing changes ------------------------------------------------------


class Seen:
    """A process as the examination sees it, which a test changes."""

    def __init__(self) -> None:
        self.latest: object = ()
        self.settled = True
        self.hip: str | None = None
        self.fingerprint: int | None = 1
        self.examination = self
        self.lineage = SimpleNamespace(remember=self.remember)
        self.remembered: list[object] = []
        self.failures: list[str] = []
        self.states: tuple[object, ...] = ()
        self.polls = 0

    def remember(self, readings: object) -> None:
        self.remembered.append(readings)

    def loader(self) -> Any:
        return SimpleNamespace(fingerprint=lambda: self.fingerprint)

    def library(self, *prefixes: str) -> str | None:
        return self.hip

    def awake(self) -> tuple[object, ...]:
        return self.states

    def poll(self) -> None:
        self.polls += 1

    @property
    def poller(self) -> Any:
        return self


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    made = Seen()
    monkeypatch.setattr(process, "HERE", made)
    return made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Holding, ...]]:
    """Record each search; the length of the list is how often it was made."""
    answers: list[tuple[Holding, ...]] = [()]

    def held_here() -> tuple[Holding, ...]:
        answers.append(answers[-1])
        return answers[-1]

    monkeypatch.setattr(table, "held_here", held_here)
    return answers


def examinations(asked: list[Any], ask: Callable[[], object]) -> int:
    before = len(asked)
    ask()
    return len(asked) - before


CHANGES: dict[str, Callable[[Seen, pytest.MonkeyPatch], object]] = {
    "a device woke": lambda seen, _: setattr(seen, "states", (("cuda", "driver"),)),
    "a library came": lambda seen, _: setattr(seen, "fingerprint", 2),
    "tokenizers was told": lambda _, patch: patch.setenv("TOKENIZERS_PARALLELISM", "true"),
    "POCL was told": lambda _, patch: patch.setenv("POCL_DEVICES", "basic"),
    "numba chose": lambda _, patch: patch.setitem(sys.modules, "numba.np.ufunc.parallel", numba_on("omp")),
}


def numba_on(layer: str) -> types.ModuleType:
    module = types.ModuleType("numba.np.ufunc.parallel")
    vars(module)["_threading_layer"] = layer
    return module


@pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux")
@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_asked_while_nothing_changes(
    seen: Seen, asked: list[Any], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    monkeypatch.delenv("POCL_DEVICES", raising=False)
    monkeypatch.delitem(sys.modules, "numba.np.ufunc.parallel", raising=False)
    examined = examination.ForkExamination()

    def ask() -> None:
        assert examined.held(seen) == ()  # type: ignore[arg-type]

    # The second begins to compare.
    assert [examinations(asked, ask) for _ in range(4)] == [1, 1, 0, 0]
    assert seen.polls == 1
    assert len(seen.remembered) == 4
    CHANGES[change](seen, monkeypatch)
    assert [examinations(asked, ask) for _ in range(2)] == [1, 0]
    seen.latest = ("new",)
    seen.fingerprint = 3
    assert examinations(asked, ask) == 1
    assert (seen.polls, seen.remembered[-1]) == (2, ("new",))


@pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux")
@pytest.mark.parametrize(
    ("name", "value"),
    [("fingerprint", None), ("failures", ["x"]), ("settled", False), ("hip", "libamdhip64")],
)
def test_where_a_change_might_go_unseen_everything_is_asked_each_time(
    seen: Seen, asked: list[Any], name: str, value: object
) -> None:
    setattr(seen, name, value)
    examined = examination.ForkExamination()
    assert [examinations(asked, lambda: examined.held(seen)) for _ in range(4)] == [1, 1, 1, 1]  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="the guard needs Linux")
def test_what_speaks_against_a_fork_is_asked_each_time(seen: Seen, asked: list[Any]) -> None:
    asked.append((HELD, Holding("threads", "so", "so", doubtful=True)))
    examined = examination.ForkExamination()
    for _ in range(4):
        assert examinations(asked, lambda: None) == 0
        assert examined.held(seen) == (HELD,)  # type: ignore[arg-type]
    assert len(asked) == 2 + 4
    unobserved = examination.ForkExamination()
    assert [examinations(asked, lambda: unobserved.held(None)) for _ in range(3)] == [1, 1, 1]


# --- modes -----------------------------------------------------------------------------------------------


class Modes(ProcessGuard):
    """Keeps the modes and does nothing about them."""

    def _apply(self) -> None:
        self.mode = self._modes[-1].mode if self._modes else "off"


class Request:
    def __init__(self, guard: Modes, mode: str) -> None:
        self.mode, self.is_block, self.guard = mode, False, guard
        self.replaces: ModeRequest | None = None
        guard.push(self)

    def enter(self) -> Request:
        self.is_block = True
        self.guard.enter(self)
        return self


def test_a_plain_call_replaces_a_plain_call_and_a_block_only_for_its_time() -> None:
    guard = Modes()
    Request(guard, "log")
    plain = Request(guard, "warn")
    assert [one.mode for one in guard._modes] == ["warn"]
    block = Request(guard, "raise").enter()
    assert [one.mode for one in guard._modes] == ["warn", "raise"]
    Request(guard, "log")
    Request(guard, "off")
    assert [one.mode for one in guard._modes] == ["warn", "raise", "off"]
    inner = Request(guard, "warn").enter()
    assert [one.mode for one in guard._modes] == ["warn", "raise", "off", "warn"]
    guard.remove(block)
    assert [one.mode for one in guard._modes] == ["warn", "warn"]
    guard.remove(block)
    guard.remove(inner)
    assert [one is plain for one in guard._modes] == [True]
    assert (guard.mode, plain.replaces, block.replaces, inner.replaces) == ("warn", None, None, None)


def test_a_launch_is_not_examined_where_the_guard_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    examined: list[str] = []
    guard = ProcessGuard()
    monkeypatch.setattr(guard, "_examine", lambda call, frame, process=None: examined.append(call))
    assert guard.before_launch(SimpleNamespace(name="Process-1")) is False
    guard.mode = "raise"
    assert guard.before_launch(SimpleNamespace(name="Process-1")) is True
    assert guard._cleared == {threading.get_ident()}
    # The fork that follows was examined a moment ago, and the next one was not.
    guard._before("os.fork")
    assert guard._cleared == set()
    guard._before("os.fork")
    assert guard.before_launch(object()) is True
    guard.after_launch()
    guard.after_launch()
    assert guard._cleared == set()
    assert examined == ["multiprocessing Process-1", "os.fork", "multiprocessing process"]


# --- what follows ----------------------------------------------------------------------------------------


def frame_in(name: str, number: int = 1, path: str = "engine.py") -> types.FrameType:
    names: dict[str, Any] = {"__name__": name, "sys": sys}
    exec(compile("\n" * (number - 1) + "frame = sys._getframe()", path, "exec"), names)
    frame: types.FrameType = names["frame"]
    return frame


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("engine", False),
        ("threading", True),
        ("threading_engine", False),
        ("multiprocessing.popen_fork", True),
        ("concurrent.futures.process", True),
        ("coldfork.start.canary", True),
        ("coldfork.launch", False),
        ("os", True),
        ("pty", True),
    ],
)
def test_a_warning_points_past_the_machinery(name: str, passed: bool) -> None:
    frame = frame_in(name)
    found = callers.users_frame(frame)
    assert (found is not frame) is passed
    assert callers.users_frame(None) is None


def test_a_warning_stands_at_the_line_of_its_frame() -> None:
    frame = frame_in("engine", 7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        consequences.speak("warn", "os.fork", (AWAKE,), frame)
        consequences.speak("warn", "os.fork", (AWAKE,), None)
        nowhere = SimpleNamespace(f_globals={}, f_code=frame.f_code, f_lineno=None, f_back=None)
        consequences.speak("warn", "os.fork", (AWAKE,), nowhere)  # type: ignore[arg-type]
    first, _, last = caught
    assert (first.category, first.filename, first.lineno) == (UnsafeForkWarning, "engine.py", 7)
    assert (last.filename, last.lineno) == ("engine.py", 0)
    assert "__warningregistry__" in frame.f_globals
    with pytest.raises(UnsafeForkError, match=r"^os\.fork was refused") as refused:
        consequences.speak("strict", "os.fork", (AWAKE,), frame)
    assert (refused.value.reasons, refused.value.call) == ((AWAKE,), "os.fork")


# --- errors in poisoned children -------------------------------------------------------------------------


def test_notes_are_added_where_errors_pass_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class BaseProcess:
        def run(self) -> None:
            raise RuntimeError("CUDA error: initialization error")

    module = types.ModuleType("billiard.process")
    vars(module)["BaseProcess"] = BaseProcess

    class WithOtherIdeas(types.ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            raise AssertionError("a module that notices")

    cuda = WithOtherIdeas("torch.cuda")

    def fails() -> None:
        raise RuntimeError("whatever it says")

    vars(cuda)["_lazy_init"] = fails
    notes = Notes()
    notes.prepare()
    monkeypatch.setitem(sys.modules, "billiard.process", module)
    monkeypatch.setitem(sys.modules, "torch.cuda", cuda)
    notes.loaded("torch.cuda")
    assert vars(cuda)["_lazy_init"] is fails
    notes.arm((AWAKE,))
    for _ in range(2):
        notes.loaded("billiard.process")
        notes.loaded("torch.cuda")
    for call in (BaseProcess().run, vars(cuda)["_lazy_init"]):
        with pytest.raises(RuntimeError) as failure:
            call()
        (note,) = failure.value.__notes__
        assert note.startswith("coldfork: this process was forked from process ")
        assert f"cuda was touched here by {__file__}:" in note
    notes.arm((replace(AWAKE, accelerator="opencl"),))
    with pytest.raises(RuntimeError) as failure:
        BaseProcess().run()
    assert not hasattr(failure.value, "__notes__")


# --- watching, and interpreters --------------------------------------------------------------------------


def test_watching_ends_with_its_wrappers_removed() -> None:
    observation = WakeObservation({}, lambda name: None, lambda what, error: None)
    ended: list[str] = []
    observation._imports = SimpleNamespace(  # type: ignore[assignment]
        install=lambda: ended.append("installed"), remove=lambda: ended.append("removed")
    )
    observation.end()
    observation.begin()
    observation.begin()
    observation.end()
    observation.end()
    assert ended == ["installed", "removed"]


def test_an_interpreter_that_cannot_be_run_is_a_fault_of_the_call(tmp_path: Path) -> None:
    missing = tmp_path / "python"
    with pytest.raises(UsageError, match=f"^cannot run {missing}: No such file or directory$"):
        interpreters.ask(str(missing))
    for said, words in (
        ("exit 3", "ended with status 3: it printed nothing"),
        ("echo no", "does not work as a Python"),
    ):
        missing.write_text(f"#!/bin/sh\n{said}\n", encoding="utf-8")
        missing.chmod(0o755)
        with pytest.raises(UsageError, match=words):
            interpreters.ask(str(missing))
