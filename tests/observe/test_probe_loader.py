"""The dynamic loader, asked: loads are noticed, nothing is loaded, nobody hears it, nobody hangs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.observe.probing import SOURCES, ask

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.platform != "linux", reason="asks Linux's dynamic loader"),
]

LIBRARIES = """
import ctypes
from coldfork.observe.probes.loader import Gate, Loader
loader = Loader()
raw = ctypes.CDLL(None)
raw.dlopen.restype, raw.dlclose.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
loadable = [path.encode() for path in os.environ["LOADABLE"].split(":")]
"""

#: The loader's count is read where it stands, or the loader is asked.
ASKING = LIBRARIES + "loader.counts = ()\n"
WAYS = pytest.mark.parametrize("prelude", [LIBRARIES, ASKING], ids=["counted", "asked"])


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which a program finds five libraries that nobody has loaded."""
    folder = tmp_path_factory.mktemp("libraries")
    source = folder / "library.c"
    source.write_text("int nothing(void) { return 0; }\n", encoding="utf-8")
    paths = [folder / f"library{number}.so" for number in range(5)]
    for path in paths:
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(path), str(source)], check=True, timeout=60)
    return {"LOADABLE": ":".join(map(str, paths))}


def test_the_fingerprint_changes_with_every_library_and_only_then(libraries: dict[str, str]) -> None:
    said = ask(
        LIBRARIES
        + """
def deep(depth):
    # Through C each time, after C has left something else there.
    compile("+".join(map(str, range(10 * depth + 1))), "sum", "eval")
    return loader.fingerprint() if not depth else max(map(deep, [depth - 1]))
# The padding of the structure that is hashed lies on the stack: what lay there before must not count.
quiet = {deep(depth) for depth in range(40) for _ in range(3)}
found = []
for library in loadable:
    handle = raw.dlopen(library, os.RTLD_NOW)
    found.append((bool(handle), deep(3), deep(17)))
tell(quiet=len(quiet), loaded=[one for one, _, _ in found])
tell(fingerprints=len({one for _, one, _ in found} | quiet), same=all(one == two for _, one, two in found))
raw.dlclose(handle)
tell(unloaded=deep(3) not in {one for _, one, _ in found})
""",
        environment=libraries,
    )
    assert said["loaded"] == [True] * 5
    assert said == said | {"quiet": 1, "fingerprints": 6, "same": True, "unloaded": True}


@WAYS
def test_the_gate_opens_once_for_every_library(libraries: dict[str, str], prelude: str) -> None:
    said = ask(
        prelude
        + """
gate = Gate(loader)
first = gate.changed()
gate.settled()
quiet = [gate.changed() for _ in range(3)]
raw.dlopen(loadable[0], os.RTLD_NOW)
after = [gate.changed(), gate.changed()]
gate.settled()
tell(first=first, quiet=quiet, after=after, settled=gate.changed())
""",
        environment=libraries,
    )
    assert said == {"first": True, "quiet": [False] * 3, "after": [True, True], "settled": False}


def test_asking_loads_nothing_and_imports_only_what_is_needed_to_ask() -> None:
    said = ask(
        """
poller = states.Poller()
poller.awake()
states.examine()
from coldfork.observe.probes.maps import executable_files, mapped
files, modules = executable_files(mapped()), set(sys.modules)
for _ in range(50):
    poller.awake()
    states.examine()
tell(files=len(executable_files(mapped()) - files), modules=sorted(set(sys.modules) - modules))
tell(ours=sorted(name for name in modules if name.partition(".")[0] in ("torch", "jax", "numpy")))
"""
    )
    assert said == {"files": 0, "modules": [], "ours": []}


def test_polling_raises_no_audit_event() -> None:
    said = ask(
        """
poller = states.Poller()
poller.awake()
heard = []
listening = True
sys.addaudithook(lambda event, arguments: heard.append(event) if listening else None)
for _ in range(50):
    poller.awake()
listening = False
tell(heard=heard)
"""
    )
    assert said == {"heard": []}


def test_imports_in_other_threads_do_not_lock_up_with_polls(libraries: dict[str, str]) -> None:
    """`dlopen` with the interpreter's lock held against a poll: a callback in Python waits here for ever."""
    said = ask(
        LIBRARIES
        + """
import threading
# As an import does it: the interpreter's lock is held while the library is loaded.
held = ctypes.PyDLL(None)
held.dlopen.restype, held.dlclose.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
stop = False
loads = [0]
def load():
    while not stop:
        for library in loadable:
            held.dlclose(held.dlopen(library, os.RTLD_NOW))
            loads[0] += 1
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=load) for _ in range(2)]
for thread in threads:
    thread.start()
signal.alarm(60)
poller = states.Poller()
polls = 0
ends = time.monotonic() + 3
while polls < 200 or loads[0] < 200 or time.monotonic() < ends:
    poller.awake()
    polls += 1
stop = True
for thread in threads:
    thread.join()
signal.alarm(0)
tell(polls=polls, failures=poller.failures)
""",
        environment=libraries,
    )
    assert said["polls"] >= 200
    assert said["failures"] == {}


