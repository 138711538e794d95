"""Threads that libraries started are traced to those libraries, whatever they do and are called."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.observe.probing import ask

pytestmark = [pytest.mark.once, pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")]

WORKERS = r"""
#include <pthread.h>
#include <unistd.h>
static volatile int stop;
static void *wait_for_ever(void *nothing) { for (;;) pause(); return 0; }
static void *compute(void *nothing) { while (!stop) ; return 0; }
static pthread_t threads[8];
static int started;
int start_waiting(void) { return pthread_create(&threads[started++], 0, wait_for_ever, 0); }
int start_computing(void) { return pthread_create(&threads[started++], 0, compute, 0); }
int name(int which, const char *name) { return pthread_setname_np(threads[which], name); }
int end(int which) { stop = 1; return pthread_join(threads[which], 0); }
"""

# The thread begins in libstdc++, which is given an object of this library.
STANDARD_THREAD = r"""
#include <thread>
#include <unistd.h>
extern "C" void start() { std::thread([] { for (;;) pause(); }).detach(); }
"""

READ = """
import ctypes
def natives():
    return sorted([thread.name, thread.owner] for thread in states.native_threads())
"""


def built(folder: Path, name: str, text: str, compiler: str = "cc") -> Path:
    source = folder / f"source.{'cpp' if compiler == 'c++' else 'c'}"
    source.write_text(text, encoding="utf-8")
    library = folder / name
    command = [compiler, "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-pthread", "-g0"]
    subprocess.run([*command, "-o", str(library), str(source)], check=True, timeout=60)
    return library


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that starts threads."""
    return built(tmp_path_factory.mktemp("workers"), "libworkers.so", WORKERS)


def told(workers: Path, program: str) -> dict[str, Any]:
    """Return the report of a program that has loaded the library as `workers`."""
    return ask(
        READ + "workers = ctypes.CDLL(os.environ['WORKERS'])\n" + program,
        environment={"WORKERS": str(workers)},
    )


def test_a_waiting_and_a_computing_thread_belong_to_the_library_that_started_them(workers: Path) -> None:
    said = told(
        workers,
        """
tell(before=natives())
workers.start_waiting()
workers.start_computing()
workers.name(1, b"busy")
tell(after=natives(), tids=[thread.tid in map(int, os.listdir("/proc/self/task"))
                            for thread in states.native_threads()])
""",
    )
    assert said["before"] == []
    assert sorted(owner for _, owner in said["after"]) == ["libworkers.so", "libworkers.so"]
    assert "busy" in [name for name, _ in said["after"]]
    assert said["tids"] == [True, True]


def test_python_threads_are_not_counted(workers: Path) -> None:
    said = told(
        workers,
        """
import threading
from coldfork.observe.probes.threads import ThreadReader
reader = states._HERE.threads()
before = reader.count()
event = threading.Event()
threads = [threading.Thread(target=event.wait) for _ in range(3)]
for thread in threads:
    thread.start()
tell(natives=natives(), same=reader.count() == before)
event.set()
for thread in threads:
    thread.join()
# Python has forgotten them, and the C library is still ending them.
ends = time.monotonic() + 10
while reader.count() != before and time.monotonic() < ends:
    time.sleep(0.001)
workers.start_waiting()
tell(more=reader.count() - before)
""",
    )
    assert said == {"natives": [], "same": True, "more": 1}


def test_the_count_falls_when_a_native_thread_ends(workers: Path) -> None:
    said = told(
        workers,
        """
reader = states._HERE.threads()
before = reader.count()
workers.start_computing()
during = reader.count() - before
workers.end(0)
tell(during=during, after=reader.count() - before, natives=natives())
""",
    )
    assert said == {"during": 1, "after": 0, "natives": []}


def test_without_what_glibc_tells_debuggers_the_answers_are_the_same(workers: Path) -> None:
    said = told(
        workers,
        """
reader = states._HERE.threads()
tell(described=[reader._total is not None, reader._start is not None])
reader._total = reader._start = None
before = reader.count()
workers.start_waiting()
workers.start_computing()
tell(more=reader.count() - before, owners=[owner for _, owner in natives()])
""",
    )
    assert said["more"] == 2
    assert said["owners"] == ["libworkers.so", "libworkers.so"]


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_a_thread_of_cpp_belongs_to_the_library_whose_object_it_runs(tmp_path: Path) -> None:
    library = built(tmp_path, "libcpp.so", STANDARD_THREAD, "c++")
    said = told(library, "workers.start(); time.sleep(0.2); tell(natives=[owner for _, owner in natives()])")
    assert said == {"natives": ["libcpp.so"]}


def test_a_thread_that_cannot_be_traced_is_told_as_such(workers: Path) -> None:
    """Where the kernel does not give the list away, the thread is there and its library is not known."""
    said = told(
        workers,
        """
states._HERE.threads()._number = None
workers.start_waiting()
time.sleep(0.1)
tell(natives=[owner for _, owner in natives()])
""",
    )
    assert said == {"natives": [""]}


def test_threads_that_come_and_go_while_they_are_read_do_no_harm(workers: Path) -> None:
    said = told(
        workers,
        """
import threading
stop = False
def churn():
    while not stop:
        threading.Thread(target=int).start()
churning = threading.Thread(target=churn)
churning.start()
workers.start_waiting()
owners = set()
for _ in range(200):
    owners.update(owner for _, owner in natives())
stop = True
churning.join()
tell(owners=sorted(owners - {""}))
""",
    )
    assert said == {"owners": ["libworkers.so"]}
