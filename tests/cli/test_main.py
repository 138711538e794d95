"""The command itself: help that teaches, errors in one line, and an exit status that can be trusted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from inline_snapshot import snapshot

from coldfork import __version__
from coldfork.cli import main
from coldfork.cli.front import WIDEST, help_text
from coldfork.cli.main import COMMANDS, cli

Run = Callable[..., Result]


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python in a process of its own."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=60, **options
    )


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(run: Run, flag: str) -> None:
    result = run(flag)
    assert (result.exit_code, result.stdout) == (0, f"coldfork {__version__}\n")


def test_help_shows_every_command_and_where_to_start(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert result.stdout == snapshot("""\
Usage: coldfork [OPTIONS] COMMAND [ARGS]...

  Keep the accelerator cold until the right process wakes it.

  coldfork reads Python source, runs none of it, and names every line that
  initialises CUDA, ROCm, XPU, OpenCL or JAX when a module is imported, with the
  whole chain of calls from that line to the device.

Options:
  -V, --version  Show the version and exit.
  --debug        Show the traceback when coldfork itself fails.
  -h, --help     Show this message and exit.

Commands:
  demo        Break and mend a small program, step by step.
  check       Find the lines that wake an accelerator when a module is imported.
  probe       Import modules in fresh interpreters, and name the line that woke
              a device.
  run         Run a program as `python` does, and say what it did to
              accelerators.
  exec        Run a Python script isolated from whatever started it.
  warm        Keep servers ready that have imported what scripts need.
  ps          Show what is awake or poisoned in running Python processes.
  preload     Find what a server may import before it forks workers, and why not
              the rest.
  explain     Explain a log: the failure, the guilty line, and what to do.
  doctor      Check whether this machine and environment are fit for devices.
  report      Show a recording, or how two of them differ.
  guard       Warn of forks that would break the child, or refuse them, in every
              program.
  rule        Explain a rule, or list them all.
  baseline    Accept today's findings, so that only new ones fail.
  lsp         Serve an editor: findings while you type, and their fixes.
  mcp         Serve an agent: the tools check, explain and fix.
  skill       Print what a coding agent needs to know for its work.
  completion  Print the completion script for a shell.

  Start here:
    coldfork demo                            break and mend a small program, step by step
    coldfork check src/                      what wakes a device when it is imported
    coldfork check src/ --entry engine.api   only what importing engine.api runs
    coldfork rule device-init-at-import      what a rule means and what to write instead
    coldfork baseline write                  accept today's findings

  Exit status of check: 0 nothing found, 1 findings, 2 the check itself failed.
  Settings come from flags, then COLDFORK_* variables, then [tool.coldfork] in pyproject.toml.
""")


@pytest.mark.parametrize("columns", [40, 60, 80, 99, 100, 160])
def test_the_help_that_needs_no_click_is_the_one_that_click_writes(columns: int) -> None:
    written = CliRunner().invoke(cli, ["--help"], terminal_width=max(min(columns, WIDEST) - 2, 50))
    assert help_text(COMMANDS, columns) == written.stdout


def test_summaries_are_those_of_the_commands() -> None:
    context = click.Context(cli, help_option_names=["-h", "--help"])
    for name, (_, summary) in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert (command.help or "").partition("\n")[0] == summary


def test_help_imports_no_command() -> None:
    done = python("-X", "importtime", "-m", "coldfork", "--help")
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "coldfork.cli.main" in loaded
    assert not loaded & {
        "coldfork.cli.commands.check",
        "coldfork.rules.registry",
        "rich",
        "importlib.metadata",
    }


@pytest.mark.parametrize("arguments", [["check", "--help"], ["rule", "waking-import"], ["completion", "zsh"]])
def test_what_needs_no_engine_loads_none(arguments: list[str]) -> None:
    done = python("-X", "importtime", "-m", "coldfork", *arguments)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 0
    assert not loaded & {
        "coldfork.source.analysis",
        "coldfork.knowledge.catalogue",
        "rich",
        "msgspec",
        "tomllib",
    }


@pytest.mark.parametrize(
    ("line", "told", "needless"),
    [
        ("import os", "", r"knowledge\.c|model\.(causes|effects)|rules\.(causes|findings)|report\..*entries"),
        ("import torch; torch.cuda.init()", "device-init-at-import", ""),
    ],
)
def test_a_recalled_answer_loads_nothing_that_follows_code(
    tmp_path: Path, line: str, told: str, needless: str
) -> None:
    """Users wait for a check after every save: one of unchanged code is to start as fast as it can."""
    following = r"source\.(answering|evaluation|semantics|syntax|tracing|values)"
    never = re.compile(rf"coldfork\.({following}{'|' if needless else ''}{needless})")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text(f"{line}\n", encoding="utf-8")
    variables = {**os.environ, "COLDFORK_CACHE_DIR": str(tmp_path / "cache")}
    asked = ("check", str(tmp_path / "pkg"), "--site-packages", str(tmp_path), "-q")
    first, again = (python("-X", "importtime", "-m", "coldfork", *asked, env=variables) for _ in range(2))
    assert told in first.stdout
    assert (again.returncode, again.stdout) == (first.returncode, first.stdout)
    before, loaded = (
        {name for row in done.stderr.splitlines() if never.match(name := row.rpartition("|")[2].strip())}
        for done in (first, again)
    )
    assert len(before) > 80
    assert loaded == set()


def test_an_unknown_command_comes_with_the_near_match(run: Run) -> None:
    result = run("chek")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == snapshot("coldfork: there is no command 'chek'; did you mean coldfork check?\n")
    assert run("xyzzy").stderr == snapshot(
        "coldfork: there is no command 'xyzzy'; coldfork --help lists them\n"
    )


def test_an_unknown_flag_is_a_usage_error(run: Run) -> None:
    result = run("check", "--no-such-flag")
    assert result.exit_code == 2
    assert "--no-such-flag" in result.stderr


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make `coldfork rule` fail with an error of one's choice."""

    def fail_with(error: BaseException) -> None:
        def fail() -> None:
            raise error

        monkeypatch.setattr("coldfork.rules.registry.pages", fail)

    return fail_with


