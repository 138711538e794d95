"""`coldfork exec`: its options, its exit status, and what it says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launch.scripting import Bench, until
from tests.launch.sidebyside import Said, said_by, start
from tests.limits import overrun

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux"),
]

HOW_STARTED = (
    "import multiprocessing, os, sys\n"
    "print(sys.argv, __name__, sys.path[0], sys.flags, sys.executable, os.getcwd())\n"
    "print(sys.stdin.read(), multiprocessing.get_start_method(allow_none=True))\n"
    "print('to stderr', file=sys.stderr)\n"
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Scripts and their runs, whose reports are held against the schema."""
    bench = Bench(tmp_path)
    yield bench
    bench.require_described_reports()


def command(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "coldfork", "exec", "--log-dir", "runs", *words]


def isolated(bench: Bench, *words: str, given: str = "") -> Said:
    return said_by(command(*words), bench.folder, given)


def report(bench: Bench) -> dict[str, object]:
    found: dict[str, object] = json.loads((bench.only_run() / "report.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.must_hold
@pytest.mark.parametrize("dashes", [("--",), ()])
def test_a_script_says_and_is_told_the_same_as_with_python(bench: Bench, dashes: tuple[str, ...]) -> None:
    bench.write(HOW_STARTED)
    words = ["script.py", "one", "--timeout", "two words", "--", "-m", ""]
    plain = said_by([sys.executable, *words], bench.folder, "given")
    assert isolated(bench, *dashes, *words, given="given") == plain
    assert plain.status == 0


def test_a_module_runs_by_its_name(bench: Bench) -> None:
    bench.write("import sys; print(__spec__.name, sys.argv[1:])", "engine/post.py")
    assert isolated(bench, "--", "-m", "engine.post", "-x").output == "engine.post ['-x']\n"


@pytest.mark.parametrize(
    "text",
    [
        "raise SystemExit(7)",
        "raise SystemExit('a text')",
        "raise ValueError('x')",
        "import os; os._exit(9)",
        "import os; os.abort()",
        *(
            f"import os, signal; os.kill(os.getpid(), signal.{name})"
            for name in ("SIGTERM", "SIGKILL", "SIGINT")
        ),
        "syntax error",
    ],
)
def test_the_exit_status_is_the_scripts_own(bench: Bench, text: str) -> None:
    bench.write(text)
    plain = said_by([sys.executable, "script.py"], bench.folder)
    assert isolated(bench, "--", "script.py") == plain


def test_the_time_is_up(bench: Bench) -> None:
    bench.write("import time; print('begun', flush=True); time.sleep(600)")

    def attempt(limit: int) -> Said:
        if bench.runs.exists():
            shutil.rmtree(bench.runs)
        return isolated(bench, "--timeout", str(limit), "--", "script.py")

    limit, said = overrun(attempt, lambda said: bool(said.output))
    assert (said.status, said.output) == (124, "begun\n")
    run = bench.only_run()
    assert said.errors == (
        f"coldfork: the script took longer than {limit} s and was ended; see {run}/report.json\n"
    )
    assert report(bench)["outcome"] == "timed-out"


def test_what_it_leaves_running_is_named(bench: Bench) -> None:
    bench.write("import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)")
    said = isolated(bench, "--", "script.py")
    assert (said.status, said.errors) == (
        0,
        "coldfork: the script left sleep running, which was then ended\n",
    )


def test_a_killed_supervisor_is_told(bench: Bench) -> None:
    bench.write("import os, time; os.kill(os.getppid(), 9); time.sleep(600)")
    said = isolated(bench, "--", "script.py")
    assert said.status == 1
    assert said.errors.startswith("coldfork: the script's supervisor was killed, so it is unknown")
    assert report(bench)["state"] == "abandoned"


def test_options_reach_the_script(bench: Bench) -> None:
    bench.write(
        "import os, multiprocessing\n"
        "print(os.environ.get('CUDA_VISIBLE_DEVICES'), os.environ.get('MINE'), os.environ.get('HOME'),\n"
        "      multiprocessing.get_start_method())\n"
    )
    words = ["--devices", "1", "--env", "MINE=a=b", "--env", "HOME", "--start-method", "forkserver"]
    said = said_by(command(*words, "--", "script.py"), bench.folder, extra={"CUDA_VISIBLE_DEVICES": "4,6"})
    assert said.output == "6 a=b None forkserver\n"
    assert report(bench)["start_method"] == "forkserver"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "gone.py"], "there is no script 'gone.py' (looked from HERE)"),
        (["--devices", "3", "--", "script.py"], "there is no device 3 among those of this process: "),
        (["--start-method", "spwan", "script.py"], "there is no start method 'spwan'; did you mean 'spawn'?"),
        (["--python", "nowhere", "--", "script.py"], "there is no Python interpreter 'nowhere'"),
        (["--", "-m"], "-m needs a module as the first argument"),
    ],
)
def test_what_cannot_be_started_is_one_sentence_and_status_2(
    bench: Bench, words: list[str], said: str
) -> None:
    bench.write("pass")
    done = said_by(command(*words), bench.folder, extra={"CUDA_VISIBLE_DEVICES": "4,6"})
    assert (done.status, done.output) == (2, "")
    assert done.errors.startswith(f"coldfork: {said.replace('HERE', str(bench.folder))}")
    assert done.errors.count("\n") == 1


