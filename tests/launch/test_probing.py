"""Real imports in real interpreters: what woke a device and what stayed cold, and modules that misbehave."""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from coldfork.launch.plumbing.ask import TAIL_BYTES, Ended
from coldfork.launch.probe import trial
from coldfork.launch.probe.probe import ProbeRequest, interpreter, modules_of, probe
from coldfork.model.errors import UsageError
from coldfork.model.probes import ProbeStatus
from coldfork.model.states import ImportSite, Level
from coldfork.observe import probing
from coldfork.observe.bootstrap import VARIABLE
from tests.limits import overrun

pytestmark = pytest.mark.once

WAKE = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
Make = Callable[..., Any]


def test_a_cold_import(write: Make, probed: Make) -> None:
    write(engine="X = 1\n")
    found = probed("engine")
    assert (found.status, found.waker, found.reason) == (ProbeStatus.COLD, None, None)
    assert found.modules_loaded >= 1


def test_the_line_the_class_and_the_imports_are_named(write: Make, probed: Make) -> None:
    write(
        engine____init__="",
        engine__api="import json\n\nfrom engine import backend\n",
        engine__backend="from engine.attention import Builder\n",
        engine__attention="""\
            import ctypes

            def version():
                return ctypes.CDLL("libcuda.so.1").cuInit(0)

            class Builder:
                lazy = True
                support = version()
            """,
    )
    found = probed("engine.api")
    assert (found.status, found.accelerator, found.level) == (ProbeStatus.WOKEN, "cuda", Level.DRIVER)
    waker = found.waker
    assert (waker.module, waker.path, waker.line) == ("engine.attention", "engine/attention.py", 8)
    assert waker.function == "Builder"
    assert waker.import_chain == (
        ImportSite("engine.api", "engine/api.py", 3),
        ImportSite("engine.backend", "engine/backend.py", 1),
        ImportSite("engine.attention", "engine/attention.py", 8),
    )
    assert [(frame.path, frame.line, frame.function) for frame in waker.stack] == [
        ("engine/attention.py", 8, "Builder"),
        ("engine/attention.py", 4, "version"),
    ]
    assert found.text == "support = version()"
    assert found.reason is None


def test_paths_of_namespace_packages_begin_with_the_top_package(write: Make, probed: Make) -> None:
    write(
        spaces__deep__core="from spaces.deep import tools\ntools.wake()\n",
        spaces__deep__tools=f"""\
        def wake():
            {WAKE}
        """,
    )
    waker = probed("spaces.deep.core").waker
    assert (waker.path, waker.line) == ("spaces/deep/core.py", 2)
    assert [frame.path for frame in waker.stack] == ["spaces/deep/core.py", "spaces/deep/tools.py"]


def test_a_context_is_told_from_the_driver_alone(write: Make, probed: Make) -> None:
    write(
        engine="""\
            import ctypes
            cuda = ctypes.CDLL("libcuda.so.1")
            cuda.cuInit(0)
            context = ctypes.c_void_p()
            cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
            """
    )
    found = probed("engine")
    assert (found.level, found.waker.line) == (Level.CONTEXT, 3)


def test_a_device_woken_on_another_thread(write: Make, probed: Make) -> None:
    write(
        engine="""\
            import threading

            def work():
                import waker

            thread = threading.Thread(target=work, name="warmer")
            thread.start()
            thread.join()
            """,
        waker=WAKE,
    )
    found = probed("engine")
    assert found.status is ProbeStatus.WOKEN
    # Right or unknown, never the module that only waited.
    assert found.waker.module in ("waker", None)
    if found.waker.module:
        assert found.waker.thread == "warmer"
        assert found.waker.line == 1 or "the exact line is not known" in found.reason


def test_a_look_that_another_thread_blinds_is_taken_again(write: Make, probed: Make, tmp_path: Path) -> None:
    write(
        engine=f"""\
            import hashlib, os, threading
            looks = os.open({str(tmp_path / "looks")!r}, os.O_CREAT | os.O_APPEND | os.O_RDWR)
            os.write(looks, b"x")
            if os.fstat(looks).st_size == 2:
                def busy():
                    while True:
                        hashlib.sha256(bytes(1 << 20))
                for _ in range(3):
                    threading.Thread(target=busy, daemon=True).start()
            {WAKE}
            """
    )
    found = probed("engine")
    assert (tmp_path / "looks").read_text(encoding="utf-8") == "xxx"
    assert (found.waker.module, found.waker.line, found.reason) == ("engine", 10, None)


