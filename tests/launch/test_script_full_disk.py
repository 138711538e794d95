"""A disk that is full takes no result away: not the status, not the end of the output, not the report."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.launch.full_disks import on_tiny_disk
from tests.launch.scripting import SECONDS, Bench, variables

if not sys.platform.startswith("linux"):
    pytest.skip("scripts are isolated on Linux", allow_module_level=True)

FULL = "No space left on device"
#: It fills the disk that it is given, says something before and after that, and ends with a status.
FILLING = """
    import sys, time
    from pathlib import Path
    disk, status = sys.argv[1:]
    print("first", flush=True)
    # Where the output goes into a file, that has to be there before the disk is full.
    while any(file.stat().st_size == 0 for file in Path(disk).glob("*/stdout")):
        time.sleep(0.01)
    with open(Path(disk) / "filler", "ab", 0) as filler:
        for size in (65536, 4096, 1):
            try:
                while True:
                    filler.write(bytes(size))
            except OSError:
                pass
    print("x" * 200_000)
    print("last", flush=True)
    print("an error", file=sys.stderr, flush=True)
    sys.exit(int(status))
"""
TELL = """
import json
def tell(result):
    told = {name: getattr(result, name) for name in ("outcome", "status", "stdout", "stderr", "notes")}
    print(json.dumps({**told, "report": result.report}))
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.write(FILLING)
    return made


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return tmp_path / "disk"


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return what a program told of a result."""
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


WAYS = {
    "run_script": "result = coldfork.run_script('script.py', [str(disk), status], log_dir=disk)",
    "arun_script": "import asyncio\nresult = asyncio.run(ran())",
    "async for": "import asyncio\nresult = asyncio.run(lined())",
}
HOW = """
import coldfork
status = sys.argv[2]
async def ran():
    return await coldfork.arun_script('script.py', [str(disk), status], log_dir=disk)
lines = []
async def lined():
    run = coldfork.arun_script('script.py', [str(disk), status], log_dir=disk)
    async for line in run:
        lines.append(line.text)
    assert {"first", "last", "an error"} <= set(lines), [line[:20] for line in lines]
    return await run
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [0, 3])
def test_a_script_that_fills_the_disk_of_its_run(bench: Bench, disk: Path, way: str, status: int) -> None:
    done = on_tiny_disk(disk, f"{HOW}\n{TELL}\n{WAYS[way]}\ntell(result)", str(status))
    result = told(done)
    assert (result["outcome"], result["status"]) == ("failed" if status else "succeeded", status)
    assert result["stdout"].startswith("first\n")
    assert result["stdout"].endswith("x\nlast\n")
    assert " bytes are left out here]" in result["stdout"]
    assert result["stderr"] == "an error\n"
    assert result["report"]["status"] == status
    about_stdout = f" bytes of stdout to its file: {FULL}"
    assert [note for note in result["notes"] if note.endswith(about_stdout)]


def test_a_state_folder_without_room_costs_the_report_only(bench: Bench, disk: Path) -> None:
    bench.write("print('said')", "short.py")
    program = f"""
fill()
os.environ["COLDFORK_STATE_DIR"] = str(disk / "state")
import coldfork
{TELL}
result = coldfork.run_script("short.py")
assert result.no_report.endswith("{FULL}"), result.no_report
assert not list(disk.glob("state/runs/*"))
tell(result)
"""
    (disk / "state").mkdir(parents=True)
    result = told(on_tiny_disk(disk, program))
    assert (result["outcome"], result["stdout"]) == ("succeeded", "said\n")


def test_the_old_report_makes_room_for_the_new_one(bench: Bench, disk: Path) -> None:
    program = f"""{HOW}\n{TELL}
{WAYS["run_script"]}
on_disk = json.loads((result.run_dir / "report.json").read_text())
assert on_disk == result.report, (on_disk, result.report)
assert (on_disk["state"], on_disk["outcome"]) == ("ended", "succeeded")
tell(result)
"""
    assert not [note for note in told(on_tiny_disk(disk, program, "0"))["notes"] if "report" in note]


#: The script grows until not even the room of the old report is enough for the new one.
LONG = """
    import sys
    from pathlib import Path
    with open(Path(sys.argv[1]) / "filler", "ab", 0) as filler:
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            pass
    raise ValueError("long " * 20_000)
"""


def test_a_report_for_which_there_is_no_room_at_all_reaches_the_caller(bench: Bench, disk: Path) -> None:
    bench.write(LONG)
    program = f"""{HOW}\n{TELL}
result = coldfork.run_script('script.py', [str(disk)], log_dir=disk)
assert sorted(place.name for place in result.run_dir.iterdir()) == ["stderr", "stdout"]
assert result.exception["type"] == "ValueError"
import pickle
assert pickle.loads(pickle.dumps(result)) == result
tell(result)
"""
    result = told(on_tiny_disk(disk, program, "0"))
    assert (result["outcome"], result["status"]) == ("failed", 1)
    assert f"cannot write the report: {FULL}" in result["notes"]
    assert result["stderr"].rstrip().endswith("long long")
    assert (result["report"]["state"], result["report"]["status"]) == ("ended", 1)