def test_a_child_forked_while_another_thread_is_in_the_loader_can_poll(libraries: dict[str, str]) -> None:
    """glibc leaves the loader's locks taken in such a child, and who asks the loader there waits for ever."""
    said = ask(
        LIBRARIES
        + """
import threading
stop = False
def load():
    while not stop:
        for library in loadable:
            raw.dlclose(raw.dlopen(library, os.RTLD_NOW))
for _ in range(2):
    threading.Thread(target=load, daemon=True).start()
poller = states.Poller()
stuck = asked = 0
while asked < 60:
    poller.awake()
    states.remember_for_children()
    asked += 1
    stuck += in_child(lambda: [poller.awake(), states.readings()[0].status], seconds=10) != [[], "absent"]
stop = True
tell(stuck=stuck, asked=asked)
""",
        environment=libraries,
    )
    assert said == {"stuck": 0, "asked": 60}


@WAYS
def test_a_child_trusts_the_loader_again_once_it_has_loaded_something(
    libraries: dict[str, str], prelude: str
) -> None:
    said = ask(
        prelude
        + """
def child():
    gate = Gate(loader, forked=True)
    asked = []
    original = gate._fingerprint
    gate._fingerprint = lambda: asked.append(True) or original()
    before = [gate.changed(), len(asked)]
    raw.dlopen(loadable[0], os.RTLD_NOW)
    after = [gate.changed(), len(asked)]
    gate.settled()
    return [before, after, gate.changed()]
tell(child=in_child(child))
""",
        environment=libraries,
    )
    assert said == {"child": [[False, 0], [True, int(prelude == ASKING)], False]}


@pytest.mark.must_hold
def test_the_count_is_found_and_right(libraries: dict[str, str]) -> None:
    """Every library that is loaded opens the gate, in place of another one too, and nothing else does."""
    said = ask(
        LIBRARIES
        + """
gate = Gate(loader)
opened = []
def look():
    opened.append(gate.changed())
    gate.settled()
look()
for library in loadable * 3:
    handle = raw.dlopen(library, os.RTLD_NOW)
    look()
    compile("1 + 1", "sum", "eval")
    look()
    raw.dlclose(handle)
    gate.changed()
    gate.settled()
tell(words=len(loader.counts) > 0, opened=opened)
""",
        environment=libraries,
    )
    assert said == {"words": True, "opened": [True, *[True, False] * 15]}


def test_beside_other_threads_the_loader_is_asked() -> None:
    """Finding the count takes the loader's lock for a moment, for which another thread might wait."""
    said = ask(
        """
import threading
from coldfork.observe.probes.loader import Gate, Loader
end = threading.Event()
threading.Thread(target=end.wait).start()
loader = Loader()
gate = Gate(loader)
first = gate.changed()
gate.settled()
tell(counts=len(loader.counts), first=first, again=gate.changed())
end.set()
"""
    )
    assert said == {"counts": 0, "first": True, "again": False}


def test_where_python_offers_no_hash_every_poll_looks(libraries: dict[str, str]) -> None:
    said = ask(
        ASKING
        + """
loader._digest = None
gate = Gate(loader)
first = gate.changed()
gate.settled()
tell(fingerprint=loader.fingerprint(), first=first, again=gate.changed())
""",
        environment=libraries,
    )
    assert said == {"fingerprint": None, "first": True, "again": True}


def test_examining_opens_nothing_outside_of_proc() -> None:
    said = ask(
        """
states.readings()
opened, listening = [], True
def hear(event, arguments):
    if listening:
        opened.append([event, str(arguments[0])])
sys.addaudithook(hear)
states.readings()
listening = False
tell(events=sorted({event for event, _ in opened}))
tell(paths=sorted({path for event, path in opened if not path.startswith("/proc/self")}))
"""
    )
    assert set(said["events"]) <= {"open", "os.listdir"}
    assert said["paths"] == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_the_kernel_sees_no_library_opened(tmp_path: Path) -> None:
    """Below Python's audit events: every file that is opened between two marks, as the kernel tells it."""
    log = tmp_path / "log"
    program = (
        "import os\nfrom coldfork.observe import states\n"
        "poller = states.Poller(); poller.awake(); states.readings()\n"
        "os.path.exists('/mark-begins')\n"
        "for _ in range(20): poller.awake(); states.readings()\nos.path.exists('/mark-ends')\n"
    )
    traced = ["strace", "-f", "-e", "trace=open,openat,stat,newfstatat", "-o", str(log), sys.executable, "-c"]
    process = subprocess.run(
        [*traced, program],
        env={"PYTHONPATH": str(SOURCES), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "PTRACE" in process.stderr or "Operation not permitted" in process.stderr:
        pytest.skip(f"strace may not trace here: {process.stderr.strip()}")
    assert process.returncode == 0, process.stderr
    between = log.read_text(encoding="utf-8").partition("/mark-begins")[2].partition("/mark-ends")[0]
    paths = set(re.findall(r'open(?:at)?\([^"\n]*"([^"]+)"', between))
    assert paths
    assert {path for path in paths if not path.startswith("/proc/self/")} == set()
