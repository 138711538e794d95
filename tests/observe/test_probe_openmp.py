"""OpenMP's pools of threads, in libgomp through PyTorch and in a small program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.observe.probing import ask

pytestmark = [pytest.mark.once, pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")]

REGION = r"""
#include <omp.h>
int in_parallel(int threads) {
    int sum = 0;
    #pragma omp parallel for num_threads(threads) reduction(+:sum)
    for (int i = 0; i < 1000; i++) sum += i;
    return sum;
}
int give_back(void) { return omp_pause_resource_all(omp_pause_hard); }
"""

LOAD = "import ctypes; parallel = ctypes.CDLL(os.environ['REGION'])\n"


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which a program finds a library with a parallel region."""
    folder = tmp_path_factory.mktemp("openmp")
    source, library = folder / "region.c", folder / "region.so"
    source.write_text(REGION, encoding="utf-8")
    command = ["cc", "-fopenmp", "-shared", "-fPIC", "-o", str(library), str(source)]
    if subprocess.run(command, check=False, timeout=60).returncode:
        pytest.skip("this C compiler has no OpenMP")
    return {"REGION": str(library)}


def test_a_parallel_region_leaves_a_pool_behind(region: dict[str, str]) -> None:
    said = ask(
        "tell(before=state('openmp'))\n" + LOAD + "tell(loaded=state('openmp'), why=reason('openmp'))\n"
        "assert parallel.in_parallel(4) == 499500\n"
        "tell(after=state('openmp'), then=reason('openmp'))",
        environment=region,
    )
    assert said == {
        "before": ["absent", None],
        "loaded": ["cold", None],
        "why": "no worker threads of OpenMP are running",
        "after": ["awake", None],
        "then": "3 native threads of libgomp.so.1.0.0 wait for the next parallel region",
    }


def test_a_region_on_one_thread_leaves_nothing(region: dict[str, str]) -> None:
    said = ask(LOAD + "parallel.in_parallel(1); tell(here=state('openmp'))", environment=region)
    assert said == {"here": ["cold", None]}


def test_a_pool_that_was_given_back_is_gone(region: dict[str, str]) -> None:
    said = ask(
        LOAD + "parallel.in_parallel(4); tell(held=state('openmp'), failed=parallel.give_back())\n"
        "time.sleep(0.2); tell(given_back=state('openmp'))",
        environment=region,
    )
    assert said == {"held": ["awake", None], "failed": 0, "given_back": ["cold", None]}


def test_a_pool_is_seen_while_its_threads_still_spin(region: dict[str, str]) -> None:
    said = ask(
        LOAD + "parallel.in_parallel(3); tell(here=state('openmp'))",
        environment={**region, "OMP_WAIT_POLICY": "active"},
    )
    assert said == {"here": ["awake", None]}


def test_a_forked_child_hangs_in_its_next_region_and_is_called_poisoned(region: dict[str, str]) -> None:
    said = ask(
        LOAD
        + """
states.remember_for_children()
tell(of_cold=in_child(lambda: [state("openmp"), parallel.in_parallel(4), state("openmp")]))
parallel.in_parallel(4)
states.remember_for_children()
tell(of_awake=in_child(lambda: [state("openmp"), reason("openmp")]))
tell(stuck=in_child(lambda: parallel.in_parallel(4), seconds=3))
""",
        environment=region,
    )
    assert said["of_cold"] == [["cold", None], 499500, ["awake", None]]
    assert said["of_awake"] == [["poisoned", None], "this process was forked from one that had it awake"]
    assert said["stuck"] == "ended with 14"


def test_the_poller_names_the_region_that_started_the_pool(region: dict[str, str]) -> None:
    said = ask(
        LOAD
        + """
poller = states.Poller()
tell(before=poller.awake())
parallel.in_parallel(4)
tell(after=poller.awake(), failures=poller.failures)
""",
        environment=region,
    )
    assert said == {"before": [], "after": [["openmp", None]], "failures": {}}


def test_threads_of_another_library_are_no_pool(region: dict[str, str], tmp_path: Path) -> None:
    source, library = tmp_path / "own.c", tmp_path / "libown.so"
    source.write_text(
        "#include <pthread.h>\n#include <unistd.h>\n"
        "static void *run(void *nothing) { for (;;) pause(); }\n"
        "int start(void) { pthread_t thread; return pthread_create(&thread, 0, run, 0); }\n",
        encoding="utf-8",
    )
    command = ["cc", "-shared", "-fPIC", "-pthread", "-o", str(library), str(source)]
    subprocess.run(command, check=True, timeout=60)
    said = ask(
        LOAD + "ctypes.CDLL(os.environ['OWN']).start(); tell(here=state('openmp'))",
        environment={**region, "OWN": str(library)},
    )
    assert said == {"here": ["cold", None]}


def test_a_thread_that_cannot_be_traced_leaves_a_doubt(region: dict[str, str]) -> None:
    said = ask(
        LOAD
        + """
states._HERE.threads()._number = None
parallel.in_parallel(2)
time.sleep(0.2)
tell(seen_waiting=state("openmp"))
states._HERE._threads = states._HERE._loader = None
def refuse():
    raise ImportError("no ctypes")
states._HERE.loader = refuse
tell(unreadable=state("openmp"), why=reason("openmp"))
""",
        environment=region,
    )
    # libgomp waits in its own code, and that is seen without the C library's record.
    assert said["seen_waiting"] == ["awake", None]
    assert said["unreadable"] == ["unknown", None]
    assert said["why"] == "the threads of a process cannot be read on this system"


@pytest.mark.must_hold
def test_pytorch_leaves_a_pool_behind() -> None:
    pytest.importorskip("torch")
    said = ask(
        """
import torch
poller = states.Poller()
# numpy's OpenBLAS has threads by now; they survive a fork and do not count.
tell(imported=state("openmp"), polled=poller.awake())
torch.ones(4_000_000).exp().sum()
tell(used=state("openmp"), then=poller.awake())
states.remember_for_children()
tell(child=in_child(lambda: [state("openmp"), poller.awake()]))
tell(stuck=in_child(lambda: torch.ones(4_000_000).exp().sum().item(), seconds=5))
"""
    )
    assert said == {
        "imported": ["cold", None],
        "polled": [],
        "used": ["awake", None],
        "then": [["openmp", None]],
        "child": [["poisoned", None], []],
        "stuck": "ended with 14",
    }
