"""The survey of published packages: what it takes from a check, what it lists, and what its page says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.survey import inspecting, listing, page
from benchmarks.survey.inspecting import Release
from benchmarks.survey.listing import Reading
from benchmarks.survey.page import Surveyed

pytestmark = pytest.mark.once

TRUE = Reading(True)


def cause(path: str, call: str, verdict: str = "certain", warms: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": f"{path} {call}",
        "path": path,
        "line": 3,
        "call": call,
        "text": "X = call()",
        "accelerator": "cuda",
        "effect": "initialises-driver",
        "verdict": verdict,
        "condition": None if verdict == "certain" else "acme is installed",
        "presumed": [],
        "chain": [[path, 3, "engine.core"], [None, None, call]],
        "module": "engine.core",
        "warms": ["engine", *(f"engine.m{number}" for number in range(1, warms))],
    } | more


def surveyed(*causes: dict[str, Any], read: dict[str, Reading], **more: Any) -> Surveyed:
    row = {"modules": 5, "warm": 3, "surely": 2, "causes": list(causes)}
    given: dict[str, Any] = {"imported": {}, "fixes": {}, "probes": {}} | more
    return Surveyed("engine", "1.2", row, read, **given)


def test_the_list_names_forty_packages_and_readings_of_these() -> None:
    read = listing.listed()
    names = [package.name for package in read.packages]
    assert len(set(names)) == 40
    assert names == sorted(names)
    assert not set(names) & set(read.companions)
    known = {*names, *read.companions}
    assert all(set(package.beside) <= known for package in read.packages)
    assert set(listing.readings()) <= {"imports", *names}


def test_requirements_are_those_without_an_extra(tmp_path: Path) -> None:
    metadata = tmp_path / "engine-1.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(
        "Name: engine\nRequires-Dist: Torch_Scatter>=2\nRequires-Dist: pytest; extra == 'test'\n"
        "Requires-Dist: winreg; sys_platform == 'win32'\nRequires-Dist: ???\n\nRequires-Dist: prose\n"
    )
    assert inspecting.requirements(tmp_path) == {"torch-scatter"}


def test_a_release_is_checked_and_mended_in_memory(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("from engine import core\n")
    text = "import torch\n\n\ndef f(x: bool = torch.cuda.is_available()):\n    return x\n"
    (tmp_path / "engine" / "core.py").write_text(text)
    (tmp_path / "engine" / "cold.py").write_text("import engine.core\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_core.py").write_text("import torch\ntorch.cuda.init()\n")
    release = Release(tmp_path, ("engine", "tests"), ())
    row = inspecting.inspected(release)
    assert (row["modules"], row["warm"], row["surely"]) == (3, 3, 3)
    [found] = row["causes"]
    assert (found["path"], found["line"], found["call"]) == ("engine/core.py", 4, "torch.cuda.is_available")
    fixes = inspecting.mended(release, [found["id"]])
    assert fixes["patches"]["engine/core.py"].startswith("--- a/engine/core.py\n+++ b/engine/core.py\n@@")
    assert (fixes["safe"], fixes["left"]) == ([found["id"]], {})
    assert (tmp_path / "engine" / "core.py").read_text() == text


def test_only_what_was_read_and_is_true_is_listed() -> None:
    one = surveyed(
        cause("engine/core.py", "a.true"),
        cause("engine/core.py", "a.false"),
        cause("engine/core.py", "a.new"),
        cause("engine/io.py", "import bnb.ops"),
        cause("engine/io.py", "import acme"),
        cause("engine/__init__.py", "import engine.core"),
        read={"engine/core.py a.true": TRUE, "engine/core.py a.false": Reading(False, "It never runs.")},
        imported={"bnb": TRUE},
    )
    assert [found["call"] for found in one.own] == ["a.true"]
    assert [found["call"] for found in one.imports["bnb"]] == ["import bnb.ops"]
    left = {found["call"]: reading for found, reading in one.left_out}
    assert left == {"a.false": Reading(False, "It never runs."), "a.new": None, "import acme": None}


def probe(status: str, line: int) -> dict[str, Any]:
    frame = {"path": "engine/core.py", "line": line}
    return {"status": status, "reason": "No module named 'acme'", "woken_by": {**frame, "stack": [frame]}}


@pytest.mark.parametrize(
    ("status", "line", "said"),
    [
        ("woken", 3, "Confirmed by `coldfork probe` on a virtual device."),
        ("woken", 9, "`coldfork probe` sees a virtual device woken before, at `engine/core.py:9`."),
        ("cold", 3, "Imported on a virtual device, it stays cold."),
        ("failed", 3, "It cannot be imported here: No module named 'acme'."),
    ],
)
def test_a_probe_confirms_a_line_or_says_why_not(status: str, line: int, said: str) -> None:
    one = surveyed(
        cause("engine/core.py", "a.true"),
        read={"engine/core.py a.true": TRUE},
        probes={"engine.core": probe(status, line)},
    )
    assert said in page.page([one], "2026-01-02")


def test_the_page_has_a_row_and_a_section_for_a_package_and_names_the_cold_ones() -> None:
    one = surveyed(
        cause("engine/core.py", "a.true", warms=3),
        *(cause(f"engine/m{number}.py", "a.true", "conditional") for number in range(5)),
        *(cause(f"engine/io{number}.py", "import bnb", warms=number + 1) for number in range(4)),
        read={"engine/core.py a.true": Reading(True, "Reported before.")}
        | {f"engine/m{number}.py a.true": TRUE for number in range(5)},
        imported={"bnb": TRUE},
        fixes={
            "patches": {"engine/core.py": "--- a\n+++ b\n-x\n+y\n", "engine/more.py": "-x\n"},
            "safe": ["engine/core.py a.true"],
        },
    )
    cold = Surveyed("other", "3", {"modules": 1, "warm": 0, "surely": 0, "causes": []}, {}, {}, {}, {})
    text = page.page([one, cold], "2026-01-02")
    assert "| [engine](#engine-12) 1.2 | 5 | 2 | 1 | 6 | bnb |" in text
    assert "Nothing was found in other 3." in text
    section = text.partition("## engine 1.2\n\n")[2]
    lines = section.splitlines()
    assert lines[0] == (
        "- `engine/core.py:3` calls `a.true`: certain. It wakes 3 modules, `engine` among them."
    )
    assert lines[1] == "  Reported before."
    assert lines[2] == ("- `engine/m0.py:3` calls `a.true`: if acme is installed. It wakes one module.")
    assert "- 2 more lines wake it, or would if these did not: `engine/m3.py:3`, `engine/m4.py:3`." in lines
    assert (
        "- `bnb` is imported at `engine/io3.py:3`, `engine/io2.py:3`, `engine/io1.py:3`"
        " and at 1 more: certain." in lines
    )
    assert "`coldfork check --fix --diff` prints\n\n```diff\n--- a\n+++ b\n-x\n+y\n-x\n```" in section


def test_what_is_long_is_named_and_not_printed() -> None:
    one = surveyed(
        cause("engine/core.py", "a.true", "conditional", condition="x and " * 20),
        read={"engine/core.py a.true": TRUE},
        fixes={"patches": {"engine/core.py": "-x\n" * 50}, "safe": []},
    )
    text = page.page([one], "2026-01-02")
    assert "if several conditions hold, which `check` prints. It wakes one module." in text
    assert "`coldfork check --fix=unsafe` mends `engine/core.py` with a patch of 50 lines." in text
