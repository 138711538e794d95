"""Scripts of which no report is kept: because nobody wants one, or because there is no place for it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from coldfork import ScriptError, ScriptResult, arun_script, run_script
from coldfork.model.errors import UsageError
from tests.launch.read_only import read_only_but
from tests.launch.scripting import SECONDS, Bench, caller, until, variables
from tests.launch.somebody_else import somebody_else

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

SPEAKING = "import sys\nprint('said')\nprint('wrong', file=sys.stderr)\nraise SystemExit(3)\n"


class Place:
    """A folder of temporary files, and a home beside it."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "temporary"
        self.home = folder / "home"
        for one in (self.temporary, self.home):
            one.mkdir()

    def left(self) -> list[str]:
        """Return the entries of both folders."""
        return sorted(path.name for one in (self.temporary, self.home) for path in one.rglob("*"))

    def variables(self, **more: str) -> dict[str, str]:
        """The environment of a program that knows no other place."""
        found = {name: value for name, value in variables().items() if not name.startswith("XDG_")}
        found.pop("COLDFORK_STATE_DIR", None)
        return {**found, "TMPDIR": str(self.temporary), "HOME": str(self.home), **more}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    place = Place(tmp_path)
    for name in ("TMPDIR", "HOME"):
        monkeypatch.setenv(name, place.variables()[name])
    for name in ("XDG_STATE_HOME", "COLDFORK_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    return place


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def program(bench: Bench, before: list[str], environment: dict[str, str], *words: str) -> Any:
    """Run `coldfork exec`."""
    command = [*before, sys.executable, "-P", "-m", "coldfork", "exec", *words]
    return subprocess.run(
        command,
        cwd=bench.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_a_run_whose_report_nobody_wants_leaves_nothing(bench: Bench, place: Place) -> None:
    heard: list[str] = []
    result = run_script(
        bench.write(SPEAKING), report=False, timeout=SECONDS, on_line=lambda line: heard.append(line.text)
    )
    assert (result.status, result.stdout, result.stderr) == (3, "said\n", "wrong\n")
    assert sorted(heard) == ["said", "wrong"]
    assert result.no_report == "none was wanted"
    assert result.report["outcome"] == "failed"
    assert not result.run_dir.exists()
    assert place.left() == []


def test_lines_that_are_taken_late_are_all_there(bench: Bench, place: Place) -> None:
    script = bench.write("for number in range(100_000): print(number)")

    async def main() -> tuple[int, ScriptResult]:
        run = arun_script(script, report=False, timeout=SECONDS)
        taken = 0
        async for line in run:
            assert line.text == str(taken)
            taken += 1
            if taken == 1:
                # By now it has ended, and its files are gone.
                await run
        return taken, await run

    taken, result = asyncio.run(main())
    assert taken == 100_000
    assert result.ok
    assert place.left() == []


def test_an_error_names_no_folder_that_is_gone(bench: Bench, place: Place) -> None:
    with pytest.raises(ScriptError) as caught:
        run_script(bench.write(SPEAKING), report=False, check=True)
    assert str(caught.value) == "the script ended with status 3; no report of it is kept"
    with pytest.raises(UsageError, match="cannot start the Python interpreter"):
        run_script(bench.write("pass"), report=False, python=bench.write("no program", "python"))
    assert place.left() == []


def test_a_place_for_a_report_that_is_not_kept_is_refused(bench: Bench) -> None:
    with pytest.raises(UsageError, match="give log_dir or report=False, not both"):
        run_script(bench.write("pass"), report=False, log_dir=bench.runs)


def test_one_whose_caller_has_died_is_cleared_away(bench: Bench, place: Place) -> None:
    script = bench.write("import time\nprint('begun', flush=True)\ntime.sleep(600)")
    text = f"""
        from coldfork import run_script
        tell = lambda line: print(line.text, flush=True)
        run_script({str(script)!r}, report=False, grace=0.1, on_line=tell)
    """
    command = caller(text)
    with subprocess.Popen(command, env=place.variables(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        assert place.left() != []
        process.send_signal(signal.SIGKILL)
    until(lambda: place.left() == [], "the supervisor's clearing up")


def test_the_command_without_a_report_writes_nothing_elsewhere(bench: Bench, place: Place) -> None:
    """The system itself refuses every file that is not among the temporary ones."""
    bench.write("import os, sys\nsys.exit(not os.statvfs(sys.argv[1]).f_flag & os.ST_RDONLY)")
    words = ("--no-report", "script.py", str(place.home))
    done = program(bench, read_only_but(place.temporary), place.variables(), *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert place.left() == []


def test_a_read_only_home_costs_the_report_and_not_the_run(bench: Bench, place: Place) -> None:
    bench.write(SPEAKING)
    folder = place.home / ".local" / "state" / "coldfork" / "runs"
    done = program(bench, read_only_but(place.temporary), place.variables(), "script.py")
    assert (done.returncode, done.stdout) == (3, "said\n")
    why = f"cannot write in {folder}: Read-only file system"
    ways = "choose another folder with --log-dir, or no report with --no-report"
    assert done.stderr == f"wrong\ncoldfork: no report of this run is kept: {why}; {ways}\n"
    assert place.left() == []


def test_the_result_says_why_a_read_only_home_holds_no_report(bench: Bench, place: Place) -> None:
    bench.write("print('said')")
    text = """
        import json
        from coldfork import run_script
        result = run_script("script.py")
        print(json.dumps([result.status, result.stdout, result.no_report]))
    """
    command = [*read_only_but(place.temporary), *caller(text)]
    done = subprocess.run(
        command,
        cwd=bench.folder,
        env=place.variables(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    why = f"cannot write in {place.home}/.local/state/coldfork/runs: Read-only file system"
    assert json.loads(done.stdout) == [0, "said\n", why]
    assert done.stderr == f"no report of this run is kept: {why}\n"
    assert place.left() == []


@pytest.mark.parametrize("home", ["/proc/nonexistent", None])
def test_no_home_at_all(bench: Bench, place: Place, home: str | None) -> None:
    """Below /proc nobody makes a folder, root neither."""
    bench.write("print('said')")
    environment = place.variables()
    del environment["HOME"]
    why = "there is no folder for it, because HOME is not set"
    if home is not None:
        environment["HOME"] = home
        why = f"cannot write in {home}/.local/state/coldfork/runs: No such file or directory"
    done = program(bench, [], environment, "script.py")
    assert (done.returncode, done.stdout) == (0, "said\n")
    assert done.stderr.startswith(f"coldfork: no report of this run is kept: {why}; ")
    assert done.stderr.count("\n") == 1
    quiet = program(bench, [], environment, "--quiet", "script.py")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "said\n", "")
    assert place.left() == []


def test_a_home_that_belongs_to_somebody_else(place: Place) -> None:
    text = """
        import sys
        from coldfork import run_script
        result = run_script(sys.argv[1])
        print(result.status, result.stdout, result.no_report)
    """
    with somebody_else() as other:
        script = other.folder / "script.py"
        script.write_text("print('said')", encoding="utf-8")
        script.chmod(0o644)
        home = Path("~root").expanduser()
        variables = place.variables(TMPDIR=str(other.folder), HOME=str(home))
        done = other.run(text, str(script), variables=variables)
        why = f"cannot write in {home}/.local/state/coldfork/runs: Permission denied"
        assert done.stdout == f"0 said\n {why}\n"
        assert done.stderr == f"no report of this run is kept: {why}\n"
        assert list(other.folder.iterdir()) == [script]


def test_a_folder_that_was_named_has_to_be_there(bench: Bench) -> None:
    """Somebody relies on it."""
    with pytest.raises(UsageError, match="cannot make a run directory in /proc/nonexistent"):
        run_script(bench.write("pass"), log_dir="/proc/nonexistent")


def test_without_a_place_for_temporary_files_it_is_said_which(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nonexistent")
    with pytest.raises(UsageError, match=r"a temporary folder: No such file.*; name another"):
        run_script(bench.write("pass"), report=False)
