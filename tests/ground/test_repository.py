"""The repository itself: its floors hold, it names no machine, and what it ships is complete."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
MADE = {".git", ".venv", ".bench", ".cache", ".hypothesis", "site", "dist", "__pycache__"}
# Put together here, so that this file does not hold what it looks for.
HOMES = re.compile(
    "|".join(("/ro" + "ot/", "/wo" + "rk/", r"/ho" + r"me/\w", r"/Us" + r"ers/\w", "/tm" + "p/"))
)
INDEXES = re.compile("|".join((r"py" + r"pi\.org", r"python" + r"hosted\.org", r"registry\.np" + r"mjs")))


def repository_files() -> Iterator[Path]:
    """The files a clone would hold, or all that was not made here when there is no git."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        candidates = [ROOT / name.decode() for name in listing.stdout.split(b"\0") if name]
    else:
        candidates = [path for path in ROOT.rglob("*") if MADE.isdisjoint(path.relative_to(ROOT).parts)]
    yield from (path for path in candidates if path.is_file() and not path.is_symlink())


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Every line of the repository that a pattern matches, with its place."""
    found = []
    for path in repository_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        place = path.relative_to(ROOT)
        found += [f"{place}:{number}: {line}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    return found


def test_the_repository_is_not_empty_to_these_tests() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in repository_files()}
    assert {"pyproject.toml", "dev", "src/coldfork/__init__.py", "LICENSE"} <= names


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert lines_with(HOMES) == []


def test_no_file_names_the_host_of_a_package_index() -> None:
    assert lines_with(INDEXES) == []


@pytest.mark.must_hold
def test_the_floors_of_the_house_hold() -> None:
    program = (
        "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache', '--no-logo'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_no_module_is_named_after_nothing() -> None:
    nameless = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [path for path in (ROOT / "src").rglob("*") if path.stem in nameless] == []


def built_wheel(folder: Path, **variables: str) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, env={**os.environ, **variables})
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    wheel = built_wheel(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
        entry_points = archive.read(
            next(name for name in shipped if name.endswith("entry_points.txt"))
        ).decode()
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "coldfork").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    # What is known of libraries was compiled from these, and nobody reads them again.
    made_of = {name for name in wanted if re.fullmatch(r"coldfork/knowledge/[^/]+\.toml", name)}
    assert made_of
    assert not made_of & shipped
    wanted -= made_of
    assert wanted <= shipped
    # It is good for every Python and every machine, whatever lies compiled in the checkout.
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not any(name.endswith(".so") for name in shipped)
    assert "coldfork = coldfork.cli.main:main" in entry_points
    assert any(name.endswith("licenses/LICENSE") for name in shipped)


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_compiled_wheel_says_for_which_machine_it_is(tmp_path: Path) -> None:
    wheel = built_wheel(tmp_path, COLDFORK_COMPILED="1")
    with zipfile.ZipFile(wheel) as archive:
        assert sum(name.endswith(".so") for name in archive.namelist()) == 1
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{python}-{python}-" in wheel.name


def test_the_commands_that_the_texts_show_exist() -> None:
    commands = set(re.findall(r"^([a-z]+)\)$", (ROOT / "dev").read_text(encoding="utf-8"), re.MULTILINE))
    assert "coldfork" in commands
    for name in ("README.md", "CONTRIBUTING.md", "examples/README.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert set(re.findall(r"\./dev ([a-z]+)", text)) <= commands | {"help"}, name


def test_links_between_the_texts_lead_somewhere() -> None:
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    assert texts
    for text in texts:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text.read_text(encoding="utf-8")):
            assert (text.parent / target).exists(), f"{text.relative_to(ROOT)} links to {target}"
