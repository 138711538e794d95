"""The entry points for vLLM, in processes of its own, with packages laid out as vLLM's versions are.

The real vLLM takes 3.5 GB: `./dev integration vllm` holds the plugin against it.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]

CHOOSER = '''
import multiprocessing, os
from vllm.platforms import current_platform

def _maybe_force_spawn():
    if os.environ.get("TEST_IN_RAY"):
        os.environ["RAY_ADDRESS"] = "here"
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"

def get_mp_context():
    """As vLLM has it: what is asked for, unless it knows of a reason against it."""
    _maybe_force_spawn()
    return multiprocessing.get_context(os.environ.get("VLLM_WORKER_MULTIPROC_METHOD", "fork"))
'''
PLATFORMS = """
import coldfork.plugins.vllm_plugin as plugin
assert plugin.platform() is None
current_platform = "none"
"""
HOMES = {"0.11": "vllm/utils/__init__.py", "0.33": "vllm/utils/system_utils.py"}
BEFORE = """
import ctypes, logging, multiprocessing, os, sys
logging.basicConfig(format="%(name)s %(levelname)s %(message)s", level=logging.INFO)
from coldfork.plugins import vllm_plugin
"""
WAKE = """
import coldfork.virtual
coldfork.virtual.install("h100")
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
"""
CHOICE = """
from vllm.v1.engine.utils import get_mp_context
vllm_plugin.general()
from vllm.v1.engine import utils
from vllm.v1.executor import multiproc_executor
for chooser in (get_mp_context, utils.get_mp_context, multiproc_executor.get_mp_context):
    print("method", chooser().get_start_method())
print("variable", os.environ.get("VLLM_WORKER_MULTIPROC_METHOD"))
"""


def vllm(folder: Path, version: str) -> Path:
    """A package laid out like this version of vLLM, or like none ("moved")."""
    home = HOMES.get(version, "vllm/elsewhere.py")
    files = {
        "vllm/__init__.py": "",
        "vllm/platforms/__init__.py": PLATFORMS,
        "vllm/utils/__init__.py": "",
        "vllm/v1/__init__.py": "",
        "vllm/v1/engine/__init__.py": "",
        "vllm/v1/executor/__init__.py": "",
        home: CHOOSER,
    }
    name = home.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for user in ("vllm/v1/engine/utils.py", "vllm/v1/executor/multiproc_executor.py"):
        files[user] = f"from {name} import get_mp_context\n"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, *parts: str, status: int = 0, set_to: dict[str, str] | None = None) -> list[str]:
    """The lines that a program prints and logs."""
    program = "".join(textwrap.dedent(part) for part in (BEFORE, *parts))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COLDFORK_", "VLLM_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=kept
        | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}", "COLDFORK_VLLM": "on"}
        | (set_to or {}),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stdout
    return done.stdout.splitlines()


@pytest.mark.parametrize(("group", "function"), [("general", "general"), ("platform", "platform")])
def test_the_entry_points_lead_to_the_plugin(group: str, function: str) -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        described = tomllib.load(file)["project"]["entry-points"][f"vllm.{group}_plugins"]
    assert list(described) == ["coldfork"]
    entry = importlib.metadata.EntryPoint("coldfork", described["coldfork"], f"vllm.{group}_plugins")
    assert entry.load().__name__ == function


def test_loading_it_needs_the_standard_library_only(tmp_path: Path) -> None:
    program = (
        "import logging, os, sys; before = set(sys.modules)\n"
        "import coldfork.plugins.vllm_plugin\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) <= {
        "__future__",
        "coldfork",
        "coldfork.plugins",
        "coldfork.plugins.vllm_plugin",
    }


@pytest.mark.must_hold
@pytest.mark.parametrize("version", HOMES)
def test_a_device_that_torch_knows_nothing_of_makes_workers_spawn(tmp_path: Path, version: str) -> None:
    lines = run(vllm(tmp_path, version), WAKE, CHOICE)
    # Whoever took the function before the plugin came has vLLM's own.
    assert [line for line in lines if line.startswith("method")] == [
        "method fork",
        "method spawn",
        "method spawn",
    ]
    assert "variable spawn" in lines
    (told,) = [line for line in lines if "workers are started" in line]
    assert told.startswith(
        "vllm.plugins.coldfork WARNING coldfork: workers are started by spawn and not by fork"
    )
    assert "Overriding VLLM_WORKER_MULTIPROC_METHOD to 'spawn'. Reasons: cuda is awake here" in told


@pytest.mark.parametrize("version", HOMES)
def test_a_process_that_may_fork_goes_on_forking(tmp_path: Path, version: str) -> None:
    lines = run(vllm(tmp_path, version), CHOICE)
    assert [line for line in lines if line.startswith("method")] == ["method fork"] * 3
    assert "variable None" in lines
    assert [line for line in lines if "coldfork" in line] == [
        "vllm.plugins.coldfork INFO coldfork: the fork guard is on (warn)",
        "vllm.plugins.coldfork INFO coldfork: workers are started by fork, because nothing speaks against it",
    ]


@pytest.mark.parametrize("asked", ["VLLM_WORKER_MULTIPROC_METHOD", "TEST_IN_RAY"])
def test_what_vllm_spawns_anyway_is_left_alone(tmp_path: Path, asked: str) -> None:
    show = "print('ray', os.environ.get('RAY_ADDRESS'))\n"
    lines = run(vllm(tmp_path, "0.33"), WAKE, CHOICE, show, set_to={asked: "spawn"})
    assert [line for line in lines if line.startswith("method")] == ["method spawn"] * 3
    assert lines[-1] == ("ray here" if asked == "TEST_IN_RAY" else "ray None")
    told = [line for line in lines if "coldfork" in line]
    assert told == ["vllm.plugins.coldfork INFO coldfork: the fork guard is on (warn)"]


def test_a_vllm_whose_chooser_moved_keeps_its_choice_and_says_so(tmp_path: Path) -> None:
    show = "print('elsewhere', sys.modules['vllm.elsewhere'].get_mp_context().get_start_method())\n"
    lines = run(vllm(tmp_path, "moved"), "import vllm.elsewhere\nvllm_plugin.general()\n", show)
    _, told, method = lines
    assert told == (
        "vllm.plugins.coldfork WARNING coldfork: the choice of the start method is left to vLLM: "
        "no get_mp_context in vllm.utils.system_utils or vllm.utils of this vLLM"
    )
    assert method == "elsewhere fork"


BROKEN = "sys.modules['coldfork.start.guard'] = None\n"


def test_a_guard_that_cannot_be_installed_is_told_and_no_more(tmp_path: Path) -> None:
    lines = run(vllm(tmp_path, "0.33"), BROKEN, CHOICE)
    assert [line for line in lines if line.startswith("method")] == ["method fork"] * 3
    assert any(
        line.startswith("vllm.plugins.coldfork WARNING coldfork: cannot install the fork guard")
        for line in lines
    )


@pytest.mark.must_hold
def test_a_guard_that_was_asked_to_raise_and_cannot_be_installed_stops_vllm(tmp_path: Path) -> None:
    lines = run(vllm(tmp_path, "0.33"), BROKEN, CHOICE, status=1, set_to={"COLDFORK_GUARD": "raise"})
    assert "coldfork.start.guard" in lines[-1]
    assert not any(line.startswith("method") for line in lines)


def test_what_cannot_be_decided_is_spawned(tmp_path: Path) -> None:
    lines = run(vllm(tmp_path, "0.33"), "sys.modules['coldfork.start.decide'] = None\n", CHOICE)
    assert "method spawn" in lines
    assert any("Reasons: it is not known whether a fork is safe here (" in line for line in lines)


@pytest.mark.must_hold
def test_the_guard_is_in_force_after_the_platform_was_asked_for(tmp_path: Path) -> None:
    fork = """
    import vllm.platforms
    try:
        os.fork()
    except RuntimeError as error:
        print(type(error).__name__)
    """
    lines = run(vllm(tmp_path, "0.33"), WAKE, fork, set_to={"COLDFORK_GUARD": "strict"})
    assert lines == ["UnsafeForkError"]


FORK = """
child = os.fork()
if not child:
    os._exit(0)
