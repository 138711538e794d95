"""Which import woke a device: every way a module can be loaded, and nothing else changed by watching."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.processes import imported, recorded, run, variables, waker, write

WAKE = "import planted_device\nplanted_device.wake()\n"


def test_what_is_seen_before_a_load_was_done_by_who_asks_for_it(tmp_path: Path) -> None:
    """A module that wakes and then imports another is named, and not the other."""
    write(tmp_path, {"outer.py": WAKE + "import inner\n", "inner.py": "x = 1\n"})
    found = waker(tmp_path, "outer")
    assert (found["module"], found["path"]) == ("outer", str(tmp_path / "outer.py"))


def test_what_is_seen_after_a_load_was_done_by_it(tmp_path: Path) -> None:
    """The inner module wakes; the outer one is how one came there, with its line."""
    write(tmp_path, {"outer.py": "\n\nimport inner\n", "inner.py": WAKE})
    found = waker(tmp_path, "outer")
    assert found["module"] == "inner"
    assert [(site["module"], site["line"]) for site in found["import_chain"]] == [
        ("outer", 3),
        ("inner", None),
    ]


def test_an_import_inside_a_function_belongs_to_the_module_it_loads(tmp_path: Path) -> None:
    """Whoever calls the function, and wherever it stands."""
    write(
        tmp_path,
        {
            "outer.py": "from helper import load\n\nload()\n",
            "helper.py": "def load():\n    import lazy\n",
            "lazy.py": WAKE,
        },
    )
    found = waker(tmp_path, "outer")
    assert found["module"] == "lazy"
    assert [(site["module"], site["line"]) for site in found["import_chain"]] == [
        ("outer", 3),
        ("lazy", None),
    ]


def test_namespace_packages(tmp_path: Path) -> None:
    """A package without `__init__` has no body to blame."""
    write(tmp_path, {"spread/inner/leaf.py": WAKE})
    said = imported(tmp_path, "spread.inner.leaf")
    assert said["events"][0]["waker"]["module"] == "spread.inner.leaf"
    assert said["imports"][:2] == ["spread", "spread.inner"]


def test_an_extension_module(tmp_path: Path) -> None:
    """A module written in C has no line, but a name and a file."""
    import importlib.util

    spec = importlib.util.find_spec("_ctypes_test") or importlib.util.find_spec("_testcapi")
    if spec is None or not spec.origin or not spec.origin.endswith(".so"):
        pytest.skip("this Python brings no extension module to load")
    write(tmp_path, {"outer.py": f"import {spec.name}\n"})
    said = imported(tmp_path, "outer", f"woken-by={spec.name}")
    found = said["events"][0]["waker"]
    assert (found["module"], found["path"], found["line"]) == (spec.name, spec.origin, None)
    assert [(site["module"], site["line"]) for site in found["import_chain"]] == [
        ("outer", 1),
        (spec.name, None),
    ]


def test_a_module_that_takes_itself_out_of_sys_modules(tmp_path: Path) -> None:
    """Python refuses it with the same words as without us, and the waker is known all the same."""
    write(tmp_path, {"vanishing.py": WAKE + "import sys\ndel sys.modules[__name__]\n"})
    said = imported(tmp_path, "vanishing")
    assert said["failure"] == "KeyError: 'vanishing'"
    assert said["events"][0]["waker"]["module"] == "vanishing"


def test_what_fails_in_between_leaves_the_chain_right(tmp_path: Path) -> None:
    """Imports that failed do not stay in progress."""
    write(
        tmp_path,
        {
            "outer.py": "try:\n    import broken\nexcept ValueError:\n    pass\nimport guilty\n",
            "broken.py": "import deeper\n",
            "deeper.py": "raise ValueError('no')\n",
            "guilty.py": WAKE,
        },
    )
    found = waker(tmp_path, "outer")
    assert [site["module"] for site in found["import_chain"]] == ["outer", "guilty"]


TRACEBACK = {
    "program.py": "import outer\n",
    "outer.py": "import inner\n",
    "inner.py": "import importlib\nimportlib.import_module('deepest')\n",
    "deepest.py": "import warnings\nwarnings.warn('look here', stacklevel=2)\n1 / 0\n",
}


@pytest.mark.parametrize("stage2", [[], ["inner", "deepest"]])
def test_tracebacks_and_warnings_are_as_without_us(tmp_path: Path, stage2: list[str]) -> None:
    """Not a frame of ours in a traceback, and `stacklevel` counts as before."""
    write(tmp_path, TRACEBACK)
    plain = run(["-W", "always", "program.py"], variables(tmp_path), tmp_path)
    watched, _ = recorded(tmp_path, ["-W", "always", "program.py"], stage2=stage2)
    assert "ZeroDivisionError" in plain.stderr
    assert "look here" in plain.stderr
    assert (watched.returncode, watched.stdout, watched.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )


def test_stopping_puts_importlib_back() -> None:
    """After `stop` nothing of ours is left in importlib."""
    script = """
