"""The poller: cheap because it looks only when something changed, and missing nothing for that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.observe.probing import ask

pytestmark = [pytest.mark.once, pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")]

POOL = r"""
#include <omp.h>
int in_parallel(int threads) {
    int sum = 0;
    #pragma omp parallel for num_threads(threads) reduction(+:sum)
    for (int i = 0; i < 10; i++) sum += i;
    return sum;
}
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which a program finds a library that starts a pool of OpenMP."""
    folder = tmp_path_factory.mktemp("pool")
    source, library = folder / "pool.c", folder / "pool.so"
    source.write_text(POOL, encoding="utf-8")
    command = ["cc", "-fopenmp", "-shared", "-fPIC", "-o", str(library), str(source)]
    if subprocess.run(command, check=False, timeout=60).returncode:
        pytest.skip("this C compiler has no OpenMP")
    return {"POOL": str(library)}


def test_nothing_is_examined_while_nothing_changes() -> None:
    said = ask(
        """
looks = []
poller = states.Poller()
original = states._HERE.process
states._HERE.process = lambda: looks.append("threads") or original()
find = poller._driver.find
poller._driver.find = lambda: looks.append("driver") or find()
poller.awake()
first = list(looks)
for _ in range(1000):
    poller.awake()
tell(first=first, looks=len(looks))
"""
    )
    assert said == {"first": ["driver"], "looks": 1}


def test_a_pool_is_seen_although_python_threads_end_at_that_moment(pool: dict[str, str]) -> None:
    """A Python thread that ends is counted a moment longer than Python counts it, and may hide a new one."""
    said = ask(
        """
import ctypes, threading
parallel = ctypes.CDLL(os.environ["POOL"])
missed = 0
def child():
    poller = states.Poller()
    threads = [threading.Thread(target=int) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    poller.awake()
    parallel.in_parallel(3)
    return poller.awake()
for _ in range(60):
    states.remember_for_children()
    missed += in_child(child) != [["openmp", None]]
tell(missed=missed)
""",
        environment=pool,
    )
    assert said == {"missed": 0}


def test_a_runtime_that_cannot_be_asked_is_left_out_and_named() -> None:
    said = ask(
        """
from coldfork.observe.probes import jax
def refuse(self):
    raise RuntimeError("no")
jax.Clients.awake = refuse
sys.modules["jax._src.xla_bridge"] = sys
poller = states.Poller()
tell(polled=[poller.awake(), poller.awake()], failures=poller.failures)
"""
    )
    assert said == {
        "polled": [[], []],
        "failures": {"jax._src.xla_bridge": "RuntimeError: no"},
    }


def test_a_python_without_ctypes_is_polled_for_what_its_modules_tell() -> None:
    said = ask(
        """
sys.modules["ctypes"] = None
import types
cuda = types.ModuleType("torch.cuda")
sys.modules["torch.cuda"] = cuda
poller = states.Poller()
before = poller.awake()
cuda._initialized = True
tell(before=before, after=poller.awake(), failed=sorted(poller.failures), status=state("openmp"))
tell(cuda=state("cuda"))
"""
    )
    assert said["before"] == []
    assert said["after"] == [["cuda", "context"]]
    assert said["failed"] == ["loader"]
    assert said["cuda"] == ["awake", "context"]


def test_modules_in_python_never_make_a_poll_look_closer(tmp_path: Path) -> None:
    """Counted, not timed: how often a poll had to look closer while modules were imported."""
    for number in range(500):
        (tmp_path / f"grown_{number}.py").write_text("value = 1\n", encoding="utf-8")
    said = ask(
        f"""
sys.path.insert(0, {str(tmp_path)!r})
import importlib
poller = states.Poller()
poller.awake()
looks = []
find = poller._driver.find
poller._driver.find = lambda: looks.append("driver") or find()
process = states._HERE.process
states._HERE.process = lambda: looks.append("threads") or process()
for number in range(500):
    importlib.import_module(f"grown_{{number}}")
    poller.awake()
tell(looks=looks)
"""
    )
    assert said == {"looks": []}
