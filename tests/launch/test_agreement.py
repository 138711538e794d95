"""`check` and `probe` name the same lines: every import-time position, every way to the waking call, planted.

What is expected is read off the text of the planted modules; neither command is asked about the other.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.amounts import LONG
from tests.observe.plantable import FILLERS, MISCHIEF, PLACES, WAYS

pytestmark = pytest.mark.once

SOURCE = Path(__file__).parents[2] / "src"
SITE = "# SITE"
WAKE = "tinydriver.start()"

UNSEEN = (
    "Thing() in [1]",
    "deep(30)",
    "exec(",
    "weakref.ref(",
)
"""What wakes and is missed by `check`: docs/explanation/probing.md lists it. `probe` names the line."""
MISPLACED = ("running.close()",)
"""Where `check` names another line: the end of a generator is taken to run where it was begun."""
VERSION = "{}.{}".format(*sys.version_info)
HOMES_OF_A_WAY = 1
"""From so many homes each way is imported, in turn, unless the run is long: an import is a process or two.
`check`, which starts none, always reads them all."""
IMPORTERS = 1 if LONG else 2
"""So many commands share what is imported, unless the run is long: both import alike."""

DRIVER = """\
import ctypes

def start():
    return ctypes.CDLL("libcuda.so.1").cuInit(0)
"""

PROJECT = """\
[tool.coldfork]
site-packages = ["beside"]

[[tool.coldfork.knowledge.effect]]
calls = ["tinydriver.start"]
does = "initialises-driver"
accelerator = "cuda"
source = "the test that wrote it"
"""

Lines = dict[str, int]


@dataclass(frozen=True)
class Planted:
    """A package on disk: the line that wakes in each module that does, and the modules that stay cold."""

    folder: Path
    waking: Lines
    cold: tuple[str, ...]


def planted_text(text: str) -> str:
    """A place or a way with its marks as comments; only the line of the site bears one."""
    return text.replace("@S", f"{SITE} ").replace("@C", "")


def direct() -> Iterator[str]:
    """The waking call itself at every position."""
    for place in PLACES:
        if place.exists:
            yield "import tinydriver\n" + planted_text(place.text.format(w=WAKE, f="waker"))


def through_functions(homes_of_a_way: int) -> Iterator[str]:
    """A function that wakes, of the same module or of another one, called in every way."""
    homes = (
        f"import tinydriver\ndef waker(*_):\n    return {WAKE}",
        f"import tinydriver\ndef inner():\n    {WAKE}\ndef waker(*_):\n    return inner() or 0",
        "from planted.toolbox import waker",
        "import planted.toolbox as box\nwaker = box.waker",
        "def waker(*_):\n    from planted.toolbox import waker as found\n    return found()",
    )
    for number, home in enumerate(homes):
        for turn, way in enumerate(WAYS):
            if (turn + number) % len(homes) < homes_of_a_way:
                yield f"{home}\n{planted_text(way.text.format(f='waker'))}"


def quiet() -> Iterator[str]:
    """Modules that have a waking call in them and do not come to it."""
    yield from (
        filler.replace("planted_device.wake", "tinydriver.start").replace("planted_device", "tinydriver")
        for filler in FILLERS
        if "{" not in filler
    )
    yield "import tinydriver\nfrom planted.toolbox import waker\nlater = waker\n"
    yield "import tinydriver\nif False:\n    tinydriver.start()\n"
    yield "import tinydriver\nif __name__ == '__main__':\n    tinydriver.start()\n"
    yield "import tinydriver, typing\nif typing.TYPE_CHECKING:\n    tinydriver.start()\n"
    yield "import tinydriver\nlate = lambda: tinydriver.start()\nmade = (tinydriver.start() for _ in [1])\n"
    yield "import functools\nimport tinydriver\nbound = functools.partial(tinydriver.start)\n"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """All modules in one package."""
    return plant(tmp_path_factory.mktemp("planted"), sys.maxsize)


@pytest.fixture
def imported(tmp_path: Path) -> Callable[[int], Planted]:
    """Those that one of the commands imports."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler to build the virtual driver with")
    return lambda importer: plant(tmp_path, sys.maxsize if LONG else HOMES_OF_A_WAY, importer, IMPORTERS)


