"""The CUDA driver, asked through a small library in C that answers as the driver does."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.observe.probing import ask

pytestmark = pytest.mark.once

# The codes are those of cuda.h; what is asked when is told to the test through a count of calls to cuInit.
DRIVER = r"""
#include <pthread.h>
#include <stdlib.h>
static int initialised, forked, contexts, calls_to_init;
static __thread void *current;
static int object;
static void in_child(void) { if (initialised) forked = 1; }
static int answer(void) {
    const char *always = getenv("DRIVER_ANSWERS");
    if (always) return atoi(always);
    return initialised && !forked ? 0 : 3;
}
int cuInit(unsigned flags) {
    calls_to_init++;
    if (forked) return 3;
    if (!initialised) { initialised = 1; pthread_atfork(0, 0, in_child); }
    return 0;
}
int cuDeviceGetCount(int *number) {
    const char *devices = getenv("DRIVER_DEVICES");
    if (answer()) return answer();
    *number = devices ? atoi(devices) : 2;
    return 0;
}
int cuDeviceGet(int *device, int ordinal) { if (answer()) return answer(); *device = ordinal; return 0; }
int cuCtxGetCurrent(void **context) { if (answer()) return answer(); *context = current; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    if (answer()) return answer();
    *flags = 0; *active = contexts == device + 1;
    return 0;
}
/* For the test alone. */
void retain(int device) { contexts = device + 1; }
void make_current(void) { current = &object; }
int inits(void) { return calls_to_init; }
"""

LOAD = """
import ctypes
def load():
    global cuda
    cuda = ctypes.CDLL(os.environ["DRIVER"])
    return cuda
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A driver's stand-in, under the name that the real one has."""
    folder = tmp_path_factory.mktemp("driver")
    source, library = folder / "driver.c", folder / "libcuda.so.1"
    source.write_text(DRIVER, encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wl,-soname,libcuda.so.1", "-pthread"]
    subprocess.run([*command, "-o", str(library), str(source)], check=True, timeout=60)
    return library


def told(driver: Path, program: str, **environment: str) -> dict[str, Any]:
    """Return the report of a program that may load the driver."""
    return ask(LOAD + program, environment={"DRIVER": str(driver), **environment})


def test_every_stage_of_a_driver_is_told_apart(driver: Path) -> None:
    said = told(
        driver,
        """
tell(before=state("cuda"))
load()
tell(loaded=state("cuda"), why=reason("cuda"))
cuda.cuInit(0)
tell(initialised=state("cuda"))
cuda.retain(1)
tell(context=state("cuda"), inits=cuda.inits())
""",
    )
    assert said == {
        "before": ["absent", None],
        "loaded": ["cold", None],
        "why": "the driver answers that it is not initialised",
        "initialised": ["awake", "driver"],
        "context": ["awake", "context"],
        "inits": 1,
    }


def test_a_context_current_on_this_thread_counts(driver: Path) -> None:
    said = told(driver, 'load().cuInit(0); cuda.make_current(); tell(here=state("cuda"))')
    assert said == {"here": ["awake", "context"]}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("34", "cuDeviceGetCount returned 34: it is the CUDA toolkit's stub and no driver"),
        ("100", "cuDeviceGetCount returned 100: it found no device"),
        ("4", "cuDeviceGetCount returned 4: it is shutting down"),
        ("777", "cuDeviceGetCount returned 777"),
    ],
)
def test_an_answer_that_is_neither_yes_nor_no_is_unknown(driver: Path, code: str, why: str) -> None:
    program = 'load().cuInit(0); tell(here=state("cuda"), why=reason("cuda"), polled=states.Poller().awake())'
    said = told(driver, program, DRIVER_ANSWERS=code)
    assert said == {"here": ["unknown", None], "why": why, "polled": []}


def test_a_driver_that_sees_no_device_is_awake_all_the_same(driver: Path) -> None:
    said = told(driver, 'load().cuInit(0); tell(here=state("cuda"), why=reason("cuda"))', DRIVER_DEVICES="0")
    assert said["here"] == ["awake", "driver"]
    assert said["why"] == "the driver answers that it is initialised and sees no device"


def test_a_library_without_the_function_is_unknown(tmp_path: Path) -> None:
    source, library = tmp_path / "empty.c", tmp_path / "libcuda.so.1"
    source.write_text("int nothing(void) { return 0; }\n", encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library), str(source)]
    subprocess.run(command, check=True, timeout=60)
    said = told(library, 'load(); tell(here=state("cuda"), polled=states.Poller().awake())')
    assert said == {"here": ["unknown", None], "polled": []}


