"""Modules that fight back: whatever they do to the interpreter, what they woke is told, and nothing hangs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.probe.probe import ProbeRequest, modules_of, probe
from coldfork.model.probes import ProbeStatus

WAKE = "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"
Make = Callable[..., Any]

TRICKS = {
    "traces": "import sys; sys.settrace(lambda *a: None); sys.setprofile(lambda *a: None)",
    "monitors": """
import sys
if hasattr(sys, "monitoring"):
    for tool in range(6):
        if sys.monitoring.get_tool(tool) is None:
            sys.monitoring.use_tool_id(tool, "greedy")
""",
    "replaces os.write": "import os; os.write = lambda *a: 1/0",
    "replaces open": "import builtins; builtins.open = None; builtins.print = None",
    "replaces the import wrapper": "import importlib._bootstrap as b; b._load_unlocked = lambda spec: 1/0",
    "replaces os.getpid": "import os; os.getpid = lambda: 1",
    "replaces time": "import time; time.monotonic = lambda: 0.0; time.sleep = None",
    "replaces sys.modules": "import sys; sys.modules = dict(sys.modules)",
    "removes coldfork": """
import sys
for name in [name for name in sys.modules if name.startswith("coldfork")]:
    del sys.modules[name]
""",
    "blocks signals": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
    "limits memory": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))",
    "limits file size": """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
""",
    "leaves the session": "import os\ntry: os.setsid()\nexcept OSError: pass",
    "warns with errors": "import warnings; warnings.simplefilter('error')",
    "exits a thread": "import threading, sys; t = threading.Thread(target=sys.exit); t.start(); t.join()",
    "raises in a thread": "import threading; t = threading.Thread(target=lambda: 1/0); t.start(); t.join()",
    "forks and waits": "import os\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)",
    "forks and both go on": "import os; pid = os.fork()\nif pid: os.waitpid(pid, 0)",
    "a hook that breaks": """
import sys
class Finder:
    def find_spec(self, *_): raise RuntimeError("broken finder")
sys.meta_path.append(Finder())
""",
    "hooks that break": "import sys; sys.excepthook = sys.unraisablehook = lambda *_: 1/0",
    "swallows everything": "try:\n  raise BaseException\nexcept BaseException:\n  pass",
    "megabytes on both streams": "import sys\nfor s in (sys.stdout, sys.stderr): s.write('x' * 3_000_000)",
    "odd bytes": "import os; os.write(1, bytes(range(256)) * 100)",
    "collects": "import gc; gc.set_threshold(1)",
}


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("woken", [False, True], ids=["cold", "woken"])
def test_tricks_change_nothing(write: Make, probed: Make, trick: str, *, woken: bool) -> None:
    write(engine=f"{TRICKS[trick]}\n{WAKE if woken else ''}\n")
    found = probed("engine")
    assert found.status is (ProbeStatus.WOKEN if woken else ProbeStatus.COLD), found
    if woken:
        assert found.waker.module in ("engine", None), found


def test_a_module_that_closes_every_file_is_not_called_cold(write: Make, probed: Make) -> None:
    write(engine=f"import os; os.closerange(3, 65536)\n{WAKE}\n")
    assert probed("engine").status in (ProbeStatus.WOKEN, ProbeStatus.FAILED)


@pytest.mark.once
@pytest.mark.parametrize(
    "text", ["import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)", "while True: pass"]
)
def test_what_woke_before_the_end_is_told_in_a_forked_child_too(write: Make, probed: Make, text: str) -> None:
    write(engine=f"{WAKE}\n{text}\n")
    found = probed("engine", forked=True, timeout=5.0)
    assert (found.status, found.waker.module, found.waker.line) == (ProbeStatus.WOKEN, "engine", 1), found


def test_listing_survives_what_sites_print(write: Make, surroundings: Make) -> None:
    write(sitecustomize="print('hello', end='')\nprint('x' * 100_000)", engine____init__="", engine__a="")
    assert modules_of("engine", surroundings()) == ("engine", "engine.a")
    result = probe(ProbeRequest(("engine",), surroundings()))
    assert result.modules[0].status is ProbeStatus.COLD


def test_modules_without_source(write: Make, surroundings: Make, tmp_path: Path) -> None:
    import py_compile

    write(engine____init__="", engine__bare=WAKE)
    source = tmp_path / "engine" / "bare.py"
    py_compile.compile(str(source), cfile=str(source.with_suffix(".pyc")))
    source.unlink()
    (found,) = probe(ProbeRequest(("engine.bare",), surroundings())).modules
    assert found.waker is not None
    assert (found.status, found.waker.module, found.waker.line) == (ProbeStatus.WOKEN, "engine.bare", 1)
