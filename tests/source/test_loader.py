"""Files are read once, by as many processes as it takes, and again when they are no longer what they were."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from coldfork.source.files.workers import can_fork
from coldfork.source.program import loader as reading
from coldfork.source.program.loader import Loader
from tests.source.expectations import RUNNING

COUNT = 40


@pytest.fixture
def loader() -> Iterator[Loader]:
    """A loader that has one process beside this one."""
    made = Loader(RUNNING, jobs=2, remembering=True)
    yield made
    made.close()


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """Files that each bind a name of their own."""
    found = []
    for number in range(COUNT):
        path = tmp_path / f"m{number}.py"
        path.write_text(f"name{number} = {number}\n", encoding="utf-8")
        found.append(str(path))
    return found


def names(loader: Loader, paths: list[str]) -> list[str]:
    """The names that the files bind, as they are known without reading anything more."""
    before = loader.read
    found = [name for path in paths for name in loader.summary(path).binds]
    assert loader.read == before
    return found


def test_one_process_tells_how_far_it_is(loader: Loader, paths: list[str]) -> None:
    told: list[tuple[str, int, int, str]] = []
    loader.load_many(paths, lambda *what: told.append(what))
    assert [one[:3] for one in told] == [("reading", 0, COUNT), ("reading", 32, COUNT)]
    assert [one[3] for one in told] == ["/".join(Path(path).parts[-3:]) for path in (paths[0], paths[32])]
    assert names(loader, paths) == [f"name{number}" for number in range(COUNT)]
    assert loader.read == COUNT


@pytest.mark.skipif(not can_fork(), reason="there are no helper processes without fork")
@pytest.mark.skipif(not can_fork(), reason="there are no processes here")
def test_several_processes_read_what_one_would_and_tell_how_far_they_are(
    loader: Loader, paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = Loader(RUNNING, jobs=1, remembering=True)
    alone.load_many(paths)
    monkeypatch.setattr(reading, "_WORTH_SHARING", 0)
    monkeypatch.setattr(reading, "_WORTH_A_WORKER", 0)
    told: list[tuple[str, int, int, str]] = []
    loader.load_many([*paths, str(tmp_path / "gone.py")], lambda *what: told.append(what))
    assert [one[:3] for one in told] == [("reading", 0, COUNT + 1), ("reading", 32, COUNT + 1)]
    assert names(loader, paths) == names(alone, paths)
    assert loader.stored == alone.stored
    assert (loader.read, loader.bytes_read) == (COUNT + 1, alone.bytes_read)


def test_what_is_known_is_not_read_again(loader: Loader, paths: list[str]) -> None:
    loader.load_many(paths)
    loader.load_many(paths)
    assert loader.read == COUNT
    later = Loader(RUNNING, jobs=1, remembering=True)
    later.stored = dict(loader.stored)
    later.load_many(paths)
    assert (later.read, later.changed) == (0, False)
    assert names(later, paths) == names(loader, paths)


def test_what_was_only_touched_is_not_read_and_what_was_edited_is(loader: Loader, paths: list[str]) -> None:
    loader.load_many(paths)
    later = Loader(RUNNING, jobs=1, remembering=True)
    later.stored = dict(loader.stored)
    os.utime(paths[0], (1, 1))
    later.load_many(paths)
    assert (later.read, later.changed) == (0, True)
    last = Loader(RUNNING, jobs=1, remembering=True)
    last.stored = dict(later.stored)
    Path(paths[1]).write_text("another = 1\n", encoding="utf-8")
    last.load_many(paths)
    assert last.read == 1
    assert names(last, paths[:3]) == ["name0", "another", "name2"]


def test_nothing_is_kept_unless_the_run_remembers(paths: list[str]) -> None:
    forgetful = Loader(RUNNING, jobs=1, remembering=False)
    forgetful.load_many(paths)
    assert forgetful.stored == {}
    assert not forgetful.changed
    assert forgetful.seen(paths[0]) is None


def test_an_installed_file_is_told_from_its_package_on(tmp_path: Path) -> None:
    file = tmp_path / "site-packages/torch/nn/modules/linear/deep.py"
    file.parent.mkdir(parents=True)
    file.touch()
    told: list[str] = []
    Loader((3, 13), 1, remembering=False).load_many([str(file)], lambda *what: told.append(what[3]))
    assert told == ["torch/nn/modules/linear/deep.py"]
