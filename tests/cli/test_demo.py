"""`coldfork demo`: whole outputs, by real commands in real folders."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from coldfork.cli.commands.demo import DEMOS
from coldfork.cli.demos import engine, forks
from coldfork.cli.demos.steps import Command, Demo, Machine
from coldfork.cli.demos.walk import Walk, machine
from tests.pages import settled, shortened

pytestmark = pytest.mark.once

needs_driver = pytest.mark.skipif(not machine().driver, reason="no C compiler to build the virtual driver")
NO_TORCH = "import sys; sys.modules['torch'] = None; from coldfork.cli.main import main; main()"


def environment(folder: Path, cache: Path) -> dict[str, str]:
    """Where the demonstration is written is known, so that what is left can be seen."""
    return os.environ | {"TMPDIR": str(folder), "COLDFORK_CACHE_DIR": str(cache), "PYTHONUTF8": "1"}


def run(
    folder: Path, cache: Path, *arguments: str, start: tuple[str, ...] = ("-m", "coldfork")
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *start, "demo", *arguments],
        env=environment(folder, cache),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def walked(demo: Demo, folder: Path, here: Machine, capsys: pytest.CaptureFixture[str]) -> tuple[Walk, str]:
    walk = Walk(demo, folder, here, colour=False)
    walk.write()
    walk.go()
    return walk, settled(shortened(capsys.readouterr().out, folder))


@needs_driver
def test_the_engine_is_shown_broken_and_mended(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(cache))
    here = Machine(torch=False, driver=True)
    walk, printed = walked(engine.demo(here), tmp_path, here, capsys)
    assert printed == snapshot('''\

1. Nothing runs yet: check reads the source. It names the line that wakes the
GPU in every process that imports the engine, and the fork that breaks because
of it.
$ coldfork check .
error[driver-init-at-import] importing engine.attention wakes cuda: it
      initialises the driver
  --> engine/attention.py:5  in the body of class FlashAttention
      version = 3 if compute_capability() >= (9, 0) else 2
   1. compute_capability            hardware.py:7
   2. ctypes.CDLL.cuInit            initialises the CUDA driver
   = every process that imports this module can no longer fork workers that use
     the GPU, although torch.cuda.is_initialized() stays False
   = certain on cuda
   = wakes 4 modules, among them engine and serve; shortest way in from engine:
     engine/__init__.py:1 -> engine/launcher.py:4 -> engine/attention.py:5
   = help: Move it into the function that needs it, behind functools.cache if it
     is asked often, so that nothing happens before the right process asks; read
     more: coldfork rule driver-init-at-import

error[fork-after-device-init] serve forks after it has woken cuda, and serve
      uses the GPU in the child
  --> engine/launcher.py:14  by get_context("fork")
      worker.start()
   1. Process.start                 forks this process
   = the program comes here from:
   1. __main__                      serve.py:4
   2. launch                        engine/launcher.py:14
   = woken before, at:
   1. __main__                      serve.py:1
   2. engine                        engine/__init__.py:1
   3. engine.launcher               engine/launcher.py:4
   4. engine.attention              engine/attention.py:5
   5. compute_capability            hardware.py:7
   6. ctypes.CDLL.cuInit            initialises the CUDA driver
   = used in the child, at:
   1. launch                        engine/launcher.py:14
   2. serve                         engine/launcher.py:9
   3. compute_capability            hardware.py:7
   4. ctypes.CDLL.cuInit            initialises the CUDA driver
   = the child fails, because its function touches cuda (hardware.py:7)
   = certain on cuda
   = help: start the processes with multiprocessing.get_context("spawn"), or
     before anything wakes the device; read more:
     coldfork rule fork-after-device-init

2 causes: 2 certain, 2 failing the check; 5 modules in TIME
next: coldfork check . --fix  (mends what it can)

2. probe verifies this: it imports the engine in a fresh Python with a virtual
H100, and sees the same line wake it.
$ coldfork probe --virtual h100 engine
woken: importing engine wakes cuda
  --> engine/attention.py:5  in the body of FlashAttention
      version = 3 if compute_capability() >= (9, 0) else 2
   1. compute_capability            hardware.py:7
   2. cuInit  initialises the CUDA driver
  imported through
      engine                        engine/__init__.py:1
      engine.launcher               engine/launcher.py:4
      engine.attention              engine/attention.py:5
   = every process that imports this module can no longer fork workers that use
     the GPU
   = seen on virtual:h100 in a fresh interpreter that N modules in TIME
   = help: compute it on first use, not while the module is imported; read more:
           coldfork rule driver-init-at-import

1 woken of 1 module on virtual:h100 in TIME

3. Now the crash: the server forks its worker, and the traceback of the worker
names neither the import nor the line; the report below it does.
$ coldfork run --virtual h100 --exact engine.attention serve.py
Process ForkProcess-1:
Traceback (most recent call last):
  ...
RuntimeError: cuInit failed with CUDA error 3
coldfork: woken: cuda was woken (driver) while engine.attention was imported
  --> engine/attention.py:5  in FlashAttention
   1. runs the program
   2. imports engine            serve.py:1
   3. imports engine.launcher   engine/__init__.py:1
   4. imports engine.attention  engine/launcher.py:4
   5. FlashAttention            engine/attention.py:5
   6. compute_capability        hardware.py:7
   7. calls driver.cuInit
   = cuda was woken (driver) at TIME in process PID, thread MainThread
   = 1 process was forked with cuda: it fails if its function touches cuda, which was not seen
recorded in RUN.coldfork
next: coldfork report RUN.coldfork

4. --diff shows a fix. It is called unsafe because the value is then computed
on first use instead of during the import.
$ coldfork check . --fix=unsafe --diff
--- a/engine/attention.py
+++ b/engine/attention.py
@@ -1,8 +1,24 @@
 from hardware import compute_capability


+def _computed_once(compute):
+    """A class attribute that is computed when it is first read, and kept from then on."""
+
+    class Attribute:
+        def __set_name__(self, owner, name):
+            self.place = owner, name
+
+        def __get__(self, instance, owner=None):
+            value = compute()
+            setattr(*self.place, value)
+            bind = getattr(type(value), "__get__", None)
+            return value if bind is None else bind(value, instance, owner)
+
+    return Attribute()
+
+
 class FlashAttention:
-    version = 3 if compute_capability() >= (9, 0) else 2
+    version = _computed_once(lambda: 3 if compute_capability() >= (9, 0) else 2)

     def kernel(self):
         return f"flash_fwd_v{self.version}"

5. Now write the fix; check then reads the files again.
$ coldfork check . --fix=unsafe
coldfork: mended 1 cause in 1 file
no finding on cuda: looked at 5 modules in TIME

6. The proof, first part: importing the engine leaves the device cold.
$ coldfork probe --virtual h100 engine
cold: importing engine leaves every device cold (N modules in TIME)
1 cold of 1 module on virtual:h100 in TIME

7. The proof, second part: the same server forks the same worker, and the
worker works.
$ coldfork run --virtual h100 --quiet serve.py
the worker runs flash_fwd_v3 on (9, 0)
''')
    assert walk.outcome(1.0) == snapshot("""\
