"""The canary: test_hazards.py has what it finds, and here is that nothing of it is left."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import chain, repeat
from pathlib import Path

import pytest

import coldfork
from coldfork.model.forking.judgement import Judgement
from coldfork.observe.forking.holding import Holding
from coldfork.start import canary as home
from coldfork.start.evidence import table
from coldfork.start.trials import Trial
from tests.start.test_decide import run

#: More seconds than anything here takes that does not hang.
PATIENCE = 120

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks")


def trying(monkeypatch: pytest.MonkeyPatch, *attempts: Callable[[], object]) -> None:
    trials = tuple(Trial(f"trial {number}", attempt) for number, attempt in enumerate(attempts, 1))
    monkeypatch.setattr(home, "trials", lambda: trials)
    # Whatever other tests have left awake in this process.
    monkeypatch.setattr(table, "held_here", tuple)


def picture() -> tuple[list[str], set[str], set[str]]:
    """Open files, threads, and processes that nobody has waited for: other tests may have left some."""
    descriptors = sorted(path.name for path in Path("/proc/self/fd").iterdir())
    threads = {path.name for path in Path("/proc/self/task").iterdir()}
    kept = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    children = {pid for pids in kept for pid in pids.split()}
    return descriptors, threads, children


def fail() -> None:
    raise RuntimeError("Cannot re-initialize CUDA")


def hang() -> None:
    threading.Event().wait()


@pytest.mark.parametrize(
    ("attempts", "safe", "reason", "tried"),
    [
        ((), True, "nothing is loaded that could break", ()),
        ((int, int), True, "a forked child could do trial 1, trial 2", ("trial 1", "trial 2")),
        (
            (int, fail, int),
            False,
            "a forked child fails in trial 2: RuntimeError: Cannot re-initialize CUDA",
            ("trial 1", "trial 2"),
        ),
        ((lambda: os._exit(3),), False, "a forked child was ended by trial 1: status 3", ("trial 1",)),
        ((os.abort,), False, "a forked child was ended by trial 1: signal 6", ("trial 1",)),
        ((sys.exit,), False, "a forked child fails in trial 1: SystemExit: ", ("trial 1",)),
    ],
)
def test_the_answer_and_that_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch,
    attempts: tuple[Callable[[], object], ...],
    safe: bool,
    reason: str,
    tried: tuple[str, ...],
) -> None:
    trying(monkeypatch, *attempts)
    before = picture()
    answer = coldfork.canary(PATIENCE)
    assert (answer.safe, answer.reason, answer.tried) == (safe, reason, tried)
    assert bool(answer) is safe
    descriptors, threads, children = picture()
    assert descriptors == before[0]
    # Fewer are no trouble: OpenBLAS ends its own before every fork.
    assert threads <= before[1]
    assert children <= before[2]


def test_a_child_that_hangs_is_killed_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    trying(monkeypatch, hang, int)
    # The time is up as soon as the child has said what it tries: however long it took to come to that.
    monkeypatch.setattr(home, "monotonic", partial(next, chain((0, 0), repeat(PATIENCE))))
    *_, before = picture()
    answer = coldfork.canary(PATIENCE)
    reason = f"a forked child hangs in trial 1: it was killed after {PATIENCE} s"
    assert (answer.safe, answer.reason, answer.tried) == (False, reason, ("trial 1",))
    *_, children = picture()
    assert children <= before


def test_a_child_that_somebody_else_reaps_is_no_trouble() -> None:
    said = run(
        """
        import signal
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        answer = coldfork.canary(120)
        told["answer"] = [answer.safe, answer.reason]
        """
    )
    assert said == {"answer": [True, "nothing is loaded that could break"]}


def test_what_the_child_prints_is_not_seen_and_the_parents_handlers_are_not_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    trying(monkeypatch, lambda: os.write(2, b"noise\n"), lambda: print("noise", flush=True))
    assert coldfork.canary(PATIENCE)
    assert capfd.readouterr() == ("", "")


def test_the_guard_lets_it_pass() -> None:
    pytest.importorskip("torch")
    said = run(
        """
        import torch
        torch.set_num_threads(2)
        torch.ones(4_000_000).exp().sum().item()
        coldfork.guard("strict")
        try:
            os.fork()
        except coldfork.UnsafeForkError as error:
            told["refused"] = error.reasons[0].code
        told["canary"] = str(coldfork.canary(4))
        try:
            os.fork()
        except coldfork.UnsafeForkError as error:
            told["still refused"] = error.reasons[0].code
        """
    )
    assert said["refused"] == said["still refused"] == "openmp-pool-of-this-thread"
    assert said["canary"].startswith(
        "not safe to fork here: a forked child hangs in a parallel region of libgomp"
    )


def test_it_asks_the_virtual_device_as_a_worker_would() -> None:
    pytest.importorskip("torch")
    said = run(
        """
        import coldfork.virtual
        coldfork.virtual.install("h100")
        import torch
        told["cold"] = str(coldfork.canary(120))
        told["still cold"] = status()
        torch.cuda.is_available()
        told["awake"] = str(coldfork.canary(120))
        """
    )
    assert said["cold"].startswith("safe to fork here: ")
    assert "asking torch.cuda" in said["cold"]
    assert said["still cold"] == ["cold", None]
    assert said["awake"].startswith("not safe to fork here: a forked child fails in ")


def test_what_could_not_be_tried_or_was_expected_to_break_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "trials", lambda: (Trial("a query", int, ("polars",)),))
    found = (
        Holding("polars", "so", "polars' engine runs here"),
        Holding("grpc", "so", "gRPC is at work here"),
        Holding("threads", "so", "a thread does something", doubtful=True),
    )
    monkeypatch.setattr(table, "held_here", lambda: found)
    answer = coldfork.canary(PATIENCE)
    assert [one.judgement for one in answer.against] == [
        Judgement.BREAKS,
        Judgement.BREAKS_IF,
        Judgement.UNKNOWN,
    ]
    assert str(answer) == (
        "safe to fork here: a forked child could do a query; it was expected to break, because polars' "
        "engine runs here; not tried: it fails or hangs if the child makes a call through gRPC"
    )
