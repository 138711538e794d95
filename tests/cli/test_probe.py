"""`coldfork probe` as it is typed: exit status, formats, what is said, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import Result
from inline_snapshot import snapshot

from coldfork.report.formats import FORMATS
from tests.cli.stalled import STALL, is_gone, stalled

pytestmark = pytest.mark.once

Run = Callable[..., Result]

ATTENTION = """\
import ctypes

CUDA = ctypes.CDLL("libcuda.so.1")


def version():
    return CUDA.cuInit(0)


class Builder:
    support = version()
"""

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler to build the virtual driver"
)


@pytest.fixture
def engine_package(project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in the folder one stands in: one module wakes, one imports it, one stays cold, one fails."""
    monkeypatch.setenv("COLDFORK_CACHE_DIR", str(cache))
    shutil.rmtree(project / "src")
    package = project / "engine"
    package.mkdir()
    for name, text in {
        "__init__": "",
        "__main__": "raise SystemExit('a program')",
        "attention": ATTENTION,
        "api": "import engine.attention\n",
        "quiet": "X = 1\n",
        "broken": "print('about to fail')\nimport nothing_of_this_name\n",
    }.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    return project


def settled(text: str) -> str:
    """A text without times, counts of modules, and what Python 3.11 takes from the line and 3.12 is told."""
    text = text.replace("CUDA.cuInit  ", "cuInit       ")
    text = re.sub(r"\d+ modules? in [\d.]+ m?s", "N modules in S s", text)
    return re.sub(r"in [\d.]+ m?s$", "in S s", text, flags=re.MULTILINE)


@needs_compiler
@pytest.mark.parametrize(
    ("modules", "status"),
    [
        (["engine.quiet"], 0),
        (["engine.attention"], 1),
        (["engine.broken"], 125),
        (["engine.nowhere"], 125),
        (["engine.quiet", "engine.broken"], 125),
        (["engine.quiet", "engine.broken", "engine.api"], 1),
    ],
)
def test_the_exit_status(engine_package: Path, run: Run, modules: list[str], status: int) -> None:
    result = run("probe", "--virtual", "h100", *modules)
    assert (result.exit_code, result.stderr) == (status, "")


@needs_compiler
def test_the_whole_text(engine_package: Path, run: Run) -> None:
    result = run("probe", "--virtual", "h100", "engine.api", "engine.quiet", "engine.broken")
    assert settled(result.stdout) == snapshot("""\
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

failed: importing engine.broken could not be judged: the import failed with ModuleNotFoundError: No module named 'nothing_of_this_name'
  --> engine/broken.py:2
   = what it printed:
      | about to fail
   = help: see the error in the probed interpreter: python -c 'import engine.broken'

cold: importing engine.quiet leaves every device cold (N modules in S s)
1 woken, 1 failed, 1 cold of 3 modules on virtual:h100 in S s
""")


@needs_compiler
def test_what_is_the_same_for_several_modules_is_said_once(engine_package: Path, run: Run) -> None:
    package = engine_package / "engine"
    (package / "__init__.py").write_text("import ctypes\nctypes.CDLL('libcuda.so.1').cuInit(0)\n")
    names = ["engine", *(f"engine.part{number}" for number in range(6))]
    for name in names[1:]:
        (package / f"{name.removeprefix('engine.')}.py").touch()
    text = run("probe", "--virtual", "h100", *names, "engine.broken").stdout
    assert text.count("woken: ") == 2
    assert "woken: importing engine wakes cuda\n" in text
    assert (
        "   = in the same way for 6 other modules: engine.part0, engine.part1, engine.part2, engine.part3"
        " and 2 more\n"
    ) in text
    # It failed afterwards, which is said of it alone.
    assert "woken: importing engine.broken wakes cuda\n" in text
    assert "8 woken of 8 modules" in text


@needs_compiler
def test_the_line_that_woke_the_driver_is_not_said_to_have_made_the_context(
    engine_package: Path, run: Run
) -> None:
    (engine_package / "engine" / "deep.py").write_text(
        "import ctypes\n"
        "cuda = ctypes.CDLL('libcuda.so.1')\n"
        "cuda.cuInit(0)\n"
        "context = ctypes.c_void_p()\n"
        "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
    )
    text = run("probe", "--virtual", "h100", "engine.deep").stdout
    assert "engine/deep.py:3" in text
    assert "initialises the CUDA driver" in text
    assert "   = later, the same import does more: it creates a CUDA context\n" in text
    assert "read more: coldfork rule driver-init-at-import" in text
    document = json.loads(run("probe", "--virtual", "h100", "engine.deep", "--format", "json").stdout)
    assert document["modules"][0]["level"] == "context"


@needs_compiler
def test_all_modules_of_a_package(engine_package: Path, run: Run) -> None:
    result = run("probe", "--virtual", "h100:2", "--all", "engine", "--format", "json")
    document = json.loads(result.stdout)
    assert {module["module"]: module["status"] for module in document["modules"]} == {
        "engine": "cold",
        "engine.api": "woken",
        "engine.attention": "woken",
        "engine.broken": "failed",
        "engine.quiet": "cold",
    }
    assert document["device"] == "virtual:h100:2"


