"""Waking a device while pytest loads files: plugins, conftest files, test modules."""

# ruff: noqa: E501 (whole outputs, line for line)

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from tests.plugins.conftest import DRIVER, ENGINE, WATCHED, Run

pytestmark = pytest.mark.once

WAKING = {**ENGINE, "tests/test_api.py": "import engine.api\n\n\ndef test_it():\n    pass\n"}
ACCOUNT = snapshot("""\
== ERRORS ==
== ERROR collecting tests/test_api.py ==
collecting tests/test_api.py woke cuda
  --> engine/attention.py:11  in Builder
      support = version()
   1. version                       engine/attention.py:7
   2. cuInit                        initialises the CUDA driver
  imported through
      test_api                      tests/test_api.py:1
      engine.api                    engine/api.py:1
      engine.attention              engine/attention.py:11
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100
   = help: compute it on first use, not while the module is imported; read more: coldfork rule driver-init-at-import
== coldfork ==
cuda was woken by collecting tests/test_api.py: engine/attention.py:11, cuInit
== short test summary info ==
ERROR tests/test_api.py - collecting tests/test_api.py woke cuda
== Interrupted: 1 error during collection ==
== 1 error in Ts ==
""")


@pytest.mark.must_hold
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_an_import_that_wakes_fails_the_collection_of_the_file(mode: str, suite: Run) -> None:
    ended = suite(WAKING, *WATCHED, f"--import-mode={mode}")
    assert ended.status == 2
    assert ended.text.replace("tests.test_api  ", "test_api        ") == ACCOUNT


def test_the_tests_run_nevertheless_if_asked(suite: Run) -> None:
    ended = suite(WAKING, *WATCHED, "--continue-on-collection-errors")
    assert (ended.status, ended.outcomes) == (1, "1 passed, 1 error")


def test_a_conftest_is_named_although_nothing_is_collected_yet(suite: Run) -> None:
    files = {**ENGINE, "conftest.py": "import engine.api\n", "test_it.py": "def test_it():\n    pass\n"}
    ended = suite(files, *WATCHED)
    assert ended.status == 2
    assert ended.text == snapshot("""\
== ERRORS ==
== ERROR collecting conftest.py ==
loading conftest.py woke cuda
  --> engine/attention.py:11  in Builder
      support = version()
   1. version                       engine/attention.py:7
   2. cuInit                        initialises the CUDA driver
  imported through
      conftest                      conftest.py:1
      engine.api                    engine/api.py:1
      engine.attention              engine/attention.py:11
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100
   = help: compute it on first use, not while the module is imported; read more: coldfork rule driver-init-at-import
== coldfork ==
cuda was woken by loading conftest.py: engine/attention.py:11, cuInit
== short test summary info ==
ERROR conftest.py - loading conftest.py woke cuda
== Interrupted: 1 error during collection ==
== 1 error in Ts ==
""")


def test_what_is_no_test_does_not_stay_among_the_last_failed(suite: Run) -> None:
    files = {**ENGINE, "conftest.py": "import engine.api\n", "test_it.py": "def test_it():\n    pass\n"}
    assert suite(files, *WATCHED, remembers=True).status == 2
    ended = suite({"conftest.py": ""}, *WATCHED, "--lf", remembers=True)
    assert ended.status == 0
    assert "known failures" not in ended.printed


def test_a_conftest_of_a_folder_below_is_named(suite: Run) -> None:
    files = {
        **ENGINE,
        "tests/one/test_it.py": "def test_it():\n    pass\n",
        "tests/two/conftest.py": "import engine.api\n",
        "tests/two/test_more.py": "def test_it():\n    pass\n",
    }
    ended = suite(files, *WATCHED, "--continue-on-collection-errors", "--import-mode=importlib")
    assert (ended.status, ended.outcomes) == (1, "2 passed, 1 error")
    assert "tests/two/conftest.py:1" in ended.text


def test_what_a_plugin_woke_before_us_is_not_passed_over(suite: Run) -> None:
    early = """
        import ctypes
        from coldfork import virtual

        virtual.install("h100")
        ctypes.CDLL("libcuda.so.1").cuInit(0)
    """
    ended = suite({"early.py": early, "test_it.py": "def test_it():\n    pass\n"}, "-p", "early", *WATCHED)
    assert ended.status == 2
    assert ended.text == snapshot("""\
== ERRORS ==
== ERROR collecting coldfork ==
cuda was awake before the watch began
   = woken by the site module, by a plugin given with -p or PYTEST_PLUGINS, or by one that pytest loaded earlier
   = next: find it with coldfork run -m pytest
== coldfork ==
cuda was awake before the watch began
== short test summary info ==
ERROR coldfork - cuda was awake before the watch began
== Interrupted: 1 error during collection ==
== 1 error in Ts ==
""")


def test_the_body_of_a_test_module_is_told_from_what_it_imports(suite: Run) -> None:
    test = """
        import pytest

        from driver import cuda

        gpu = pytest.mark.skipif(cuda.cuInit(0) != 0, reason="no GPU")


        @gpu
        def test_it():
            pass
    """
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert ended.status == 2
    assert ended.text == snapshot("""\
== ERRORS ==
== ERROR collecting test_it.py ==
collecting test_it.py woke cuda
  --> test_it.py:5
      gpu = pytest.mark.skipif(cuda.cuInit(0) != 0, reason="no GPU")
   1. cuInit                        initialises the CUDA driver
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100
   = help: ask in a fixture or in the test, not while the module is imported; read more: coldfork rule driver-init-at-import
== coldfork ==
cuda was woken by collecting test_it.py: test_it.py:5, cuInit
== short test summary info ==
ERROR test_it.py - collecting test_it.py woke cuda
== Interrupted: 1 error during collection ==
== 1 error in Ts ==
""")


