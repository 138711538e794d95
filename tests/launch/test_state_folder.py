"""The state folder, and what in it makes room for new recordings and runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coldfork.launch.script import run_directory
from coldfork.launch.state_folder import KEPT, chosen_place, new_place, state_folder, surplus
from coldfork.launch.supervisor import report_file
from coldfork.model.errors import UsageError
from coldfork.observe.recording.recorder import Recorder

HOUR = 3600


def written(folder: Path, name: str, moment: float) -> Path:
    """A file that was last written to at this moment."""
    file = folder / name
    file.touch()
    os.utime(file, (moment, moment))
    return file


def test_the_latest_are_kept(tmp_path: Path) -> None:
    files = [written(tmp_path, name, moment) for name, moment in (("b", 10), ("a", 20), ("c", 5))]
    assert surplus(files, 1, 100) == [files[0], files[2]]
    assert surplus(files, 3, 100) == []


def test_large_ones_make_room_however_few_and_new_they_are(tmp_path: Path) -> None:
    files = [written(tmp_path, name, moment) for name, moment in (("b", 10), ("a", 20), ("c", 5))]
    for file in files:
        os.truncate(file, 60)
        os.utime(file, (file.stat().st_atime,) * 2)
    assert surplus(files, 20, 100) == [files[0], files[2]]


def test_a_recording_in_use_is_kept(tmp_path: Path) -> None:
    variables = {"COLDFORK_STATE_DIR": str(tmp_path)}
    code = (
        "from coldfork.launch.state_folder import new_place\n"
        f"print(new_place({variables!r}, 'linux'), flush=True)\ninput()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        made = Path(os.fsdecode(holder.stdout.readline().strip()))
        held = made.rename(made.with_name("run-held.coldfork"))
        os.utime(held, (1, 1))
        for number in range(KEPT):
            written(held.parent, f"run-{number}.coldfork", HOUR + number)
        new_place(variables, "linux")
        assert held.exists()
        holder.communicate(b"\n")
    new_place(variables, "linux")
    assert not held.exists()


def test_what_is_gone_by_then_is_nothing_to_delete(tmp_path: Path) -> None:
    assert surplus([tmp_path / "gone"], 0, 0) == []


def test_links_on_the_way_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert state_folder({"COLDFORK_STATE_DIR": str(tmp_path / "link")}, "linux") == tmp_path / "real"
    assert state_folder({}, "linux") is None


def test_old_recordings_make_room(tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    files = [written(folder, f"run-{number}.coldfork", number) for number in range(KEPT + 2)]
    kept = written(folder, "mine.txt", 0)
    made = new_place({"COLDFORK_STATE_DIR": str(tmp_path)}, "linux")
    assert sorted(folder.iterdir()) == sorted([*files[3:], kept, made])


def test_old_runs_make_room_once_they_have_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDFORK_STATE_DIR", str(tmp_path))
    folder = tmp_path / "runs"
    states = {"00000001": "ended", "00000002": "started", "00000003": None, "00000004": "abandoned"}
    runs = {}
    for number in range(1, run_directory.IN_STATE_FOLDER + 5):
        mark = f"{number:08}"
        runs[mark] = folder / f"20200101-000000-script-{mark}"
        runs[mark].mkdir(parents=True)
        state = states.get(mark, "ended")
        if state is not None:
            known = report_file.Report({"state": state, "id": runs[mark].name})
            report_file.write(os.fspath(runs[mark]), known)
        os.utime(runs[mark], (number, number))
    # This one has a supervisor, which holds its lock.
    lock = run_directory._locked(runs["00000002"])
    made = run_directory.make("script.py", None)
    made.let_go()
    assert lock is not None
    os.close(lock)
    gone = {mark for mark, path in runs.items() if not path.exists()}
    assert gone == {"00000001", "00000004", "00000005"}


def recording(file: Path) -> Path:
    file.write_bytes(b'{"event":"header"}\n')
    return file


def test_a_recording_belongs_to_one_process(tmp_path: Path) -> None:
    """Two programs that record to one file would share one verdict."""
    file = recording(tmp_path / "run.coldfork")
    code = (
        "from pathlib import Path\nfrom coldfork.launch.state_folder import chosen_place\n"
        f"chosen_place(Path({str(file)!r}))"
    )
    command = [sys.executable, "-c", code + "\nprint(flush=True)\ninput()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"\n"
        with pytest.raises(
            UsageError, match="is in use by another recording; name another file with --output"
        ):
            chosen_place(file)
        holder.communicate(b"\n")
    assert chosen_place(file).read_bytes() == b""


def test_what_is_left_of_an_earlier_program_does_not_write_into_a_new_recording(tmp_path: Path) -> None:
    file = tmp_path / "run.coldfork"
    with recording(file).open("ab", buffering=0) as former:
        status = file.stat()
        chosen_place(file)
        former.write(b"late\n")
    late = Recorder(str(file), identity=(status.st_dev, status.st_ino))
    late({"event": "trouble"})
    assert file.read_bytes() == b""
    assert late.lost == 1
