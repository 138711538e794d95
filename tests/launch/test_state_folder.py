"""The state folder, and what in it makes room for new recordings and runs."""

from __future__ import annotations

import os
from pathlib import Path

from coldfork.launch.state_folder import state_folder, surplus

HOUR = 3600


def written(folder: Path, name: str, moment: float) -> Path:
    """A file that was last written to at this moment."""
    file = folder / name
    file.touch()
    os.utime(file, (moment, moment))
    return file


def test_the_latest_are_kept(tmp_path: Path) -> None:
    files = [written(tmp_path, name, moment) for name, moment in (("b", 10), ("a", 20), ("c", 5))]
    assert surplus(files, 1, now=10 * HOUR) == [files[0], files[2]]
    assert surplus(files, 3, now=10 * HOUR) == []


def test_what_may_be_in_use_is_kept(tmp_path: Path) -> None:
    files = [written(tmp_path, name, moment) for name, moment in (("b", 10), ("a", 20))]
    assert surplus(files, 0, now=HOUR + 20) == [files[0]]


def test_what_is_gone_by_then_is_nothing_to_delete(tmp_path: Path) -> None:
    assert surplus([tmp_path / "gone"], 0) == []


def test_links_on_the_way_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert state_folder({"COLDFORK_STATE_DIR": str(tmp_path / "link")}, "linux") == tmp_path / "real"
    assert state_folder({}, "linux") is None
