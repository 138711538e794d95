"""Whose pool of libgomp it is, asked in processes whose threads really run parallel regions."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.observe.probing import ask

pytestmark = [pytest.mark.once, pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")]

REGION = r"""
#include <omp.h>
#include <pthread.h>
#include <unistd.h>
int in_parallel(int threads) {
    int sum = 0;
    #pragma omp parallel for num_threads(threads) reduction(+:sum)
    for (int i = 0; i < 1000; i++) sum += i;
    return sum;
}
static volatile int done;
static void *foreign(void *threads) { in_parallel(3); done = 1; for (;;) pause(); }
int in_a_thread_of_its_own(void) {
    pthread_t thread;
    pthread_create(&thread, 0, foreign, 0);
    while (!done) usleep(1000);
    return 0;
}
int give_back(void) { return omp_pause_resource_all(omp_pause_hard); }
"""

PRELUDE = """
import ctypes, threading
from coldfork.start.evidence.table import against_fork
from coldfork.start.process import HERE
from coldfork.start.surroundings import Surroundings
library = ctypes.CDLL(os.environ["REGION"])
def whose():
    here = Surroundings()
    return sorted(str(here.mine(one)) for one in here.threads if one.owner.startswith("libgomp"))
def codes():
    return [one.code for one in against_fork() if one.code.startswith("openmp")]
def elsewhere(work):
    # In a thread that lives until the answer is there.
    answers, ready, over = [], threading.Event(), threading.Event()
    def run():
        answers.append(work())
        ready.set()
        over.wait()
    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    return answers[0], over, thread
def fork_works():
    child = os.fork()
    if not child:
        signal.alarm(4)
        library.in_parallel(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which a program finds a library with a parallel region."""
    folder = tmp_path_factory.mktemp("pools")
    source, library = folder / "region.c", folder / "region.so"
    source.write_text(REGION, encoding="utf-8")
    command = ["cc", "-fopenmp", "-pthread", "-shared", "-fPIC", "-o", str(library), str(source)]
    if subprocess.run(command, check=False, timeout=60).returncode:
        pytest.skip("this C compiler has no OpenMP")
    return {"REGION": str(library)}


def test_the_pool_of_the_asking_thread(region: dict[str, str]) -> None:
    said = ask(
        PRELUDE
        + """
tell(before=[whose(), codes()])
library.in_parallel(3)
tell(after=[whose(), codes(), fork_works()])
library.give_back()
time.sleep(0.2)
tell(given_back=[whose(), codes(), fork_works()])
library.in_parallel(4)
tell(again=[whose(), codes(), fork_works()])
""",
        environment=region,
    )
    mine = ["openmp-pool-of-this-thread"]
    assert said == {
        "before": [[], []],
        "after": [["True"] * 2, mine, False],
        "given_back": [[], [], True],
        "again": [["True"] * 3, mine, False],
    }


def test_the_pool_of_another_thread_does_a_fork_no_harm(region: dict[str, str]) -> None:
    said = ask(
        PRELUDE
        + """
def work():
    library.in_parallel(3)
    return whose(), codes()
there, over, thread = elsewhere(work)
tell(there=there, here=[whose(), codes(), fork_works()])
library.in_parallel(3)
tell(both=[whose(), codes()])
over.set(); thread.join()
time.sleep(0.2)
tell(alone=[whose(), codes()])
""",
        environment=region,
    )
    mine = ["openmp-pool-of-this-thread"]
    assert said == {
        "there": [["True"] * 2, mine],
        "here": [["False"] * 2, [], True],
        "both": [["False", "False", "True", "True"], mine],
        "alone": [["True"] * 2, mine],
    }


def test_the_main_threads_pool_seen_from_a_fresh_thread(region: dict[str, str]) -> None:
    said = ask(
        PRELUDE
        + """
library.in_parallel(3)
there, over, thread = elsewhere(lambda: (whose(), codes(), fork_works()))
tell(there=there)
over.set()
""",
        environment=region,
    )
    assert said == {"there": [["False"] * 2, [], True]}


def test_the_pool_of_a_thread_that_python_does_not_know_leaves_a_doubt(region: dict[str, str]) -> None:
    said = ask(
        PRELUDE + "library.in_a_thread_of_its_own()\ntell(here=[whose(), codes()])", environment=region
    )
    assert said == {"here": [["None"] * 2, ["openmp-pool-of-unknown-thread"]]}


def test_a_deep_stack_is_still_that_of_its_thread(region: dict[str, str]) -> None:
    said = ask(
        PRELUDE
        + """
def deep(levels):
    return deep(levels - 1) if levels else (library.in_parallel(3), whose())[1]
sys.setrecursionlimit(5000)
tell(main=deep(900))
""",
        environment=region,
    )
    assert said == {"main": ["True"] * 2}


def test_where_threads_do_not_tell_what_they_were_given_there_is_a_doubt(region: dict[str, str]) -> None:
    said = ask(
        PRELUDE
        + """
library.in_parallel(3)
settled = [whose() for _ in range(3)]
for one in HERE.threads:
    one.argument = None
surroundings = Surroundings()
from coldfork.observe.forking.holdings import openmp_pool
tell(whose=whose(), code=openmp_pool(surroundings).code)
""",
        environment=region,
    )
    assert said == {"whose": ["None"] * 2, "code": "openmp-pool-of-unknown-thread"}


def test_a_child_forked_by_a_thread_stands_on_that_threads_stack() -> None:
    said = ask(
        """
import os, threading
from _thread import get_ident
from coldfork.start.process import HERE

def fork():
    child = os.fork()
    if child == 0:
        HERE.refresh()
        stacks = HERE.stacks()
        found, asked = stacks.mine(), stacks._of(get_ident())
        os._exit(0 if found[0] <= asked[0] < asked[1] <= found[1] else 3)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

statuses = []
HERE.refresh()
HERE.stacks().mine()
fork()
thread = threading.Thread(target=fork)
thread.start()
thread.join()
tell(statuses=statuses)
"""
    )
    assert said == {"statuses": [0, 0]}