@needs_compiler
def test_a_package_that_is_missing_could_not_be_judged(engine_package: Path, run: Run) -> None:
    result = run("probe", "--all", "nothing_of_this_name", "--virtual", "h100")
    assert result.exit_code == 125
    assert "No module named 'nothing_of_this_name'" in result.stdout


@needs_compiler
@pytest.mark.parametrize("form", FORMATS["probe"])
def test_every_format_is_written_to_stdout_and_to_a_file(engine_package: Path, run: Run, form: str) -> None:
    arguments = ("probe", "--virtual", "h100", "engine.api", "engine.broken", "--format", form)
    printed = run(*arguments)
    assert (printed.exit_code, printed.stderr) == (1, "")
    assert "engine/attention.py" in printed.stdout
    assert "engine.broken" in printed.stdout
    saved = run(*arguments, "--output", "result.out")
    assert (saved.exit_code, saved.stdout) == (1, "")
    assert saved.stderr == "coldfork: wrote 2 modules to result.out\n"
    written = (engine_package / "result.out").read_text(encoding="utf-8")
    if form in ("json", "sarif"):
        json.loads(written)
    if form == "junit":
        ET.fromstring(written)


@needs_compiler
def test_a_forked_child(engine_package: Path, run: Run) -> None:
    result = run("probe", "--virtual", "h100", "--in-forked-child", "engine.api", "--format", "json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["forked"]) == (1, True)
    assert document["modules"][0]["woken_by"]["line"] == 11


@needs_compiler
def test_the_variable_gives_the_device_too(engine_package: Path, run: Run) -> None:
    assert run("probe", "engine.api", env={"COLDFORK_VIRTUAL": "h100"}).exit_code == 1


@needs_compiler
def test_the_configuration_gives_the_device_too(
    engine_package: Path, run: Run, configure: Callable[[str], Path]
) -> None:
    configure('virtual = "h100"\n')
    assert run("probe", "engine.api").exit_code == 1


def test_a_configuration_that_means_nothing_leaves_the_commit_unjudged(
    engine_package: Path, run: Run, configure: Callable[[str], Path]
) -> None:
    configure("jbos = 3\n")
    result = run("probe", "engine.quiet")
    assert (result.exit_code, result.stdout) == (125, "")
    assert "did you mean jobs?" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a module, or a package with --all; coldfork probe --help shows how"),
        (
            ["src/engine/api.py"],
            "'src/engine/api.py' is not the name of a module; write engine.api, if that is how it is imported",
        ),
        (["engine-api"], "'engine-api' is not the name of a module"),
        (["engine."], "'engine.' is not the name of a module"),
        (["--all", "a b"], "'a b' is not the name of a module"),
        (["--timeout", "0", "engine"], "--timeout: an import needs at least a second"),
        (["--python", "/nowhere/python", "engine"], "there is no Python interpreter '/nowhere/python'"),
    ],
)
def test_what_cannot_be_asked(project: Path, run: Run, arguments: list[str], message: str) -> None:
    result = run("probe", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"coldfork: {message}\n"


def test_a_device_of_no_known_name(project: Path, run: Run) -> None:
    result = run("probe", "--virtual", "h1000", "engine")
    assert result.exit_code == 2
    assert "there is no virtual device 'h1000'; there are a100" in result.stderr


def test_a_machine_without_a_device_is_said(
    engine_package: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coldfork.launch.probe.comparison._NODES", ())
    result = run("probe", "engine.quiet")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == (
        "this machine has no accelerator to wake; coldfork probe --virtual h100 gives it one"
    )


@needs_compiler
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
def test_who_is_stopped_prints_what_was_found_and_leaves_nothing_running(
    engine_package: Path, number: signal.Signals, times: int
) -> None:
    """Twice at once is what `timeout` does: it signals its child, and then the group that its child is in."""
    (engine_package / "slow.py").write_text(STALL, encoding="utf-8")
    arguments = ["probe", "--virtual", "h100", "--jobs", "1", "--format", "json"]
    modules = ["engine.attention", "engine.quiet", "slow", "engine.api"]
    process, importer = stalled(engine_package, *arguments, *modules)
    for _ in range(times):
        process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    left = "interrupted: nothing is known about 2 modules: slow, engine.api"
    # The line end stands after the terminal's ^C.
    assert (process.returncode, errors.decode()) == (130, f"\ncoldfork: {left}\n")
    found = json.loads(out)
    assert [(one["module"], one["status"]) for one in found["modules"]] == [
        ("engine.attention", "woken"),
        ("engine.quiet", "cold"),
    ]
    assert found["modules"][0]["woken_by"]["line"] == 11
    assert (found["interrupted"], found["left"]) == (True, ["slow", "engine.api"])
    assert is_gone(importer)