def test_a_driver_loaded_under_another_name_is_found_by_its_file(driver: Path, tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.550.54"
    command = ["cc", "-shared", "-fPIC", "-pthread", "-o", str(library), str(driver.parent / "driver.c")]
    subprocess.run(command, check=True, timeout=60)
    assert told(library, 'load().cuInit(0); tell(here=state("cuda"))') == {"here": ["awake", "driver"]}


def test_a_child_says_poisoned_where_the_driver_says_not_initialised(driver: Path) -> None:
    said = told(
        driver,
        """
load()
states.remember_for_children()
tell(of_cold=in_child(lambda: [state("cuda"), cuda.cuInit(0), state("cuda")]))
cuda.cuInit(0)
states.remember_for_children()
tell(of_awake=in_child(lambda: [state("cuda"), cuda.cuDeviceGetCount(ctypes.byref(ctypes.c_int()))]))
tell(why=in_child(lambda: reason("cuda")))
""",
    )
    assert said["of_cold"] == [["cold", None], 0, ["awake", "driver"]]
    assert said["of_awake"] == [["poisoned", None], 3]


def test_a_grandchild_of_an_awake_process_is_poisoned_too(driver: Path) -> None:
    said = told(
        driver,
        """
load().cuInit(0)
def child():
    states.remember_for_children()
    return in_child(lambda: [state("cuda"), reason("cuda")])
states.remember_for_children()
tell(grandchild=in_child(child))
""",
    )
    why = "this process was forked from one that was poisoned itself"
    assert said == {"grandchild": [["poisoned", None], why]}


def test_a_child_whose_parent_was_not_recorded_does_not_claim_to_be_cold(driver: Path) -> None:
    said = told(
        driver,
        """
def late():
    first = state("cuda")
    load()
    return [first, state("cuda")]
tell(loaded_in_child=in_child(late))
load()
tell(loaded_before=in_child(lambda: [state("cuda"), reason("cuda")]))
cuda.cuInit(0)
tell(awake_before=in_child(lambda: state("cuda")))
""",
    )
    assert said["loaded_in_child"] == [["absent", None], ["cold", None]]
    why = "this process was forked, and the state of its parent was not recorded: "
    assert said["loaded_before"] == [["unknown", None], why + "it looks cold and may be poisoned"]
    assert said["awake_before"] == ["unknown", None]


def test_a_record_serves_one_fork_only(driver: Path) -> None:
    said = told(
        driver,
        """
load()
states.remember_for_children()
tell(recorded=in_child(lambda: state("cuda")))
cuda.cuInit(0)
tell(unrecorded=in_child(lambda: state("cuda")))
""",
    )
    assert said == {"recorded": ["cold", None], "unrecorded": ["unknown", None]}


def test_a_fork_that_python_does_not_see_leaves_no_stale_record(driver: Path) -> None:
    said = told(
        driver,
        """
load()
states.remember_for_children()
in_child(lambda: None)
cuda.cuInit(0)
# The record of the first fork, "cold", must not be believed in a child of the second.
receiving, sending = os.pipe()
child = ctypes.CDLL(None).fork()
if not child:
    os.write(sending, json.dumps(state("cuda")).encode())
    os._exit(0)
os.waitpid(child, 0)
tell(child=json.loads(os.read(receiving, 1000)))
""",
    )
    assert said == {"child": ["unknown", None]}


def test_the_parents_states_may_be_given(driver: Path) -> None:
    said = told(
        driver,
        """
load()
parent = [found for found in states.examine()]
cuda.cuInit(0)
awake = states.examine()
def given(earlier):
    return next(found.status for found in states.examine(earlier) if found.accelerator == "cuda")
tell(cold=in_child(lambda: given(parent)), awake=in_child(lambda: given(awake)))
""",
    )
    assert said == {"cold": "cold", "awake": "poisoned"}


def test_the_poller_sees_the_driver_wake_and_deepen(driver: Path) -> None:
    said = told(
        driver,
        """
poller = states.Poller()
tell(first=poller.awake())
load()
tell(loaded=poller.awake())
cuda.cuInit(0)
tell(initialised=poller.awake(), same=poller.awake() is poller.awake())
cuda.retain(0)
tell(context=poller.awake())
cuda.retain(-1)
tell(released=poller.awake(), failures=poller.failures)
""",
    )
    assert said == {
        "first": [],
        "loaded": [],
        "initialised": [["cuda", "driver"]],
        "same": True,
        "context": [["cuda", "context"]],
        "released": [["cuda", "context"]],
        "failures": {},
    }


def test_the_poller_of_a_child_does_not_call_awake_what_is_poisoned(driver: Path) -> None:
    said = told(
        driver,
        """
poller = states.Poller()
load()
poller.awake()
def wake():
    before = poller.awake()
    cuda.cuInit(0)
    return [before, poller.awake()]
tell(of_cold=in_child(wake))
cuda.cuInit(0)
poller.awake()
tell(of_awake=in_child(wake))
""",
    )
    assert said == {"of_cold": [[], [["cuda", "driver"]]], "of_awake": [[], []]}


def test_asking_never_initialises_and_never_loads(driver: Path) -> None:
    said = told(
        driver,
        """
load()
poller = states.Poller()
for _ in range(100):
    poller.awake()
    states.examine()
tell(inits=cuda.inits(), here=state("cuda"))
""",
    )
    assert said == {"inits": 0, "here": ["cold", None]}