def plant(folder: Path, homes_of_a_way: int, first: int = 0, step: int = 1) -> Planted:
    """Write the modules, of those that wake every so many."""
    (folder / "beside").mkdir()
    (folder / "beside" / "tinydriver.py").write_text(DRIVER, encoding="utf-8")
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    package = folder / "src" / "planted"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "toolbox.py").write_text(
        f"import tinydriver\ndef waker(*_):\n    return {WAKE}\n", encoding="utf-8"
    )
    waking: Lines = {}
    cold = ["planted", "planted.toolbox"]
    texts = [*direct(), *through_functions(homes_of_a_way)]
    # What a module does to the import system before it wakes changes nothing.
    texts += [f"{mischief}\n{texts[0]}" for mischief in MISCHIEF if mischief]
    for number, text in enumerate(texts[first % step :: step]):
        name = f"w{number:02}"
        (package / f"{name}.py").write_text(text + "\n", encoding="utf-8")
        (line,) = (at for at, line in enumerate(text.split("\n"), 1) if SITE in line)
        waking[f"planted.{name}"] = line
    for number, text in enumerate(quiet()):
        name = f"q{number:02}"
        (package / f"{name}.py").write_text(text, encoding="utf-8")
        cold.append(f"planted.{name}")
    return Planted(folder, waking, tuple(cold))


def coldfork(planted: Planted, *arguments: str) -> dict[str, Any]:
    """Return the JSON that a command prints."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "coldfork", *arguments, "--format", "json"],
        cwd=planted.folder,
        env=variables
        | {
            "PYTHONPATH": os.pathsep.join([str(SOURCE), str(planted.folder / "beside")]),
            "COLDFORK_CACHE_DIR": str(planted.folder / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=560,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def shown(planted: Planted, module: str) -> str:
    """A module's source, for the failure message."""
    file = planted.folder / "src" / Path(*module.split(".")).with_suffix(".py")
    return f"--- {module}\n{file.read_text(encoding='utf-8')}"


def holding(planted: Planted, parts: tuple[str, ...]) -> set[str]:
    """The modules whose text holds one of these parts."""
    return {module for module in planted.waking if any(part in shown(planted, module) for part in parts)}


VIRTUAL = ("--virtual", "h100")
CHECK = ("check", "--target-version", VERSION, "src")


@pytest.mark.must_hold
def test_check_finds_what_was_planted(planted: Planted) -> None:
    found = found_in(planted, coldfork(planted, *CHECK))
    for module in found:
        right = found[module]["line"] == planted.waking[module]
        assert right == (module not in holding(planted, MISPLACED)), shown(planted, module)


@pytest.mark.must_hold
def test_imports_confirm_what_check_finds(imported: Callable[[int], Planted]) -> None:
    planted = imported(1)
    found = found_in(planted, coldfork(planted, *CHECK, "--confirm", *VIRTUAL))
    misplaced = holding(planted, MISPLACED)
    assert misplaced, "they are among what the other command imports"
    for module, finding in found.items():
        answer = (finding["line"], finding["confirmed"])
        expected = (planted.waking[module], "woken")
        assert (answer == expected) == (module not in misplaced), (shown(planted, module), answer)
        if module in misplaced:
            # A line that is wrong is not confirmed.
            assert finding["confirmed"] == "cold", finding["confirmation"]


def found_in(planted: Planted, document: dict[str, Any]) -> dict[str, Any]:
    """The findings by module: one in each module that wakes, but for those known to be missed."""
    found = {finding["module"]: finding for finding in document["findings"]}
    assert len(found) == len(document["findings"])
    unseen = holding(planted, UNSEEN)
    missed = set(planted.waking) - set(found)
    assert [shown(planted, module) for module in missed - unseen] == []
    assert [shown(planted, module) for module in unseen - missed] == [], "now seen: take it from the list"
    assert set(found) <= set(planted.waking)
    return found


@pytest.mark.must_hold
def test_probe_names_what_was_planted_and_nothing_else(imported: Callable[[int], Planted]) -> None:
    whole = imported(0)
    (whole.folder / "src").joinpath("tinydriver.py").write_text(DRIVER, encoding="utf-8")
    planted = Planted(whole.folder / "src", whole.waking, whole.cold)
    document = coldfork(planted, "probe", "--all", "planted", *VIRTUAL)
    seen = {probe["module"]: probe for probe in document["modules"]}
    assert set(seen) == {*planted.waking, *planted.cold}
    for module in planted.cold:
        assert seen[module]["status"] == "cold", shown(planted, module)
    for module, line in planted.waking.items():
        waker = seen[module]["woken_by"]
        assert waker is not None, shown(planted, module)
        assert (waker["module"], waker["line"]) == (module, line), shown(planted, module)
