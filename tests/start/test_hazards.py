"""Real runtimes without a GPU: where a plain fork hangs or dies, coldfork's choice works in the same run.

And where a fork does no harm, it stays allowed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("hazards.py")
SOURCES = Path(__file__).resolve().parents[2] / "src"
HUNG = {"status": -14, "waited": True}
CRASHED = {"status": -11, "waited": True}
ENDED_BY_NUMBA = {"status": -15, "waited": True}
WORKED = {"status": 0, "waited": True}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads Linux's /proc")

PACKAGES = {
    "openblas": "numpy",
    "pocl": "pyopencl",
    "import_torch": "torch",
    "sized_torch": "torch",
    "nothing": "os",
}


def run(name: str, **variables: str) -> dict[str, Any]:
    """Return the program's report on one runtime."""
    package = PACKAGES.get(name, name)
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    dropped = ("COLDFORK", "CUDA", "OMP", "TOKENIZERS", "NUMBA", "POCL", "JAX")
    given = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    given["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SOURCES), os.environ.get("PYTHONPATH", "")]))
    # Two threads whatever the machine has, so that every pool has somebody to lose.
    given |= {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2", **variables}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), name],
        env=given,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("name", "variables", "plain", "codes"),
    [
        ("torch", {}, HUNG, ["openmp-pool-of-this-thread"]),
        ("sklearn", {}, HUNG, ["openmp-pool-of-this-thread"]),
        (
            "numba",
            {"NUMBA_THREADING_LAYER": "omp"},
            ENDED_BY_NUMBA,
            ["openmp-pool-of-this-thread", "numba-on-gnu-openmp"],
        ),
        ("polars", {}, HUNG, ["polars-awake"]),
        ("tokenizers", {"TOKENIZERS_PARALLELISM": "true"}, HUNG, ["tokenizers-pool"]),
        ("jax", {"JAX_PLATFORMS": "cpu"}, HUNG, ["jax-cpu-awake"]),
        ("pocl", {}, HUNG, ["opencl-awake"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_where_a_plain_fork_breaks_what_coldfork_chooses_works(
    name: str, variables: dict[str, str], plain: dict[str, Any], codes: list[str]
) -> None:
    told = run(name, **variables)
    # A child that waits for the threads of libgomp's pool reads what they left; now and then it crashes.
    over_a_pool = (plain, CRASHED) if codes == ["openmp-pool-of-this-thread"] else (plain,)
    assert told["plain"] in over_a_pool
    assert (told["method"], told["started by"], told["ours"]) == ("spawn", "spawn", 0)
    assert told["codes"] == codes
    assert told["line"].startswith("spawn, because ")
    assert told["canary"].startswith("not safe to fork here: ")
    # What the canary ran into is what the table of forks says.
    assert told["expected"] == codes


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("name", "variables", "owner"),
    [
        ("nothing", {}, None),
        ("import_torch", {}, None),
        ("torch", {"OMP_NUM_THREADS": "1"}, None),
        ("sized_torch", {}, "libtorch_cpu"),
        ("openblas", {}, "libscipy_openblas"),
        ("numba", {"NUMBA_THREADING_LAYER": "workqueue"}, "workqueue."),
        ("pyarrow", {}, "libarrow"),
        ("tokenizers", {}, "tokenizers."),
        ("tokenizers", {"TOKENIZERS_PARALLELISM": "false"}, None),
    ],
)
def test_what_survives_a_fork_stays_forkable(name: str, variables: dict[str, str], owner: str | None) -> None:
    told = run(name, **variables)
    assert told["plain"] == WORKED
    assert (told["method"], told["started by"], told["ours"]) == ("fork", "fork", 0)
    assert told["codes"] == []
    assert told["canary"].startswith("safe to fork here: ")
    assert told["expected"] == []
    if owner is not None:
        # There are threads that do not count, and not just none.
        assert any(found.startswith(owner) for found in told["owners"]), told["owners"]