def test_an_internal_error_is_one_line(run: Run, failing: Callable[[BaseException], None]) -> None:
    failing(ZeroDivisionError("oops"))
    result = run("rule")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == snapshot(
        "coldfork: internal error: ZeroDivisionError: oops; "
        "run it again with --debug, and report what it says\n"
    )


@pytest.mark.parametrize("arguments", [("--debug", "rule"), ("rule", "--debug")])
def test_debug_shows_the_traceback(
    run: Run, failing: Callable[[BaseException], None], arguments: tuple[str, ...]
) -> None:
    failing(ZeroDivisionError("oops"))
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith("ZeroDivisionError: oops\n")


def test_an_interrupt_is_told_in_a_word(run: Run, failing: Callable[[BaseException], None]) -> None:
    failing(KeyboardInterrupt())
    result = run("rule")
    # The first line is the one on which the terminal shows ^C.
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "\ncoldfork: interrupted\n")


def test_the_module_runs_like_the_command() -> None:
    done = python("-m", "coldfork", "--version")
    assert (done.returncode, done.stdout) == (0, f"coldfork {__version__}\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE and no /dev/full")
def test_a_reader_that_goes_away_is_no_error() -> None:
    script = f"{sys.executable} -m coldfork rule waking-import | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full exists on Linux")
def test_a_full_disk_is_an_error() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 -- a device, not a file
        done = subprocess.run(
            [sys.executable, "-m", "coldfork", "rule"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == snapshot(
        (2, "coldfork: cannot write to standard output: No space left on device\n")
    )


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("ascii", b"\\xe9 \\u2192 \\udcff\n"),
        ("cp1252", b"\xe9 \\u2192 \\udcff\n"),
        ("utf-8", b"\xc3\xa9 \xe2\x86\x92 \\udcff\n"),
    ],
)
def test_what_an_encoding_lacks_is_written_as_an_escape(encoding: str, written: bytes) -> None:
    program = "from coldfork.cli.output import write; write('\\xe9 \\u2192 \\udcff\\n')"
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=environment)
    assert (done.stdout, done.stderr) == (written, b"")


def test_main_calls_the_group(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["coldfork", "--version"])
    with pytest.raises(SystemExit) as exit_:
        main.main()
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"coldfork {__version__}\n"


def test_an_interrupt_while_the_command_is_loaded_is_told_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["coldfork", "rule"])
    monkeypatch.setattr(main, "_program", interrupted)
    with pytest.raises(SystemExit) as exit_:
        main.main()
    assert (exit_.value.code, capsys.readouterr().err) == (130, "\ncoldfork: interrupted\n")


def test_it_works_with_click_standing_alone() -> None:
    assert CliRunner().invoke(cli, ["rule", "no-such-rule"]).exit_code == 2