@pytest.mark.parametrize(
    "words", [[], ["--nonsense", "script.py"], ["--timeout", "0", "script.py"], ["--env", "=x", "script.py"]]
)
def test_a_line_that_makes_no_sense_has_status_2(bench: Bench, words: list[str]) -> None:
    assert isolated(bench, *words).status == 2


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGHUP", "SIGINT"])
def test_a_signal_sent_to_the_command_is_the_scripts(bench: Bench, name: str) -> None:
    bench.write(
        f"""
        import signal, sys, time
        heard = []
        signal.signal(signal.{name}, lambda *_: heard.append(1))
        print("begun", flush=True)
        while not heard:
            time.sleep(0.01)
        time.sleep(0.2)  # a second one would come now
        print(len(heard))
        sys.exit(3)
        """
    )
    process = start(command("--", "script.py"), bench.folder)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(getattr(signal, name))
    output, _ = process.communicate(timeout=60)
    assert (output, process.returncode) == ("1\n", 3)


@pytest.mark.must_hold
def test_whoever_reads_the_output_sees_its_end_when_the_script_closes_it(bench: Bench) -> None:
    bench.write(
        """
        import os, sys, time
        print("said", flush=True)
        os.close(1)
        while not os.path.exists("read"):
            time.sleep(0.01)
        """
    )
    process = subprocess.Popen(
        [*command("--", "script.py")],
        cwd=bench.folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "said\n"
        assert until(bench.runs.exists)
    finally:
        (bench.folder / "read").touch()
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_descriptors_that_were_passed_on_reach_the_script(bench: Bench) -> None:
    bench.write("import os; print(os.read(7, 100))")
    (bench.folder / "input").write_text("handed over")
    quoted = " ".join(command("--", "script.py"))
    done = subprocess.run(
        ["sh", "-c", f"exec 7<input; {quoted}"],
        cwd=bench.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    assert done.stdout == "b'handed over'\n", done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_as_with_python(bench: Bench, closed: str) -> None:
    bench.write(
        "import os, sys\n"
        "with open('seen', 'w') as place:\n"
        "    print([stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)], file=place)\n"
    )
    seen = []
    for words in ([sys.executable, "script.py"], command("--", "script.py")):
        subprocess.run(
            ["sh", "-c", f"{' '.join(words)} {closed}"],
            cwd=bench.folder,
            check=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        )
        seen.append((bench.folder / "seen").read_text(encoding="utf-8"))
    assert seen[0] == seen[1]