BECOMING = """
words = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", str(disk), "--", *sys.argv[2:]]
os.execv(words[0], words)
"""


@pytest.mark.parametrize("status", [0, 3])
def test_exec_ends_with_the_scripts_own_status(bench: Bench, disk: Path, status: int) -> None:
    done = on_tiny_disk(disk, BECOMING, "script.py", str(disk), str(status))
    assert (done.returncode, done.stderr) == (status, "an error\n")
    assert done.stdout.startswith("first\n")
    assert done.stdout.endswith("last\n")


def test_exec_says_that_the_report_found_no_room(bench: Bench, disk: Path) -> None:
    bench.write(LONG)
    done = on_tiny_disk(disk, BECOMING, "script.py", str(disk))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"coldfork: cannot write the report: {FULL}"


@pytest.mark.parametrize("way", ["exec", "run_script"])
def test_a_log_dir_that_is_full_from_the_start_is_said_in_one_line(
    bench: Bench, disk: Path, way: str
) -> None:
    """Nothing is started: there is no room for what it would say. And nothing is left of the attempt."""
    bench.write("from pathlib import Path; Path('began').touch()")
    option = ["--log-dir", str(disk)]
    program = {
        "exec": f"""
            fill()
            words = [sys.executable, "-P", "-m", "coldfork", "exec", *{option!r}, "--", "script.py"]
            import subprocess
            done = subprocess.run(words)
            assert not list(disk.rglob("*-script-*")), list(disk.rglob("*"))
            sys.exit(done.returncode)
            """,
        "run_script": """
            fill()
            import coldfork
            try:
                coldfork.run_script('script.py', log_dir=disk)
            except coldfork.ColdforkError as error:
                print(f"coldfork: {error}", file=sys.stderr)
                assert not list(disk.rglob("*-script-*")), list(disk.rglob("*"))
                sys.exit(2)
            """,
    }[way]
    done = on_tiny_disk(disk, program, COLDFORK_STATE_DIR=str(disk))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("coldfork: cannot ")
    assert FULL in line
    assert not (bench.folder / "began").exists()


def test_a_folder_with_room_for_no_further_file(bench: Bench, disk: Path) -> None:
    """The files of the output are made by the supervisor, who says it when they cannot be."""
    bench.write("from pathlib import Path; Path('began').touch()")
    program = """
        import coldfork
        for spare in range(30):
            for file in disk.glob("inode-*"):
                file.unlink()
            for old in disk.glob("2*"):
                import shutil
                shutil.rmtree(old)
            count = 0
            try:
                while True:
                    (disk / f"inode-{count}").touch()
                    count += 1
            except OSError:
                pass
            for number in range(min(spare, count)):
                (disk / f"inode-{number}").unlink()
            try:
                coldfork.run_script('script.py', log_dir=disk)
            except coldfork.ColdforkError as error:
                print(error)
            else:
                print("it ran")
                break
        """
    done = on_tiny_disk(disk, program, inodes=40)
    assert done.returncode == 0, done.stderr
    *refused, last = done.stdout.splitlines()
    assert last == "it ran"
    assert [line for line in refused if "its supervisor could not begin in " in line]
    assert all(line.endswith(FULL) or f"{FULL}; nothing was started" in line for line in refused), refused


def test_a_full_temporary_folder_is_none_of_ours(bench: Bench, disk: Path) -> None:
    bench.write("print('done')")
    program = f"""
        fill()
        {TELL.strip().replace(chr(10), chr(10) + " " * 8)}
        import coldfork
        tell(coldfork.run_script('script.py', log_dir='runs'))
        """
    result = told(on_tiny_disk(disk, program, TMPDIR=str(disk), TMP=str(disk)))
    assert (result["status"], result["stdout"], result["notes"]) == (0, "done\n", [])


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_errors_that_nobody_can_read_do_not_change_the_status(bench: Bench, unbuffered: str) -> None:
    """The last words of coldfork find no room either, and are still in a buffer when it ends."""
    bench.write("import subprocess, sys; subprocess.Popen(['sleep', '600']); sys.exit(5)")
    words = [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", "--", "script.py"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            words,
            stderr=full,
            cwd=bench.folder,
            env=variables({"PYTHONUNBUFFERED": unbuffered}),
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 5


def test_files_that_may_not_grow(bench: Bench) -> None:
    """A limit on the size of files is met by what the script writes; its end is kept all the same."""
    bench.write(
        """
        print("x" * 300_000)
        print("last")
        """
    )
    program = f"""
        import resource, signal, sys
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        {TELL.strip().replace(chr(10), chr(10) + " " * 8)}
        import coldfork
        tell(coldfork.run_script('script.py', log_dir='runs'))
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        cwd=bench.folder,
        env=variables(),
        timeout=SECONDS,
        check=False,
    )
    result = told(done)
    assert (result["status"], result["stdout"][-6:]) == (0, "\nlast\n")
    assert result["stdout"].startswith("xxx")
    assert len(result["stdout"]) > 100_000 + 60_000
    assert [note for note in result["notes"] if note.endswith(": File too large")]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100_000