def test_a_module_that_is_missing(write: Make, probed: Make) -> None:
    write(engine="import no_such_module_here\n")
    found = probed("engine")
    assert found.status is ProbeStatus.FAILED
    assert found.reason == "the import failed with ModuleNotFoundError: No module named 'no_such_module_here'"
    assert [(frame.path, frame.line) for frame in found.failure.stack] == [("engine.py", 1)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import os; os._exit(0)", "the import ended the process with exit status 0"),
        ("import os; os._exit(9)", "the import ended the process with exit status 9"),
        ("raise SystemExit(3)", "the import failed with SystemExit: 3"),
        ("raise KeyboardInterrupt", "the import failed with KeyboardInterrupt"),
        ("class E(BaseException): pass\nraise E('odd')", "the import failed with E: odd"),
        ("raise ValueError('two\\nlines')", "the import failed with ValueError: two lines"),
        (
            "class E(Exception):\n  def __str__(self): raise ValueError\nraise E",
            "the import failed with E",
        ),
        ("import ctypes; ctypes.string_at(0)", "the import crashed: SIGSEGV"),
        ("import os; os.abort()", "the import crashed: SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "the import crashed: SIGKILL"),
        ("def f(): f()\nf()", "the import failed with RecursionError: maximum recursion depth exceeded"),
        ("import sys; del sys.modules[__name__]", "the import failed with KeyError: 'engine'"),
        ("x = (", None),
    ],
)
@pytest.mark.parametrize("woken", [False, True], ids=["cold", "woken"])
def test_imports_that_do_not_come_to_their_end(
    write: Make, probed: Make, text: str, reason: str | None, *, woken: bool
) -> None:
    write(waker=WAKE, engine=f"print('hello', flush=True)\n{'import waker' if woken else ''}\n{text}\n")
    found = probed("engine")
    if reason is None:  # nothing of a file with an error in it is run
        assert found.status is ProbeStatus.FAILED
        assert "SyntaxError" in found.reason
    elif woken:
        assert (found.status, found.waker.module, found.waker.line) == (ProbeStatus.WOKEN, "waker", 1)
        assert found.reason == f"afterwards {reason}"
        assert found.output == "hello\n"
    else:
        assert (found.status, found.reason, found.output) == (ProbeStatus.FAILED, reason, "hello\n")


@pytest.mark.parametrize("woken", [False, True], ids=["cold", "woken"])
def test_an_import_that_never_returns(write: Make, probed: Make, *, woken: bool) -> None:
    write(
        waker=WAKE,
        engine=f"""\
            {"import waker" if woken else ""}
            print("waiting", flush=True)
            import time
            time.sleep(600)
            """,
    )
    limit, found = overrun(
        lambda limit: _unless_too_slow(lambda: probed("engine", timeout=limit)),
        lambda found: found is not None and 'engine.py", line 4 in <module>' in found.reason,
    )
    assert found.status is (ProbeStatus.WOKEN if woken else ProbeStatus.FAILED)
    assert f"the import did not end within {limit} s; it was in " in found.reason
    assert 'engine.py", line 4 in <module>' in found.reason
    assert found.output == "waiting\n"
    if woken:
        assert (found.waker.module, found.waker.line) == ("waker", 1)


def _unless_too_slow(attempt: Make) -> Any:
    """Return the finding; None where even an interpreter without an import was too slow."""
    try:
        return attempt()
    except UsageError as error:
        if "although there was nothing to import" not in str(error):
            raise
        return None


def test_an_interpreter_that_takes_too_long_to_start_is_told_from_an_import(
    write: Make, probed: Make
) -> None:
    write(engine="X = 1\n")
    expected = r"cannot watch .*: it did not end within 0\.001 s, although there was nothing to import$"
    with pytest.raises(UsageError, match=expected):
        probed("engine", timeout=0.001)


