"""How many runs a folder holds, and what in it is never touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.script import run_directory
from coldfork.launch.supervisor import report_file
from coldfork.model.errors import UsageError
from tests.launch.scripting import SECONDS, Bench, variables

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

HOUR = 3600


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def earlier(bench: Bench, count: int, hours: int = 10) -> list[Path]:
    """Runs that ended so long ago, the oldest first."""
    model = bench.run("print('said')")
    report = model.report
    made = []
    for number in range(count):
        run = bench.runs / f"20200101-0000{number // 60:02}-script-{number:08x}"
        run.mkdir()
        (run / "stdout").write_text("said\n", encoding="utf-8")
        listed = [{**report["attempts"][0], "id": run.name}]
        known = report_file.Report({**report, "id": run.name, "attempts": listed})
        report_file.write(os.fspath(run), known)
        made.append(run)
    for run in (*made, model.run_dir):
        moment = run.stat().st_mtime - hours * HOUR
        os.utime(run, (moment, moment))
    return [*made, model.run_dir]


def test_the_newest_are_kept_of_a_folder_that_somebody_named(bench: Bench) -> None:
    runs = earlier(bench, 5)
    newest = bench.run("pass", keep_runs=3).run_dir
    assert sorted(bench.runs.iterdir()) == sorted([*runs[-2:], newest])


def test_a_thousand_unless_told(bench: Bench) -> None:
    runs = earlier(bench, 1002)
    newest = bench.run("pass").run_dir
    assert sorted(bench.runs.iterdir()) == sorted([*runs[-999:], newest])
    assert run_directory.IN_LOG_DIR == 1000


def test_all_of_them_where_that_is_wanted(bench: Bench) -> None:
    earlier(bench, 1002)
    bench.run("pass", keep_runs="all")
    assert len(list(bench.runs.iterdir())) == 1004


def test_what_may_still_be_read_stays(bench: Bench) -> None:
    runs = earlier(bench, 3, hours=0)
    bench.run("pass", keep_runs=1)
    assert all(run.exists() for run in runs)


def test_what_coldfork_did_not_write_stays(bench: Bench) -> None:
    """Neither the folder of somebody else that looks like a run, nor a note that he has put into ours."""
    theirs = bench.runs / "20200101-000000-backup-0000abcd"
    without = bench.runs / "20200101-000000-notes-0000abce"
    for folder in (theirs, without):
        folder.mkdir(parents=True)
        (folder / "stdout").write_text("precious", encoding="utf-8")
    report_file.write(os.fspath(theirs), report_file.Report({"id": "something else", "state": "ended"}))
    (bench.runs / "notes.txt").write_text("precious", encoding="utf-8")
    runs = earlier(bench, 3)
    (runs[0] / "note.txt").write_text("precious", encoding="utf-8")
    (runs[1] / "kept").symlink_to(bench.runs)
    for folder in (theirs, without, *runs):
        os.utime(folder, (0, 0))
    before = {
        path: path.read_bytes() for path in (theirs / "stdout", without / "stdout", theirs / "report.json")
    }
    newest = bench.run("pass", keep_runs=1).run_dir
    assert {path: path.read_bytes() for path in before} == before
    assert (bench.runs / "notes.txt").read_text(encoding="utf-8") == "precious"
    assert [path.name for path in runs[0].iterdir()] == ["note.txt"]
    assert [path.name for path in runs[1].iterdir()] == ["kept"]
    assert not runs[2].exists()
    assert newest.exists()
    (theirs / "report.json").unlink()


def test_what_has_not_ended_stays(bench: Bench) -> None:
    (first, second, *_) = earlier(bench, 2)
    report = report_file.read(os.fspath(first))
    assert report is not None
    report_file.write(os.fspath(first), report_file.Report({**report.told(), "state": "started"}))
    for run in (first, second):
        os.utime(run, (0, 0))
    bench.run("pass", keep_runs=1)
    assert first.exists()
    assert not second.exists()
    report_file.write(os.fspath(first), report)


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "some"])
def test_what_is_no_number_of_runs_is_refused(bench: Bench, number: Any) -> None:
    with pytest.raises(UsageError, match='keep_runs has to be a whole number, 1 or more, or "all", not'):
        bench.run("pass", keep_runs=number)


@pytest.mark.parametrize(("number", "left"), [("2", 2), ("all", 5), ("0", None), ("few", None)])
def test_the_command_keeps_as_many(bench: Bench, number: str, left: int | None) -> None:
    bench.write("pass")
    earlier(bench, 3)
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "coldfork",
            "exec",
            "--log-dir",
            "runs",
            "--keep-runs",
            number,
            "script.py",
        ],
        cwd=bench.folder,
        env=variables(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if left is None:
        assert done.returncode == 2
        assert f"'{number}' is not a number from 1 up, and not `all`" in done.stderr
    else:
        assert (done.returncode, done.stderr) == (0, "")
        assert len(list(bench.runs.iterdir())) == left
