"""The fixture that imports modules in fresh interpreters."""

# ruff: noqa: E501 (whole outputs, line for line)

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from tests.limits import overrun
from tests.plugins.conftest import DRIVER, ENGINE, Result, Run

pytestmark = pytest.mark.once


@pytest.mark.must_hold
def test_a_waking_import_fails_with_what_the_probe_says(suite: Run) -> None:
    test = 'def test_it(cold_import):\n    cold_import("engine.quiet")\n    cold_import("engine.api")\n'
    ended = suite({**ENGINE, "test_it.py": test}, "--coldfork-virtual", "h100")
    assert ended.status == 1
    # From Python 3.12 on the probe knows the name that the call was made by.
    assert ended.text.replace("CUDA.cuInit  ", "cuInit       ") == snapshot("""\
test_it.py F                                                             [100%]

== FAILURES ==
== test_it ==
woken: importing engine.api wakes cuda
  --> engine/attention.py:11  in the body of Builder
      support = version()
   1. version                       engine/attention.py:7
   2. cuInit                        initialises the CUDA driver
  imported through
      engine.api                    engine/api.py:1
      engine.attention              engine/attention.py:11
   = every process that imports this module can no longer fork workers that use the GPU
   = seen on virtual:h100 in a fresh interpreter that loaded N modules in S s
   = help: compute it on first use, not while the module is imported; read more: coldfork rule driver-init-at-import
== short test summary info ==
FAILED test_it.py::test_it - Failed: woken: importing engine.api wakes cuda
== 1 failed in Ts ==
""")


def test_without_an_option_a_machine_without_a_gpu_gets_a_virtual_one(suite: Run) -> None:
    from coldfork.launch.probe.comparison import device_before

    if device_before(None) != "none":
        pytest.skip("this machine has an accelerator of its own")
    test = 'def test_it(cold_import):\n    cold_import("engine.api")\n'
    ended = suite({**ENGINE, "test_it.py": test})
    assert (ended.status, ended.outcomes) == (1, "1 failed")
    assert "= seen on virtual:h100 in a fresh interpreter" in ended.text


def test_cold_modules_pass_and_nothing_is_imported_here(suite: Run) -> None:
    test = """
        import sys


        def test_it(cold_import):
            cold_import("engine.quiet", "engine")
            assert "engine" not in sys.modules
    """
    assert suite({**ENGINE, "test_it.py": test}).status == 0


def test_several_modules_are_explained_one_by_one(suite: Run) -> None:
    test = 'def test_it(cold_import):\n    cold_import("engine.api", "engine.quiet", "no_such_module")\n'
    ended = suite({**ENGINE, "test_it.py": test})
    assert ended.status == 1
    assert "woken: importing engine.api wakes cuda\n" in ended.text
    assert "failed: importing no_such_module could not be judged: the import failed with" in ended.text
    assert "engine.quiet" not in ended.text.partition("woken:")[2]


def test_another_device_can_be_chosen(suite: Run) -> None:
    test = 'def test_it(cold_import):\n    cold_import("engine.api", virtual="a100:2")\n'
    ended = suite({**ENGINE, "test_it.py": test})
    assert "= seen on virtual:a100:2 in a fresh interpreter" in ended.text
    unknown = suite({"test_it.py": 'def test_it(cold_import):\n    cold_import("engine", virtual="z9")\n'})
    assert "cold_import: there is no virtual device 'z9'" in unknown.text


def test_a_hanging_import_is_ended(suite: Run) -> None:
    def attempt(limit: int) -> Result:
        test = f'def test_it(cold_import):\n    cold_import("slow", timeout={limit})\n'
        return suite({"slow.py": "import time\n\ntime.sleep(600)\n", "test_it.py": test})

    limit, ended = overrun(attempt, lambda ended: "nothing to import" not in ended.text)
    assert (ended.status, ended.outcomes) == (1, "1 failed")
    assert f"the import did not end within {limit} s" in ended.text


def test_modules_are_found_where_this_run_finds_them(suite: Run) -> None:
    files = {
        **{f"source/{name}": text for name, text in ENGINE.items()},
        "pytest.ini": "[pytest]\npythonpath = source\n",
        "test_it.py": 'def test_it(cold_import):\n    cold_import("engine.quiet")\n',
    }
    assert suite(files).status == 0


def test_a_device_awake_in_this_process_is_nothing_to_the_fresh_one(suite: Run) -> None:
    test = """
        import driver
        import pytest


        @pytest.mark.wakes_device
        def test_it(cold_import):
            driver.wake()
            cold_import("engine.quiet")
    """
    ended = suite(
        {**ENGINE, "driver.py": DRIVER, "test_it.py": test}, "--coldfork", "--coldfork-virtual", "h100"
    )
    assert ended.status == 0