import importlib._bootstrap as one, importlib._bootstrap_external as two
before = one._load_unlocked, two._LoaderBasics.exec_module
import planted_device
from coldfork.observe.watch import watch
sensor = planted_device.Sensor()
events = []
watching = watch(events.append, sensor=sensor, states=tuple, remember=tuple, stage2=['x'])
assert (one._load_unlocked, two._LoaderBasics.exec_module) != before
watching.stop()
assert (one._load_unlocked, two._LoaderBasics.exec_module) == before
count = len(events)
planted_device.wake()
import colorsys, os, subprocess, threading, warnings
threading.Thread(target=int).start()
# Python counts the threads of the system, where one that has ended may still be.
warnings.simplefilter("ignore", DeprecationWarning)
if not os.fork():
    os._exit(0)
os.wait()
assert len(events) == count, events[count:]
"""
    from tests.observe.processes import SOURCES

    here = Path(__file__).parent
    process = run(["-c", script], {**variables(), "PYTHONPATH": f"{SOURCES}:{here}"}, here)
    assert (process.returncode, process.stderr) == (0, "")


STEPPED = """
import io, pdb, sys
from coldfork.observe.watch import watch

# Others' finders are Python, too.
sys.meta_path[:] = [one for one in sys.meta_path if one.__module__.startswith("_frozen_importlib")]
watching = watch(list().append)
seen = []


def trace(frame, event, argument):
    seen.append(str(frame.f_globals.get("__name__")))
    return trace


def stepping():
    import first
    import second
    return 1


sys.settrace(trace)
stepping()
assert sys.gettrace() is trace
sys.settrace(None)
assert {"first", "second", "importlib._bootstrap"} <= set(seen), seen
assert not [name for name in seen if name.startswith("coldfork")], seen
# A debugger that passes over importlib comes out where it went in.
del sys.modules["first"], sys.modules["second"]
typed, said = io.StringIO("s\\n" * 3 + "c\\n"), io.StringIO()
debugger = pdb.Pdb(stdin=typed, stdout=said, skip=["importlib*", "first", "second"], nosigint=True)
debugger.use_rawinput = False
debugger.runcall(stepping)
stops = [line for line in said.getvalue().splitlines() if "program.py(" in line]
assert [stop.rpartition("(")[0].rpartition(")")[2] for stop in stops[:3]] == ["stepping"] * 3, stops
watching.stop()
"""


@pytest.mark.must_hold
def test_a_debugger_steps_over_an_import_as_without_us(tmp_path: Path) -> None:
    """Nothing of ours is met by who traces the thread, and its tracing goes on."""
    from tests.observe.processes import SOURCES

    write(tmp_path, {"first.py": "x = 1\n", "second.py": "x = 2\n", "program.py": STEPPED})
    process = run(["program.py"], {**variables(SOURCES)}, tmp_path)
    assert (process.returncode, process.stderr) == (0, "")


#: Every module that `import coldfork.observe.watch` may load, beyond what each interpreter has loaded anyway.
MAY_LOAD = {
    "__future__",
    "coldfork",
    "coldfork.observe",
    "coldfork.observe.attribution",
    "coldfork.observe.forking",
    "coldfork.observe.forking.child_watch",
    "coldfork.observe.forking.handlers",
    "coldfork.observe.forking.holding",
    "coldfork.observe.forking.holdings",
    "coldfork.observe.forking.idle_threads",
    "coldfork.observe.forking.purposes",
    "coldfork.observe.forking.threads",
    "coldfork.observe.forking.touches",
    "coldfork.observe.probes.openmp_pools",
    "coldfork.observe.probes.reading",
    "coldfork.observe.waking_calls",
    "coldfork.observe.recording",
    "coldfork.observe.recording.events",
    "coldfork.observe.forks",
    "coldfork.observe.stacks",
    "coldfork.observe.stacks.frames",
    "coldfork.observe.imports",
    "coldfork.observe.installation",
    "coldfork.observe.late_imports",
    "itertools",
    "coldfork.observe.recording.redaction",
    "coldfork.observe.probes",
    "coldfork.observe.probes.maps",
    "coldfork.observe.processes",
    "coldfork.observe.processes.beginning",
    "coldfork.observe.processes.identity",
    "coldfork.observe.processes.table",
    "coldfork.observe.processes.programs",
    "coldfork.observe.processes.starts",
    "coldfork.observe.processes.waits",
    "coldfork.observe.watch",
    "coldfork.observe.secrets",
    "coldfork.observe.secrets.looks",
    "coldfork.observe.secrets.names",
    "coldfork.observe.secrets.texts",
    "coldfork.observe.secrets.words",
    "coldfork.observe.stacks.windows",
    "resource",
}


@pytest.mark.must_hold
def test_what_importing_the_watch_loads() -> None:
    """The list is frozen: a module that joins it is paid for by every program that is watched."""
    from tests.observe.processes import SOURCES

    script = """
import os, sys
before = set(sys.modules)
import coldfork.observe.watch
print(*sorted(set(sys.modules) - before))
"""
    process = run(["-I", "-S", "-c", f"import sys\nsys.path.append({str(SOURCES)!r}){script}"], {}, SOURCES)
    assert process.returncode == 0, process.stderr
    loaded = set(process.stdout.split())
    assert "coldfork.observe.watch" in loaded
    assert loaded <= MAY_LOAD, sorted(loaded - MAY_LOAD)
