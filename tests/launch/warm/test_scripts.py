"""A script that a server starts is what Python would have made of it: Python itself is asked."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.script.call import ScriptResult
from coldfork.launch.script.result import Outcome
from tests.launch.scripting import SECONDS, alive, until
from tests.launch.warm.conftest import WarmBench
from tests.limits import overrun

PROGRAMS = {
    "words": "import sys; print(sys.argv, sys.orig_argv[1:], sys.executable, sys.flags)",
    "module": """
        hidden = ('__builtins__', '__loader__', 'hidden')
        print({name: value for name, value in globals().items() if name not in hidden}, __loader__.path)
        """,
    "path": "import sys; print(sys.path)",
    "prefixes": "import sys; print(sys.prefix, sys.base_prefix, sys.exec_prefix, sys.version)",
    "output": """
        import sys
        sys.stderr.write('bad '); print('good', end=''); sys.stdout.buffer.write(b'\\xff')
        """,
    "input": "print([input(), *__import__('sys').stdin])",
    "streams": """
        import sys
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            print(stream.name, stream.mode, stream.encoding, stream.errors, stream.line_buffering,
                stream.write_through, stream.newlines, stream.isatty(), stream.fileno(), type(stream.buffer),
                stream.buffer.raw.closefd, stream is getattr(sys, '__' + stream.name[1:-1] + '__'))
        """,
    "error": "def f():\n    raise ValueError('of the script')\nf()",
    "chain": "try:\n    {}['x']\nexcept KeyError as e:\n    raise RuntimeError('y') from e",
    "syntax": "this is no Python",
    "status": "raise SystemExit(7)",
    "text": "raise SystemExit('a text')",
    "interrupted": "raise KeyboardInterrupt",
    "signalled": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "ctrl-c": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "abrupt": "import os; print('lost'); os._exit(9)",
    "hook": "import sys; sys.excepthook = lambda *e: print('hook', e[0]); raise ValueError",
    "at exit": "import atexit; atexit.register(print, 'last'); print('first')",
    "failing at exit": "import atexit; atexit.register(lambda: 1 / 0)",
    "left open": """
        import sys
        left = open(__file__ + '.left', 'w')
        left.write('x' * 5000)
        sys.left = open(__file__ + '.more', 'w')
        sys.left.write('y' * 5000)
        import atexit, os
        name = __file__
        """,
    "deleted": """
        class Last:
            def __del__(self): print('deleted', flush=True)
        last = Last()
        """,
    "deleted in a circle": """
        class Last:
            def __del__(self): print('deleted', flush=True)
        last = Last()
        last.itself = last
        """,
    "of C": "import ctypes; ctypes.CDLL(None).printf(b'of C, not written out')",
    "status of another kind": "import sys; sys.exit(-1)",
    "status too large": "import sys; sys.exit(300)",
    "no status": "import sys; sys.exit(None)",
    "failing hook": "import sys; sys.excepthook = lambda *e: 1 / 0; raise ValueError('first')",
    "leaving hook": "import sys; sys.excepthook = lambda *e: sys.exit(3); raise ValueError('first')",
    "closed output": "import sys; print('x'); sys.stdout.close()",
    "group": "raise ExceptionGroup('several', [ValueError('a'), KeyError('b')])",
    "note": "e = ValueError('x'); e.add_note('of it'); raise e",
    "thread at the end": """
        import threading
        def late():
            threading.Event().wait()
            print('late')
        threading.Thread(target=late, daemon=True).start()
        threading.Thread(target=lambda: 1 / 0).start()
        """,
    "thread": """
        import threading
        printed = threading.Event()
        threading.Thread(target=lambda: (printed.wait(), print('thread'))).start()
        print('main')
        printed.set()
        """,
    "variables": """
        import os
        own = ('COLDFORK_', 'PYTHONPATH')
        print(sorted((k, v) for k, v in os.environ.items() if not k.startswith(own)))
        print(os.system('env | grep -v -e ^COLDFORK_ -e ^PYTHONPATH -e ^_= -e ^PWD= -e ^SHLVL= | sort'))
        """,
    "fork": """
        import os
        if os.fork() == 0:
            print('child', flush=True)
            os._exit(0)
        os.wait()
        print('parent')
        """,
    "spawn": """
        import multiprocessing
        def work(): print('work', multiprocessing.current_process().name, flush=True)
        if __name__ == '__main__':
            child = multiprocessing.Process(target=work)
            child.start(); child.join()
            print(child.exitcode, multiprocessing.get_start_method())
        """,
    "circumstances": """
        import locale, os, resource, signal
        print(os.getcwd(), oct(os.umask(0)), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))
        print([resource.getrlimit(n) for n in range(16)], os.getgroups(), os.getuid())
        print([(s, str(signal.getsignal(s))) for s in sorted(signal.valid_signals())])
        print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), locale.setlocale(locale.LC_ALL))
        """,
    "descriptors": """
        import os
        for name in sorted(os.listdir('/proc/self/fd')):
            try: print(name, os.readlink('/proc/self/fd/' + name).split(':')[0].rpartition('/')[2])
            except OSError: pass
        """,
    "command line": "print(open('/proc/self/cmdline').read().strip(chr(0)).split(chr(0))[1:])",
    "import": "import random, importlib.util; print(importlib.util.find_spec('json').origin)",
}
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def test_what_was_left_open_is_written_out(ready: WarmBench) -> None:
    ready.warm(PROGRAMS["left open"])
    sizes = [(ready.folder / f"script.py.{name}").stat().st_size for name in ("left", "more")]
    assert sizes == [5000, 5000]


def said(result: ScriptResult) -> tuple[object, ...]:
    """Return the output of a script, and how it ended."""
    return (
        result.outcome,
        result.status,
        result.signal,
        _ADDRESS.sub("0x", result.stdout),
        _ADDRESS.sub("0x", result.stderr),
        None if result.exception is None else result.exception["type"],
        result.enforced,
    )


@pytest.mark.must_hold
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_what_python_would_have_made_of_it(ready: WarmBench, name: str) -> None:
    how: dict[str, Any] = {"stdin": "one\ntwo\nthree", "env": {"OF_THE_SCRIPT": "yes"}}
    result = ready.warm(PROGRAMS[name], "a", "b c", **how)
    assert said(result) == said(ready.run(PROGRAMS[name], "a", "b c", **how))


@pytest.mark.parametrize(
    "words", [("-m", "package.tool", "x"), ("package", "x"), ("app.zip", "x"), ("-m", "missing")]
)
def test_modules_folders_and_archives_run_as_ever(ready: WarmBench, words: tuple[str, ...]) -> None:
    text = (
        "import sys; print(sys.argv, sys.path[0], __name__, __package__, __spec__ and __spec__.name); 1 / 0"
    )
    ready.write(text, "package/tool.py")
    ready.write(text, "package/__main__.py")
    ready.write("", "package/__init__.py")
    with zipfile.ZipFile(ready.folder / "app.zip", "w") as archive:
        archive.writestr("__main__.py", text)
    how = {"log_dir": ready.runs, "timeout": SECONDS, "cwd": ready.folder}
    from coldfork.launch.script.call import run_script

    script, *rest = words
    script = script if script == "-m" else str(ready.folder / script)
    warm = run_script(script, rest, warm=["json"], **how)  # type: ignore[arg-type]
    assert warm.cold_because is None
    assert said(warm) == said(run_script(script, rest, **how))  # type: ignore[arg-type]


def test_what_was_imported_is_there_already(ready: WarmBench) -> None:
    text = "import sys; print('json' in sys.modules)"
    assert ready.warm(text).stdout == "True\n"
    assert ready.run(text).stdout == "False\n"


def test_a_time_limit_and_a_cancellation_end_it_with_all_it_started(ready: WarmBench) -> None:
    text = """
        import os, time
        if os.fork() == 0:
            os.setsid()
        print(os.getpid(), flush=True)
        time.sleep(600)
        """
    _, result = overrun(
        lambda limit: ready.warm(text, timeout=limit, grace=0.2),
        lambda result: len(result.stdout.split()) == 2,
    )
    assert result.outcome is Outcome.TIMED_OUT
    pids = [int(word) for word in result.stdout.split()]
    assert len(pids) == 2
    assert not any(map(alive, pids))


def _killed_supervisor(ready: WarmBench, pids: Path) -> ScriptResult:
    def kill() -> None:
        until(lambda: pids.exists() and len(pids.read_text(encoding="ascii").split()) == 3, "the processes")
        parent = int(pids.read_text(encoding="ascii").split()[0])
        os.kill(parent, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = ready.warm(TREE, str(pids))
    killer.join()
    return result


TREE = """
import os, sys, time
def note(pid): print(pid, file=open(sys.argv[1], 'a'), flush=True)
note(os.getppid())
note(os.getpid())
if os.fork() == 0:
    os.setsid()
    note(os.getpid())