@pytest.mark.parametrize(("started", "left"), [(1001.5, 1.0), (1009.0, 0.01)])
def test_where_it_hangs_is_told_before_the_limit_however_long_the_start_took(
    monkeypatch: pytest.MonkeyPatch, surroundings: Make, tmp_path: Path, started: float, left: float
) -> None:
    """Under a limit of 3 s it is told after 2.5 s, of which the interpreter's start takes its part."""
    begun: list[dict[str, Any]] = []
    armed: list[float] = []

    def begin(command: object, variables: dict[str, str], **how: object) -> Ended:
        begun.append(json.loads(variables[VARIABLE]))
        return Ended(0, None, False, "", False)

    def arm(seconds: float, file: int, **how: object) -> None:
        os.close(file)
        armed.append(seconds)

    monkeypatch.setattr(trial, "monotonic", lambda: 1000.0)
    monkeypatch.setattr(trial, "until_its_end", begin)
    trial.run_trial("engine", surroundings(timeout=3))
    (settings,) = begun
    monkeypatch.setattr(probing, "monotonic", lambda: started)
    monkeypatch.setattr(faulthandler, "dump_traceback_later", arm)
    imported = probing.Probe({**settings, "module": "json", "result": str(tmp_path / "result")})
    imported.run(Mock(**{"attribution.windows.starts": [], "states.return_value": []}))
    assert armed == [left]


def test_only_the_end_of_megabytes_is_kept(write: Make, probed: Make) -> None:
    write(engine="for i in range(300_000): print('line', i)\nraise ValueError('at last')\n")
    found = probed("engine")
    assert found.output.endswith("line 299999\n")
    assert len(found.output) <= TAIL_BYTES
    assert found.output_cut


@pytest.mark.parametrize(
    "text",
    [
        "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()",
        "import os, time\nif os.fork() == 0:\n  time.sleep(600)",
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])",
        "import builtins; real = builtins.__import__; builtins.__import__ = lambda *a, **k: real(*a, **k)",
        "import sys; sys.modules[__name__] = object()",
        "import sys; sys.stdout.close(); sys.stderr.close()",
        "import os; os.close(1); os.close(2)",
        "import os; os.closerange(3, 200)",
        "import sys; sys.stdout = sys.stderr = None",
        "import sys; sys.setrecursionlimit(60)",
        "import os; os.chdir('/')",
        "import atexit, time; atexit.register(time.sleep, 600)",
        "import gc; gc.disable(); import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "import os; os.environ.clear()",
    ],
)
@pytest.mark.parametrize("woken", [False, True], ids=["cold", "woken"])
def test_imports_that_do_odd_things_are_judged_all_the_same(
    write: Make, probed: Make, text: str, *, woken: bool
) -> None:
    write(waker=WAKE, engine=f"{text}\n{'import waker' if woken else ''}\n")
    # Nothing may be kept waiting for what the import left behind, which stays for 600 s.
    found = probed("engine", timeout=300)
    assert found.status is (ProbeStatus.WOKEN if woken else ProbeStatus.COLD), found
    if woken:
        assert found.waker.module in ("waker", None)
    assert "did not end within" not in (found.reason or "")


def test_an_import_that_wakes_only_now_and_then(write: Make, probed: Make, tmp_path: Path) -> None:
    write(
        engine=f"""\
            import pathlib
            mark = pathlib.Path({str(tmp_path)!r}, "seen")
            if not mark.exists():
                mark.touch()
                {WAKE}
            """
    )
    found = probed("engine")
    assert (found.status, found.waker.module, found.waker.line) == (ProbeStatus.WOKEN, "engine", None)
    assert found.reason == (
        "the exact line is not known: a second look in a fresh interpreter stayed cold, "
        "so whether it wakes varies"
    )


def test_two_looks_that_name_different_modules(write: Make, probed: Make, tmp_path: Path) -> None:
    write(
        first=WAKE,
        second=WAKE,
        engine=f"""\
            import pathlib
            mark = pathlib.Path({str(tmp_path)!r}, "seen")
            if mark.exists():
                import second
            mark.touch()
            import first
            """,
    )
    found = probed("engine")
    assert (found.waker.module, found.waker.line) == ("first", None)
    assert found.reason == (
        "the exact line is not known: a second look named second; what wakes it first varies"
    )


def test_what_a_package_wakes_is_looked_at_closely_once(
    write: Make, surroundings: Make, tmp_path: Path
) -> None:
    """Its modules are imported after it, from the same beginning, so that the line is the same for all."""
    write(
        engine____init__=f"""\
            import pathlib
            with pathlib.Path({str(tmp_path)!r}, "imports").open("a") as file:
                file.write("x")
            from engine import waker
            """,
        engine__waker=f"def wake():\n    {WAKE}\nwake()\n",
        engine__a="",
        engine__b="import engine.a",
        elsewhere="import engine.waker",
    )
    names = ("engine", "engine.a", "engine.b", "engine.waker")
    result = probe(ProbeRequest(names, surroundings(), jobs=1))
    assert len((tmp_path / "imports").read_text()) == len(names) + 1
    for found in result.modules:
        assert found.waker is not None
        assert (found.waker.path, found.waker.line, found.text) == ("engine/waker.py", 3, "wake()")
        assert found.waker.import_chain[0] == ImportSite("engine", "engine/__init__.py", 4)
    # Another way to the same module is looked at for itself.
    (found,) = probe(ProbeRequest(("elsewhere",), surroundings())).modules
    assert found.waker is not None
    assert found.waker.import_chain[0] == ImportSite("elsewhere", "elsewhere.py", 1)


