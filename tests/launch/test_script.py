"""An isolated script runs as it would alone, and leaves behind what happened."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

import coldfork
from coldfork.launch.script.output_lines import OutputLine
from coldfork.launch.script.result import OUTPUT_KEPT, Outcome
from tests.launch.scripting import Bench

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="scripts are isolated on Linux")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_script_runs_and_its_end_is_told(bench: Bench) -> None:
    result = bench.run(
        "import sys; print('out', sys.argv[1:]); print('err', file=sys.stderr)", "one", "two three"
    )
    assert (result.outcome, result.ok, result.status, result.signal) == ("succeeded", True, 0, None)
    assert (result.stdout, result.stderr) == ("out ['one', 'two three']\n", "err\n")
    assert result.run_dir == bench.only_run()
    assert result.peak_memory_bytes is not None
    assert result.peak_memory_bytes > 4 * 1024 * 1024
    assert result.enforced
    assert result.exception is None


def test_the_run_directory_is_private_and_holds_three_files(bench: Bench) -> None:
    run = bench.run("print('said')").run_dir
    assert sorted(path.name for path in run.iterdir()) == ["report.json", "stderr", "stdout"]
    assert (run / "stdout").read_text(encoding="utf-8") == "said\n"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (run, *run.iterdir())}
    assert modes == {0o700, 0o600}


def test_the_report_holds_what_it_promises(bench: Bench) -> None:
    result = bench.run("import sys; sys.exit(3)", "--level", "2")
    report = json.loads((result.run_dir / "report.json").read_text(encoding="utf-8"))
    assert report == result.report
    assert report["state"] == "ended"
    assert (report["outcome"], report["status"], report["signal"]) == ("failed", 3, None)
    assert report["command"] == [sys.executable, str(bench.folder / "script.py"), "--level", "2"]
    assert report["start_method"] == "spawn"
    assert report["parent"]["pid"] == os.getpid()
    assert "cuda" in {state["accelerator"] for state in report["parent"]["states"]}
    assert "cuda" in {state["accelerator"] for state in report["child"]["states"]}
    assert report["child"]["enforced"] == "spawn"
    assert report["environment"]["set"]["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"
    assert report["seconds"] > 0
    assert report["started"] < report["ended"]
    assert report["output"]["stdout"] == {"bytes": 0, "left_out": 0, "trouble": None}


def test_a_report_says_started_while_the_script_runs(bench: Bench) -> None:
    seen = bench.run(
        """
        import json, sys
        from pathlib import Path
        (run,) = Path(sys.argv[1]).iterdir()
        print((run / "report.json").read_text())
        """,
        str(bench.runs),
    )
    report = json.loads(seen.stdout)
    assert (report["state"], report["outcome"], report["ended"]) == ("started", None, None)
    assert report["parent"]["states"]


def test_the_exception_is_told_with_its_traceback_and_its_cause(bench: Bench) -> None:
    result = bench.run(
        """
        def inner():
            raise KeyError("deep")

        def outer():
            try:
                inner()
            except KeyError as error:
                raise RuntimeError("shallow") from error

        outer()
        """
    )
    error = result.exception
    assert error is not None
    assert (error["type"], error["message"]) == ("RuntimeError", "shallow")
    assert [frame["function"] for frame in error["stack"]] == ["<module>", "outer"]
    assert [frame["line"] for frame in error["stack"]] == [11, 9]
    (cause,) = error["caused_by"]
    assert (cause["type"], cause["stack"][-1]["function"]) == ("KeyError", "inner")
    assert "RuntimeError: shallow" in result.stderr


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGUSR1"])
def test_a_signal_is_told_by_name(bench: Bench, name: str) -> None:
    result = bench.run(f"import os, signal; os.kill(os.getpid(), signal.{name})")
    assert (result.outcome, result.status, result.signal) == (Outcome.KILLED, None, name)


def test_an_interrupted_script_ends_as_python_does(bench: Bench) -> None:
    result = bench.run("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)")
    assert (result.outcome, result.signal) == (Outcome.KILLED, "SIGINT")
    assert result.exception is not None
    assert result.exception["type"] == "KeyboardInterrupt"


def test_a_script_that_leaves_in_a_hurry_is_told_with_its_states(bench: Bench) -> None:
    result = bench.run("import os; os._exit(7)")
    assert result.status == 7
    assert result.states is not None


def test_a_script_that_was_killed_could_tell_no_states(bench: Bench) -> None:
    assert bench.run("import os; os.kill(os.getpid(), 9)").states is None


def test_check_raises_an_error_with_the_result(bench: Bench) -> None:
    with pytest.raises(coldfork.ScriptError) as caught:
        bench.run("raise ValueError('no')", check=True)
    assert caught.value.result.status == 1
    assert str(caught.value).startswith("the script ended with status 1 (ValueError: no); its output and its")
    assert str(bench.only_run()) in str(caught.value)


def test_a_module_runs_by_its_name(bench: Bench) -> None:
    bench.write("print('package')", "engine/__init__.py")
    bench.write("import sys; print(__name__, __spec__.name, sys.argv[1:])", "engine/post.py")
    result = coldfork.run_script("-m", ["engine.post", "--x"], cwd=bench.folder, log_dir=bench.runs)
    assert result.stdout == "package\n__main__ engine.post ['--x']\n"


def test_a_module_that_is_not_there_fails_as_with_python(bench: Bench) -> None:
    result = coldfork.run_script("-m", ["no_such_engine"], cwd=bench.folder, log_dir=bench.runs)
    assert result.status == 1
    assert "No module named no_such_engine" in result.stderr


def test_a_relative_script_is_found_from_the_caller_and_not_from_cwd(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("import os; print(os.getcwd())")
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(bench.folder)
    result = coldfork.run_script("script.py", cwd="elsewhere", log_dir=bench.runs)
    assert result.stdout.strip() == str(elsewhere)


@pytest.mark.parametrize(
    "name", ["two words.py", "new\nline.py", "-x.py", "größe.py", "$(touch hit).py", "bad\udcff.py"]
)
def test_a_script_may_have_any_name(bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.folder)
    bench.write("import sys; print(ascii(sys.argv[0].removeprefix('./')))", name)
    result = coldfork.run_script(name, log_dir=bench.runs)
    assert result.stdout == f"{name!a}\n"
    assert not (bench.folder / "hit").exists()


def test_arguments_reach_the_script_unchanged(bench: Bench) -> None:
    words = ["", " ", "a\nb", "*", "$HOME", "'\"", "-", "--", "é", "\udcfe", "x" * 100_000]
    result = bench.run("import sys; print(ascii(sys.argv[1:]))", *words)
    assert result.stdout == f"{words!a}\n"


@pytest.mark.parametrize("given", [b"by\xfftes\n", "text\n"])
def test_what_is_given_is_read(bench: Bench, given: bytes | str) -> None:
    result = bench.run("import sys; print(sys.stdin.buffer.read())", stdin=given)
    assert result.stdout == f"{given if isinstance(given, bytes) else given.encode()!r}\n"


def test_a_file_is_read_from_where_it_stands(bench: Bench) -> None:
    place = bench.folder / "input"
    place.write_bytes(b"onetwo")
    with place.open("rb", buffering=0) as stream:
        stream.seek(3)
        assert bench.run("print(input())", stdin=stream).stdout == "two\n"


def test_without_input_there_is_nothing_to_read(bench: Bench) -> None:
    assert bench.run("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


def test_a_script_may_close_its_input_and_be_given_much(bench: Bench) -> None:
    result = bench.run("import os; os.close(0); print('done')", stdin=b"x" * 5_000_000)
    assert result.stdout == "done\n"


def test_output_that_is_no_text_is_kept_as_it_is(bench: Bench) -> None:
    result = bench.run(r"import sys; sys.stdout.buffer.write(b'a\xff\xfe\nb\x00c')")
    assert result.stdout == "a\\xff\\xfe\nb\0c"
    assert (result.run_dir / "stdout").read_bytes() == b"a\xff\xfe\nb\x00c"


def test_lines_and_progress_arrive_while_the_script_runs(bench: Bench) -> None:
    flag = bench.folder / "go on"
    heard: list[str] = []

    def on_line(line: OutputLine) -> None:
        heard.append(f"{line.stream}: {line.text}")
        if line.text == "first":
            flag.touch()

    bench.run(
        """
        import sys, time
        from pathlib import Path
        import coldfork
        print("first", flush=True)
        while not Path(sys.argv[1]).exists():
            time.sleep(0.01)
        for done in range(1, 4):
            coldfork.progress(done, 3)
        sys.stderr.write("second\\r\\n")
        sys.stdout.write("without an end")
        """,
        str(flag),
        on_line=on_line,
        on_progress=lambda done, total: heard.append(f"{done}/{total}"),
    )
    assert heard[0] == "stdout: first"
    assert "3/3" in heard
    assert sorted(heard[1:])[-2:] == ["stderr: second", "stdout: without an end"]


@pytest.mark.once
def test_quick_steps_are_all_told_and_those_of_a_tight_loop_are_not(bench: Bench) -> None:
    script = """
        import coldfork
        for done in range(1, 6):
            coldfork.progress(done, 10)
        for done in range(100_000):
            coldfork.progress(done, 100_001)
        """
    heard: list[tuple[int, int]] = []
    result = bench.run(script, on_progress=lambda *step: heard.append(step))
    assert heard[:5] == [(done, 10) for done in range(1, 6)]
    assert result.seconds is not None
    assert 5 < len(heard) <= 25 + result.seconds * 21


def test_progress_in_a_program_of_its_own_does_nothing() -> None:
    coldfork.progress(1, 2)


@pytest.mark.once
@pytest.mark.must_hold
def test_a_gigabyte_of_output_is_read_and_its_ends_are_kept(bench: Bench) -> None:
    before = _resident()
    result = bench.run(
        """
        import os
        piece = b"x" * 1023 + b"\\n"
        os.write(1, b"the beginning\\n")
        for _ in range(1024):
            data = piece * 1024
            while data:
                data = data[os.write(1, data):]
        os.write(1, b"the end\\n")
        """,
        most_output=1_000_000,
    )
    assert result.status == 0
    kept = (result.run_dir / "stdout").read_bytes()
    counted = result.report["output"]["stdout"]
    assert counted["bytes"] == 1024**3 + len("the beginning\nthe end\n")
    assert kept.startswith(b"the beginning\nxxx")
    assert kept.endswith(b"xxx\nthe end\n")
    assert f"\n[coldfork: {counted['left_out']} bytes are left out here]\n".encode() in kept
    assert len(kept) < 1_100_000
    assert len(result.stdout) <= OUTPUT_KEPT
    assert _resident() - before < 64 * 1024 * 1024


def test_a_callback_that_fails_ends_the_script_and_is_heard(bench: Bench) -> None:
    def on_line(line: object) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        bench.run("import time; print('x', flush=True); time.sleep(60)", on_line=on_line)
    assert json.loads((bench.only_run() / "report.json").read_text())["outcome"] == "cancelled"


def test_a_script_may_become_the_leader_of_a_session(bench: Bench) -> None:
    assert bench.run("import os; os.setsid(); print(os.getsid(0) == os.getpid())").stdout == "True\n"


def test_a_script_finds_signals_as_a_shell_leaves_them(bench: Bench) -> None:
    text = """
    import signal
    print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
    print([signal.getsignal(n) for n in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM)])
    """
    import subprocess

    plain = subprocess.run(
        [sys.executable, bench.write(text)], capture_output=True, text=True, check=True
    ).stdout
    assert bench.run(text).stdout == plain
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    try:
        assert str(signal.SIGUSR2) in bench.run(text).stdout or "SIGUSR2" in bench.run(text).stdout
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def test_without_a_folder_the_run_lies_in_the_state_folder(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDFORK_STATE_DIR", str(bench.folder / "state"))
    result = bench.run("pass", log_dir=None)
    assert result.run_dir.parent == bench.folder / "state" / "runs"


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