time.sleep(600)
"""


@pytest.mark.must_hold
def test_a_killed_supervisor_leaves_nothing(ready: WarmBench, tmp_path: Path) -> None:
    result = _killed_supervisor(ready, tmp_path / "pids")
    assert result.outcome is Outcome.LOST
    pids = [int(word) for word in (tmp_path / "pids").read_text(encoding="ascii").split()]
    until(lambda: not any(map(alive, pids)), "the end of the script's processes")


@pytest.mark.must_hold
def test_a_killed_caller_leaves_nothing(ready: WarmBench, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = ready.write(TREE, "tree.py")
    call = f"run_script({str(script)!r}, [{str(pids)!r}], warm=['json'], grace=0.1)"
    code = f"from coldfork import run_script; {call}"
    caller = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    )
    until(lambda: pids.exists() and len(pids.read_text(encoding="ascii").split()) == 3, "the processes")
    caller.kill()
    caller.wait()
    started = [int(word) for word in pids.read_text(encoding="ascii").split()]
    until(lambda: not any(map(alive, started)), "the end of the script's processes")


@pytest.mark.once
def test_a_hundred_starts_leave_nothing(ready: WarmBench) -> None:
    from coldfork.launch.server.warm import control

    def held() -> list[int]:
        servers = control.status()
        assert servers.keeper is not None
        pids = [servers.keeper, *(one.pid for one in servers.servers)]
        return [len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids]

    (server,) = (one for one in control.status().servers if one.modules == ("json",))
    below = Path(f"/proc/{server.pid}/task/{server.pid}/children")

    def await_end() -> None:
        until(lambda: below.read_text(encoding="ascii") == "", "the end of the last supervisor")

    # The server holds a descriptor until it has heard of that.
    await_end()
    before = held()
    numbers = {int(ready.warm("import os; print(os.getpid())").stdout) for _ in range(100)}
    assert len(numbers) > 1
    await_end()
    assert held() == before


def test_random_numbers_are_new_in_each(ready: WarmBench) -> None:
    text = "import random, uuid; print(random.random(), uuid.uuid4())"
    assert len({ready.warm(text).stdout for _ in range(3)}) == 3


def test_torch_has_the_threads_that_it_would_have_had(ready: WarmBench) -> None:
    pytest.importorskip("torch")
    ready.prepare(["torch"])
    text = (
        "import torch; print(torch.get_num_threads(), torch.get_num_interop_threads(), torch.ones(9).sum())"
    )
    for env in ({}, {"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "2"}):
        warm = ready.warm(text, modules=["torch"], env=env)
        assert said(warm) == said(ready.run(text, env=env))


@pytest.mark.once
def test_a_warm_script_is_held_to_its_caps(ready: WarmBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a control group, into which it is forked."""
    growing = "held = []\nwhile True:\n    held.append(b'x' * 262144)"
    for means in ("", "watch"):
        monkeypatch.setenv("COLDFORK_CAPS", means)
        over = ready.warm(growing, max_memory="200 MiB")
        assert (over.outcome, over.signal) == ("over-memory", "SIGKILL")
        over = ready.warm("while True: pass", max_cpu=1)
        assert over.outcome == "over-cpu"
        assert over.caps is not None
        assert 1 <= over.caps["cpu"]["reached"] < 1.5
