"""The facts that this process gives a decision about itself."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.start import surroundings as home
from coldfork.start.surroundings import Surroundings, unasked
from coldfork.start.targets import Target


@pytest.fixture
def here() -> Surroundings:
    process = SimpleNamespace(
        readings=lambda: (), threads=(), module=lambda name: None, setting=os.environ.get
    )
    return Surroundings(snapshot=process)  # type: ignore[arg-type]


def test_it_is_this_process(here: Surroundings) -> None:
    assert (here.strict, here.target, here.platform) == (False, None, sys.platform)
    assert list(here.methods) == multiprocessing.get_all_start_methods()
    assert here.release == (os.uname().release if hasattr(os, "uname") else "")
    assert here.arguments is sys.argv
    assert here.setting("PATH") == os.environ.get("PATH")
    assert here.reach_of(Target("work")) == unasked(Target("work"))
    assert not here.server.running


def test_a_program_without_a_command_line_has_no_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "argv")
    assert list(Surroundings().arguments) == []


def test_other_threads_are_named(here: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        ended.wait()

    thread = threading.Thread(target=work, name="other")
    thread.start()
    begun.wait()
    try:
        monkeypatch.setattr(home, "python_threads", lambda: 1)
        here.module = lambda name: vars(threading) if name == "threading" else None
        names = [one.name for one in here.python_threads]
        assert "other" in names
        assert threading.current_thread().name not in names
        # Threads that were started by `_thread` alone are known to nobody by a name.
        here.module = lambda name: None
        assert f"thread {thread.ident}" in [one.name for one in here.python_threads]
        monkeypatch.setattr(home, "python_threads", lambda: 0)
        assert tuple(here.python_threads) == ()
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    "path", ["/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/dri/renderD128"]
)
def test_a_device_is_seen_by_its_file(here: Surroundings, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    there = {path}
    monkeypatch.setattr(os.path, "exists", there.__contains__)
    assert here.device() == path
    there.clear()
    assert here.device() is None
    virtual: list[Any] = [None]
    here.module = lambda name: (
        {"installed": lambda: virtual[0]} if name == "coldfork.virtual.installation" else None
    )
    assert here.device() is None
    virtual[0] = SimpleNamespace(name="h100")
    assert here.device() == "the virtual device h100"


def test_whose_a_pool_is_cannot_be_told_without_ctypes(here: Surroundings) -> None:
    assert here.mine(SimpleNamespace(argument=1)) is None  # type: ignore[arg-type]