7 of 7 steps came out as expected, in 1.0 s.
Now on code of your own: coldfork check PATH\
""")


@pytest.mark.parametrize("name", [name for name in DEMOS if name != "engine"])
def test_each_demonstration_comes_out_as_told(name: str, tmp_path: Path, cache: Path) -> None:
    if name in ("dataloader", "graph"):
        pytest.importorskip("torch")
    done = run(tmp_path, cache, name)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert re.search(r"^(\d) of \1 steps came out as expected", done.stdout, re.MULTILINE)
    assert "\x1b" not in done.stdout
    assert not list(tmp_path.iterdir())


def test_keep_leaves_the_folder_and_says_where(tmp_path: Path, cache: Path) -> None:
    done = run(tmp_path, cache, "log", "--keep")
    (left,) = tmp_path.iterdir()
    assert done.stdout.endswith(f"\nThe files are in {left.resolve()}\n")
    assert (left / "crash.log").is_file()


def test_the_crash_is_in_the_words_of_torch_where_it_is_installed(tmp_path: Path, cache: Path) -> None:
    pytest.importorskip("torch")
    done = run(tmp_path, cache)
    assert done.returncode == 0, done.stdout
    assert "RuntimeError: Cannot re-initialize CUDA in forked subprocess." in done.stdout


def test_the_list_names_them_all(tmp_path: Path, cache: Path) -> None:
    assert run(tmp_path, cache, "--list").stdout == snapshot("""\
engine      an engine whose import wakes the GPU: its worker crashes
forks       a server that asks the GPU and forks afterwards
dataloader  a DataLoader whose workers use the GPU (needs torch)
graph       a CUDA graph that leaves out what the warm-up did (needs torch)
log         a log of a crash, explained
""")


def test_what_needs_torch_says_so_without_it(tmp_path: Path, cache: Path) -> None:
    done = run(tmp_path, cache, "graph", start=("-c", NO_TORCH))
    assert (done.returncode, done.stdout, done.stderr) == snapshot(
        (
            2,
            "",
            "coldfork: the demonstration graph needs torch, which is not installed here; try coldfork demo\n",
        )
    )


def test_steps_that_need_a_device_are_left_out_where_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Machine(torch=False, driver=False)
    walk, printed = walked(forks.demo(here), tmp_path, here, capsys)
    assert re.findall(r"^\$ .*$", printed, re.MULTILINE) == ["$ coldfork check ."] * 2
    assert walk.outcome(1.0) == snapshot("""\
3 of 3 steps came out as expected, in 1.0 s.
2 were left out: running a program on a virtual device needs torch, or Linux and a C compiler.
Now on code of your own: coldfork check PATH\
""")


def test_a_step_that_comes_out_otherwise_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = Command("Nothing is wrong here.", "coldfork check .", 0, "no finding on cuda")
    broken = {"engine.py": "import ctypes\n\nctypes.CDLL('libcuda.so.1').cuInit(0)\n"}
    walk, _ = walked(Demo("a lie", broken, ((told,),)), tmp_path, Machine(torch=False, driver=False), capsys)
    assert walk.outcome(1.0) == snapshot("""\
not as expected: step 1, coldfork check .: it ended with 1, not 0; it did not print 'no finding on cuda'
0 of 1 steps came out as expected, in 1.0 s.\
""")


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_walk_leaves_nothing_behind(
    number: signal.Signals, tmp_path: Path, cache: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "coldfork", "demo", "forks"],
        env=environment(tmp_path, cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as walk:
        assert walk.stdout is not None
        assert walk.stderr is not None
        while not walk.stdout.readline().startswith("$ "):
            assert walk.poll() is None
        walk.send_signal(number)
        # The pipes are closed when the commands have ended, too.
        walk.stdout.read()
        said = walk.stderr.read()
    assert walk.returncode == 130
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())