def test_a_device_that_is_awake_before_the_import_is_not_blamed_on_it(
    write: Make, probed: Make, tmp_path: Path
) -> None:
    write(sitecustomize=WAKE, engine="X = 1\n")
    found = probed("engine")
    assert (found.status, found.waker) == (ProbeStatus.UNKNOWN, None)
    assert found.reason == "cuda is awake in this interpreter before anything is imported"


def test_a_virtual_device_that_cannot_be_is_an_error(write: Make, probed: Make) -> None:
    write(sitecustomize="", engine="X = 1\n")
    with pytest.raises(UsageError, match=r"cannot watch .*no virtual device 'nonsense'"):
        probed("engine", virtual="nonsense")


@pytest.mark.parametrize("text", ["X = 1\n", WAKE])
def test_in_a_forked_child(write: Make, probed: Make, text: str) -> None:
    write(engine=f"import os\nassert os.getppid() != {os.getpid()}\n{text}")
    found = probed("engine", forked=True)
    if text == WAKE:
        assert (found.status, found.waker.line) == (ProbeStatus.WOKEN, 3)
    else:
        assert (found.status, found.reason) == (ProbeStatus.COLD, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import ctypes; ctypes.string_at(0)", "the import crashed: SIGSEGV"),
        ("import os; os._exit(255)", "the import ended the process with exit status 255"),
    ],
)
def test_the_end_of_a_forked_child_is_told(write: Make, probed: Make, text: str, reason: str) -> None:
    write(engine=text)
    assert probed("engine", forked=True).reason == reason


def test_several_modules_come_back_in_their_order(write: Make, surroundings: Make) -> None:
    write(one="", two=WAKE, three="import nothing_of_this_name", four="")
    seen: list[tuple[str, int, int, str]] = []
    result = probe(
        ProbeRequest(("four", "two", "one", "three", "two"), surroundings(), jobs=3),
        lambda *told: seen.append(told),
    )
    assert [(found.module, found.status.value) for found in result.modules] == [
        ("four", "cold"),
        ("two", "woken"),
        ("one", "cold"),
        ("three", "failed"),
    ]
    assert result.status is ProbeStatus.WOKEN
    assert result.device == "virtual:h100"
    assert [told[:3] for told in seen] == [
        ("importing", done, 4) for done in sorted(told[1] for told in seen)
    ]
    assert seen[0][1:] == (0, 4, "four")
    assert {told[3] for told in seen[1:-1]} <= {"four", "two", "one", "three"}
    assert seen[-1][1:] == (4, 4, "")
    assert result.files["two.py"].endswith(f"{os.sep}two.py")


def test_unknown_beats_cold(write: Make, surroundings: Make) -> None:
    write(one="", three="import nothing_of_this_name")
    assert probe(ProbeRequest(("one", "three"), surroundings())).status is ProbeStatus.UNKNOWN
    assert probe(ProbeRequest(("one",), surroundings())).status is ProbeStatus.COLD


def test_who_is_interrupted_keeps_what_was_found_and_leaves_nothing_running(
    write: Make, surroundings: Make
) -> None:
    """Stands for Ctrl-C: the progress is told on the thread that gets it."""
    folder = write(
        quick="",
        slow="""\
            import os, pathlib, time
            pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
            while True: time.sleep(1)
            """,
        later="import time\nwhile True: time.sleep(1)",  # it may have begun by then, and not have ended
    )

    def interrupt(_stage: str, done: int, *_: object) -> None:
        if not done:
            return
        while not (folder / "pid").exists() or not (folder / "pid").stat().st_size:
            time.sleep(0.01)
        raise KeyboardInterrupt

    result = probe(ProbeRequest(("slow", "quick", "later"), surroundings(), jobs=2), interrupt)
    assert [(found.module, found.status) for found in result.modules] == [("quick", ProbeStatus.COLD)]
    assert (result.interrupted, result.left) == (True, ("slow", "later"))
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


