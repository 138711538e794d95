"""OpenCL, asked without asking it: PoCL through pyopencl, and other vendors' drivers by their names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.observe.probing import SOURCES, ask

pytestmark = [pytest.mark.once, pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")]

WORK = """
def work():
    import numpy
    context = cl.Context(cl.get_platforms()[0].get_devices())
    queue = cl.CommandQueue(context)
    data = numpy.arange(8, dtype=numpy.float32)
    flags = cl.mem_flags
    buffer = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=data)
    back = numpy.empty_like(data)
    cl.enqueue_copy(queue, back, buffer)
    queue.finish()
    return float(back.sum())
"""


@pytest.fixture(scope="module")
def platforms() -> list[str]:
    """The names of the platforms here."""
    pytest.importorskip("pyopencl")
    said = ask("import pyopencl as cl; tell(names=[one.name for one in cl.get_platforms()])")
    names: list[str] = said["names"]
    return names


@pytest.fixture
def pocl(platforms: list[str]) -> None:
    """PoCL beside pyopencl, or the test is skipped."""
    if platforms != ["Portable Computing Language"]:
        pytest.skip(f"PoCL is not the only platform: {platforms}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each program is checked: what a folder's programs import is followed once for a profile."""
    return tmp_path_factory.mktemp("checked")


@pytest.mark.must_hold
def test_pocl_is_awake_once_its_devices_were_listed(pocl: None) -> None:
    said = ask(
        WORK
        + """
poller = states.Poller()
tell(before=state("opencl"))
import pyopencl as cl
tell(imported=state("opencl"), imported_why=reason("opencl"))
platforms = cl.get_platforms()
tell(platforms=state("opencl"), platforms_polled=poller.awake())
platforms[0].get_devices()
tell(devices=state("opencl"), devices_polled=poller.awake())
"""
    )
    assert said == {
        "before": ["absent", None],
        "imported": ["cold", None],
        "imported_why": "no vendor's driver has been opened",
        "platforms": ["cold", None],
        "platforms_polled": [],
        "devices": ["awake", "driver"],
        "devices_polled": [["opencl", "driver"]],
    }


@pytest.mark.must_hold
def test_what_is_called_cold_works_in_a_child_and_what_is_called_poisoned_hangs(pocl: None) -> None:
    said = ask(
        WORK
        + """
import pyopencl as cl
platforms = cl.get_platforms()
states.remember_for_children()
tell(of_cold=in_child(lambda: [state("opencl"), work(), state("opencl")], seconds=60))
platforms[0].get_devices()
states.remember_for_children()
tell(of_awake=in_child(lambda: [state("opencl"), reason("opencl")]))
tell(stuck=in_child(work, seconds=4))
"""
    )
    assert said == {
        "of_cold": [["cold", None], 28.0, ["awake", "driver"]],
        "of_awake": [["poisoned", None], "this process was forked from one that had it awake, level driver"],
        "stuck": "ended with 14",
    }


def test_devices_of_pocl_that_have_no_threads_leave_a_doubt(pocl: None) -> None:
    said = ask(
        "import pyopencl as cl; cl.get_platforms()[0].get_devices(); tell(here=state('opencl'))",
        environment={"POCL_DEVICES": "basic"},
    )
    assert said == {"here": ["unknown", None]}


#: What a module does with OpenCL when it is imported, and whether that starts the devices of PoCL.
STEPS = {
    "cl": False,
    "cl.get_platforms()": False,
    "cl.choose_devices(interactive=False)": True,
    "cl.create_some_context(interactive=False)": True,
}


@pytest.mark.must_hold
@pytest.mark.parametrize("step", STEPS)
def test_what_is_read_what_is_seen_and_what_a_child_lives_through_agree(
    pocl: None, step: str, folder: Path, cache: Path
) -> None:
    """Static check, the state of the process, and a forked child that uses OpenCL say the same."""
    said = ask(
        WORK
        + f"""
import pyopencl as cl
kept = {step}
tell(here=state("opencl")[0], worked=in_child(work, seconds=4 if {STEPS[step]} else 60))
"""
    )
    wakes = STEPS[step]
    assert said == {"here": "awake" if wakes else "cold", "worked": "ended with 14" if wakes else 28.0}
    (folder / "asks.py").write_text(f"import pyopencl as cl\n\nkept = {step}\n", encoding="utf-8")
    found = [(one["accelerator"], one["line"]) for one in checked(folder, cache)]
    assert found == ([("opencl", 3)] if wakes else [])


@pytest.mark.parametrize("profile", ["cuda", "rocm", "xpu"])
def test_beside_a_gpu_listing_platforms_presumes_that_its_vendor_is_among_them(
    profile: str, folder: Path, cache: Path
) -> None:
    """PoCL alone starts nothing when it is listed, as measured above; a context takes its devices anyway."""
    (folder / "asks.py").write_text(
        "import pyopencl as cl\n\nkept = cl.get_platforms()\ncontext = cl.Context()\n", encoding="utf-8"
    )
    words = ["the OpenCL driver of the GPU's vendor is registered"]
    found = {one["line"]: (one["verdict"], one["presumed"]) for one in checked(folder, cache, profile)}
    assert found == {3: ("certain", words), 4: ("certain", [])}


def test_what_a_function_presumes_is_said_where_it_is_called_and_imported(folder: Path, cache: Path) -> None:
    (folder / "asks.py").write_text(
        "import pyopencl as cl\n\ndef ask():\n    return cl.get_platforms()\n", encoding="utf-8"
    )
    (folder / "outer.py").write_text("import asks\n\nkept = asks.ask()\n", encoding="utf-8")
    (found,) = checked(folder, cache, "cuda")
    (folder / "outer.py").unlink()
    assert (found["path"], found["line"], found["verdict"]) == ("outer.py", 3, "certain")
    assert found["presumed"] == ["the OpenCL driver of the GPU's vendor is registered"]


def checked(folder: Path, cache: Path, profile: str = "cpu") -> list[dict[str, Any]]:
    """Return the findings of `coldfork check`, by default for a machine without an accelerator."""
    options = ["--profile", profile, "--format", "json", "--exit-zero"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "coldfork", "check", *options, str(folder)],
        env={**os.environ, "PYTHONPATH": str(SOURCES), "COLDFORK_CACHE_DIR": str(cache)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return findings