def test_every_device_is_told_once_and_only_the_first_waker(suite: Run) -> None:
    test = "import driver\n\ndriver.wake()\n\n\ndef test_it():\n    pass\n"
    files = {"driver.py": DRIVER, "test_a.py": test, "test_b.py": test}
    ended = suite(files, *WATCHED, "--continue-on-collection-errors")
    assert (ended.status, ended.outcomes) == (1, "2 passed, 1 error")
    assert "ERROR test_a.py - collecting test_a.py woke cuda" in ended.text


def test_a_module_skipped_as_a_whole_has_woken_it_all_the_same(suite: Run) -> None:
    test = "import driver\nimport pytest\n\ndriver.wake()\npytest.skip('no', allow_module_level=True)\n"
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert (ended.status, ended.outcomes) == (2, "1 skipped, 1 error")


def test_a_module_whose_import_fails_says_both(suite: Run) -> None:
    test = "import driver\n\ndriver.wake()\nimport no_such_module\n"
    ended = suite({"driver.py": DRIVER, "test_it.py": test}, *WATCHED)
    assert (ended.status, ended.outcomes) == (2, "2 errors")
    assert "ModuleNotFoundError" in ended.text
    assert "collecting test_it.py woke cuda" in ended.text


def test_importorskip_stands_in_nobodys_way(suite: Run) -> None:
    files = {**ENGINE, "test_it.py": 'import pytest\n\napi = pytest.importorskip("engine.api")\n'}
    ended = suite(files, *WATCHED)
    assert "  imported through\n      test_it                       test_it.py:3\n" in ended.text
    assert "importorskip" not in ended.text


def test_a_thread_that_an_import_starts_is_named(suite: Run) -> None:
    threaded = """
        import threading

        import driver

        done, stay = threading.Event(), threading.Event()


        def warm():
            driver.wake()
            done.set()
            stay.wait()


        threading.Thread(target=warm, name="warmer", daemon=True).start()
        done.wait()
    """
    files = {"driver.py": DRIVER, "threaded.py": threaded, "test_it.py": "import threaded\n"}
    ended = suite(files, *WATCHED)
    assert ended.status == 2
    assert "= seen on virtual:h100, on the thread warmer\n" in ended.text
    assert "  --> threaded.py:9  in warm\n      driver.wake()\n   1. wake " in ended.text


@pytest.mark.must_hold
def test_real_torch_is_caught_asking_whether_there_is_a_gpu(suite: Run) -> None:
    pytest.importorskip("torch")
    test = """
        import pytest
        import torch


        @pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
        def test_it():
            pass
    """
    ended = suite({"test_it.py": test}, *WATCHED)
    assert ended.status == 2
    assert ended.text == snapshot("""\
== ERRORS ==
== ERROR collecting test_it.py ==
collecting test_it.py woke cuda
  --> test_it.py:5
      @pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
   1. torch.cuda.is_available       initialises the CUDA driver
   = processes forked from this one from now on cannot use the device
   = seen on virtual:h100
   = help: ask in a fixture or in the test, not while the module is imported; read more: coldfork rule driver-init-at-import
== coldfork ==
cuda was woken by collecting test_it.py: test_it.py:5, torch.cuda.is_available
== short test summary info ==
ERROR test_it.py - collecting test_it.py woke cuda
== Interrupted: 1 error during collection ==
== 1 error in Ts ==
""")


@pytest.mark.parametrize("device", ["h100", "mi300x"])
def test_without_a_compiler_a_second_look_finds_the_line(device: str, suite: Run) -> None:
    pytest.importorskip("torch")
    files = {
        "engine.py": "import torch\n\n\nclass Builder:\n    name = torch.cuda.get_device_name()\n",
        "test_it.py": "import engine\n",
    }
    no_compiler = {"PATH": "/nonexistent", "COLDFORK_CACHE_DIR": "/nonexistent"}
    ended = suite(files, "--coldfork", "--coldfork-virtual", device, environment=no_compiler)
    assert ended.status == 2
    assert "  --> engine.py:5  in Builder\n      name = torch.cuda.get_device_name()\n" in ended.text
    assert "      test_it                       test_it.py:1\n" in ended.text


def test_a_real_runtime_is_seen_without_a_virtual_device(suite: Run) -> None:
    pytest.importorskip("pyopencl")
    opencl = """
        import pyopencl

        platform = pyopencl.get_platforms()[0]
        context = pyopencl.Context(platform.get_devices())
    """
    ended = suite({"opencl.py": opencl, "test_it.py": "import opencl\n"}, "--coldfork")
    assert ended.status == 2
    assert "collecting test_it.py woke opencl\n  --> opencl.py:" in ended.text


def test_only_listing_the_tests_fails_too(suite: Run) -> None:
    assert suite(WAKING, *WATCHED, "--collect-only", "-q").status != 0


def test_a_cold_suite_passes(suite: Run) -> None:
    files = {**ENGINE, "test_it.py": "import engine.quiet\n\n\ndef test_it():\n    pass\n"}
    ended = suite(files, *WATCHED, fresh=True)
    assert ended.status == 0
    assert ended.text == snapshot("""\
test_it.py .                                                             [100%]
== coldfork ==

no device was woken; device: virtual:h100
== 1 passed in Ts ==
""")