print("child", os.waitpid(child, 0)[1])
print("guard", "coldfork.start.guard.process" in sys.modules)
"""
HOW = (
    "vllm.plugins.coldfork INFO coldfork: it is installed, but does nothing here; "
    "to switch it on, set COLDFORK_VLLM=on"
)


@pytest.mark.must_hold
@pytest.mark.parametrize(
    ("variable", "table", "acts"),
    [
        ("", "", False),
        ("off", "[tool.coldfork]\nvllm = true\n", False),
        ("", "[tool.coldfork]\nvllm = false\n", False),
        ("", "[tool.coldfork\n", False),
        ("", "[tool.coldfork]\nvllm = true\n", True),
        ("on", "", True),
        ("1", "[tool.coldfork]\nvllm = false\n", True),
    ],
)
def test_it_changes_something_only_where_it_was_asked_to(
    variable: str, table: str, acts: bool, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    given = {"COLDFORK_VLLM": variable, "COLDFORK_GUARD": "log"}
    lines = run(vllm(tmp_path, "0.33"), WAKE, CHOICE, FORK, set_to=given)
    if acts:
        assert "method spawn" in lines
        assert lines[-1] == "guard True"
    else:
        quiet = ["method fork"] * 3 + ["variable None", "child 0", "guard False"]
        assert lines == [HOW, *quiet]


@pytest.mark.must_hold
def test_switched_off_it_leaves_everything_as_it_is(tmp_path: Path) -> None:
    fork = """
    child = os.fork()
    if not child:
        os._exit(0)
    print("child", os.waitpid(child, 0)[1])
    """
    lines = run(vllm(tmp_path, "0.33"), WAKE, CHOICE, fork, set_to={"COLDFORK_GUARD": "off"})
    assert lines == ["method fork", "method fork", "method fork", "variable None", "child 0"]


def test_it_may_be_called_more_than_once(tmp_path: Path) -> None:
    again = """
    first = multiproc_executor.get_mp_context
    vllm_plugin.general()
    print("same", multiproc_executor.get_mp_context is first)
    """
    lines = run(vllm(tmp_path, "0.33"), WAKE, CHOICE, again)
    assert lines[-1] == "same True"


def test_a_guard_that_the_program_installed_is_not_weakened(tmp_path: Path) -> None:
    before = "from coldfork.start.guard import guard\nguard('strict')\n"
    after = "vllm_plugin.general()\ntry:\n    os.fork()\nexcept RuntimeError:\n    print('still raises')\n"
    assert run(vllm(tmp_path, "0.33"), WAKE, before, after)[-1] == "still raises"