def test_what_breaks_the_telling_is_no_interruption(write: Make, surroundings: Make) -> None:
    write(quick="", other="")

    def fail(*_: object) -> None:
        raise RuntimeError("the terminal is gone")

    with pytest.raises(RuntimeError, match="the terminal is gone"):
        probe(ProbeRequest(("quick", "other"), surroundings(), jobs=1), fail)


def test_a_second_look_that_is_interrupted_leaves_what_the_first_one_saw(
    write: Make, surroundings: Make
) -> None:
    """The second import of the module hangs; by then it is known that the first one woke the device."""
    folder = write(
        quick="",
        twice=f"""\
            import pathlib, time
            {WAKE}
            again = pathlib.Path(__file__).with_name("again")
            if again.exists():
                again.write_text("hangs")
                while True: time.sleep(1)
            again.touch()
            """,
    )

    def interrupt(_stage: str, done: int, *_: object) -> None:
        if not done:
            return
        while not (folder / "again").exists() or not (folder / "again").stat().st_size:
            time.sleep(0.01)
        raise KeyboardInterrupt

    result = probe(ProbeRequest(("twice", "quick"), surroundings(), jobs=2), interrupt)
    twice, quick = result.modules
    assert (quick.status, result.left, result.interrupted) == (ProbeStatus.COLD, (), True)
    assert (twice.status, twice.accelerator) == (ProbeStatus.WOKEN, "cuda")
    assert twice.waker is not None
    assert (twice.waker.module, twice.waker.line) == ("twice", None)
    assert twice.reason == "the exact line is not known: the second look was interrupted"


def test_an_environment_without_coldfork(write: Make, probed: Make, tmp_path: Path) -> None:
    """The probed interpreter has nothing of ours on its path, and sees nothing of ours there."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True, timeout=60
    )
    write(
        engine=f"""\
            import sys
            assert not any("coldfork" in entry or entry.endswith("/src") for entry in sys.path), sys.path
            try:
                import click
            except ModuleNotFoundError:
                pass
            {WAKE}
            """
    )
    found = probed("engine", python=str(tmp_path / "venv" / "bin" / "python"))
    assert (found.status, found.waker.line) == (ProbeStatus.WOKEN, 7), found


def test_the_modules_of_a_package_are_found_without_importing_it(
    write: Make, surroundings: Make, tmp_path: Path
) -> None:
    write(
        engine____init__="raise SystemExit('imported')",
        engine____main__="",
        engine__core="",
        engine__parts____init__="raise SystemExit('imported')",
        engine__parts____main__="",
        engine__parts__wheel="",
        engine__spaces__deep__thing="",
        engine__data__readme="",
    )
    (tmp_path / "engine" / "data" / "readme.py").rename(tmp_path / "engine" / "data" / "readme.txt")
    (tmp_path / "engine" / "not-a-module.py").touch()
    (tmp_path / "engine" / "fast.cpython-311-x86_64-linux-gnu.so").touch()
    (tmp_path / "engine" / "again").symlink_to(tmp_path / "engine")
    found = set(modules_of("engine", surroundings()))
    assert found - {"engine.fast"} == {
        "engine",
        "engine.core",
        "engine.parts",
        "engine.parts.wheel",
        "engine.spaces",
        "engine.spaces.deep",
        "engine.spaces.deep.thing",
    }
    assert set(modules_of("engine.parts", surroundings())) == {"engine.parts", "engine.parts.wheel"}
    assert set(modules_of("engine.spaces.deep", surroundings())) == {
        "engine.spaces.deep",
        "engine.spaces.deep.thing",
    }


def test_a_package_that_is_not_there_is_left_to_fail(write: Make, surroundings: Make) -> None:
    write(engine="")
    assert modules_of("nowhere.to_be.found", surroundings()) == ("nowhere.to_be.found",)
    assert modules_of("engine.inside", surroundings()) == ("engine.inside",)
    assert modules_of("engine", surroundings()) == ("engine",)


def test_interpreters_that_are_none(tmp_path: Path) -> None:
    assert interpreter(sys.executable) == sys.executable
    assert interpreter(None, {}) == sys.executable
    with pytest.raises(UsageError, match="there is no Python interpreter"):
        interpreter(str(tmp_path / "python"))
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    fake.chmod(0o755)
    with pytest.raises(UsageError, match="not a working Python interpreter"):
        interpreter(str(fake))
    fake.write_text("#!/bin/sh\necho 3 9\n", encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"this is Python 3\.9; watching imports needs Python 3\.11 or newer"
    ):
        interpreter(str(fake))
