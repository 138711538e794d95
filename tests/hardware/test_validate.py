"""The validation of real devices runs where there is none, and its programs ask what they say they ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from coldfork.virtual import management
from coldfork.virtual.driver import uuid_of
from hardware import driver, graph_claims, lease_claims, start_claims
from hardware.children import Bench

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]

#: Enough of a driver to be initialised and forked, and to call an injected library.
DRIVER = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static int awake, poisoned, active;
static void after_fork(void) { if (awake) { awake = 0; poisoned = 1; } }
int cuInit(unsigned flags) {
    const char *injected = getenv("CUDA_INJECTION64_PATH");
    if (poisoned) return 3;
    if (awake) return 0;
    pthread_atfork(NULL, NULL, after_fork);
    if (injected) {
        void *library = dlopen(injected, RTLD_NOW);
        int (*function)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
        if (function) function();
    }
    awake = 1;
    return 0;
}
int cuDeviceGetCount(int *count) { if (!awake) return 3; *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { if (!awake) return 3; *device = 0; return ordinal ? 101 : 0; }
int cuDeviceGetUuid(unsigned char *uuid, int device) {
    static const unsigned char virtual[16] = {0xc0, 0x1d, 0xf0, 0, 0x5e, 0xed, 0x40, 0, 0x80};
    for (int at = 0; at < 16; at++) uuid[at] = virtual[at];
    return 0;
}
int cuCtxGetCurrent(void **context) { if (!awake) return 3; *context = 0; return 0; }
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { if (!awake) return 3; active = 1; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active) {
    if (!awake) return 3;
    *is_active = active;
    return 0;
}
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Programs that are given a stand-in for the driver."""
    folder = tmp_path_factory.mktemp("driver")
    source, library = folder / "driver.c", folder / "libcuda.so.1"
    source.write_text(DRIVER, encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wl,-soname,libcuda.so.1", "-pthread"]
    subprocess.run([*command, "-o", str(library), str(source), "-ldl"], check=True, timeout=60)
    return Bench(str(library), timeout=60)


def test_without_a_device_it_says_so() -> None:
    command = [sys.executable, str(ROOT / "hardware" / "validate.py"), "--driver", "libnosuchdriver.so.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd="/")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["device"] is None
    assert report["sections"] == []
    assert done.stderr == "no device: the driver is not there, or it finds none\n"


def test_an_unknown_section_is_refused() -> None:
    command = [sys.executable, str(ROOT / "hardware" / "validate.py"), "driver"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert (
        "there is no section 'driver'; there are codes, injection, probes, torch, virtual, graphs, start, "
        "lease" in done.stderr
    )


def test_the_table_of_codes_is_filled_and_judged(bench: Bench) -> None:
    section = driver.codes(bench)
    assert section.answers["child of awake"]["cuInit"] == 3
    assert len(section.findings) == 24
    assert [one.claim for one in section.findings if not one.holds] == []


def test_a_driver_that_answers_otherwise_is_told(bench: Bench, tmp_path: Path) -> None:
    source, library = tmp_path / "driver.c", tmp_path / "libcuda.so.1"
    source.write_text(DRIVER.replace("if (poisoned) return 3;", ""), encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl", "-pthread"]
    subprocess.run(command, check=True, timeout=60)
    section = driver.codes(Bench(str(library), timeout=60))
    told = [one.claim for one in section.findings if one.holds is False]
    assert told == ["cuInit returns 3 in a child forked after it"]


def test_the_injection_hook_is_timed(bench: Bench) -> None:
    section = driver.injection(bench)
    assert [one.holds for one in section.findings] == [True, True, True]
    assert section.answers["calls"][0]["its code"] == 3


def test_coldforks_probes_are_held_against_the_driver(bench: Bench) -> None:
    section = driver.probes(bench)
    states = [one for one in section.findings if "microseconds" not in one.claim]
    assert [one.claim for one in states if not one.holds] == []


def test_decisions_are_held_against_the_driver_at_every_stage(bench: Bench, tmp_path: Path) -> None:
    section = start_claims.start(bench)
    assert [one.claim for one in section.findings if not one.holds] == []
    assert len(section.findings) == 24
    # A driver that a fork does no harm is told from one that it does.
    source, library = tmp_path / "driver.c", tmp_path / "libcuda.so.1"
    source.write_text(DRIVER.replace("if (poisoned) return 3;", ""), encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wl,-soname,libcuda.so.1", "-pthread"]
    subprocess.run([*command, "-o", str(library), str(source), "-ldl"], check=True, timeout=60)
    broken = [
        one.claim for one in start_claims.start(Bench(str(library), timeout=60)).findings if not one.holds
    ]
    assert broken == [
        f"with the driver at the stage '{stage}' cuInit returns 3 in a child forked plainly"
        for stage in ("driver", "context")
    ]


def test_programs_are_captured_and_held_against_each_other() -> None:
    pytest.importorskip("torch")
    answers = Bench(timeout=300).run("graph_programs", "cpu")
    refused = {name for name, answer in answers["programs"].items() if not answer["captured"]}
    assert refused == {
        "asking for a value",
        "deciding on a value",
        "masking",
        "finding",
        "fetching to the host",
        "uploading from the host",
    }
    assert answers["leak"] == {"shared": ["memory", "state"], "apart": 0}
    layers = answers["programs"]["layers"]
    assert [one.holds for one in graph_claims.compared("layers", layers, layers)] == [True, True, True]
    off = {**layers, "replayed": [value + 0.1 for value in layers["replayed"]]}
    assert [one.holds for one in graph_claims.compared("layers", layers, off)] == [True, True, False]
    gone = {"captured": False, "phase": "capture", "error": "not permitted"}
    assert [one.holds for one in graph_claims.compared("layers", layers, gone)] == [False]
    drawing = answers["programs"]["drawing"]
    assert [one.holds for one in graph_claims.compared("drawing", drawing, drawing)] == [True, True]


def test_without_a_real_device_graphs_cannot_be_tried() -> None:
    pytest.importorskip("torch")
    section = graph_claims.graphs(Bench(timeout=300, environment={"CUDA_VISIBLE_DEVICES": ""}))
    assert [one.holds for one in section.findings] == [None]


def test_what_was_leased_is_held_against_what_the_driver_shows(bench: Bench, tmp_path: Path) -> None:
    if os.environ.get("CUDA_VISIBLE_DEVICES") is not None:
        pytest.skip("CUDA_VISIBLE_DEVICES is set")
    boards = tmp_path / "boards"
    management.write(boards, management.boards(1))
    section = lease_claims.lease(replace(bench, environment=management.variables(boards)))
    assert [finding.holds for finding in section.findings] == [True] * 6, section.answers
    # A driver that shows another device than the one that was leased.
    management.write(boards, [replace(management.boards(1)[0], uuid=f"GPU-{uuid_of(1)}")])
    section = lease_claims.lease(replace(bench, environment=management.variables(boards)))
    assert [finding.holds for finding in section.findings] == [False] * 4 + [True] * 2, section.answers
