"""Walks through a demonstration: runs its commands, shows their output, and reports differences."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path

import click

from coldfork.cli import output
from coldfork.cli.demos.steps import Command, Demo, Edit, Machine, Step

WIDTH = 80
_PATIENCE = 10
"""The seconds that an interrupted command may take to end."""


def machine() -> Machine:
    """Return the features of this machine that affect a demonstration."""
    from importlib.util import find_spec

    from coldfork.virtual import compiling, stubs

    try:
        # Compiled before the commands start, because several of them need it at the same time.
        compiling.library(Path(stubs.__file__).with_name("native") / "driver.c", stubs.DRIVER)
        driver = True
    except compiling.CannotCompileError:
        driver = False
    fork = hasattr(os, "fork")
    return Machine(torch=fork and find_spec("torch") is not None, driver=fork and driver)


class Walk:
    """A run of one demonstration in a folder."""

    def __init__(self, demo: Demo, folder: Path, machine: Machine, *, colour: bool) -> None:
        self._demo = demo
        self._folder = folder
        self._machine = machine
        self._colour = colour
        self._environment = _environment(folder, colour=colour)
        self.differed: list[str] = []
        self.steps = 0
        self.left_out = 0

    def write(self) -> None:
        """Write the files of the demonstration."""
        for name, text in self._demo.files.items():
            file = self._folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def go(self) -> None:
        """Take every step that is possible on this machine."""
        for stage in self._demo.stages:
            commands = [step for step in stage if isinstance(step, Command) and self._possible(step)]
            with self._running(commands) as running:
                for step in stage:
                    self._take(step, running)

    def outcome(self, seconds: float) -> str:
        """Return a summary of the walk in a few lines."""
        lines = [f"not as expected: {one}" for one in self.differed]
        done = self.steps - len(self.differed)
        lines.append(f"{done} of {self.steps} steps came out as expected, in {seconds:.1f} s.")
        if self.left_out:
            lines.append(
                f"{self.left_out} were left out: running a program on a virtual device needs torch, or "
                "Linux and a C compiler."
            )
        if not self.differed:
            lines.append("Now on code of your own: coldfork check PATH")
        return "\n".join(lines)

    def _possible(self, command: Command) -> bool:
        return self._machine.device or not command.needs_device

    def _take(self, step: Step, running: Mapping[Command, subprocess.Popen[bytes]]) -> None:
        if isinstance(step, Command) and step not in running:
            self.left_out += 1
            return
        self.steps += 1
        output.write(f"\n{self._styled(filled(f'{self.steps}. {step.why}'), bold=True)}")
        if isinstance(step, Edit):
            self._edit(step)
        else:
            self._show(step, running[step])

    def _edit(self, edit: Edit) -> None:
        file = self._folder / edit.file
        before = file.read_text(encoding="utf-8")
        after = before.replace(edit.old, edit.new)
        file.write_text(after, encoding="utf-8")
        lines = unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), edit.file, edit.file, n=0
        )
        output.write("".join(lines))

    def _show(self, command: Command, process: subprocess.Popen[bytes]) -> None:
        output.write(f"{self._styled(f'$ {command.line}', fg='cyan')}\n")
        printed = process.communicate()[0].decode("utf-8", "replace").replace(os.linesep, "\n")
        output.write(printed if printed.endswith("\n") or not printed else f"{printed}\n")
        trouble = []
        if process.returncode != command.status:
            trouble.append(f"it ended with {process.returncode}, not {command.status}")
        if command.says not in click.unstyle(printed):
            trouble.append(f"it did not print {command.says!r}")
        if trouble:
            self.differed.append(f"step {self.steps}, {command.line}: {'; '.join(trouble)}")

    def _styled(self, text: str, *, bold: bool | None = None, fg: str | None = None) -> str:
        return click.style(text, bold=bold, fg=fg) if self._colour else text

    @contextmanager
    def _running(self, commands: list[Command]) -> Iterator[dict[Command, subprocess.Popen[bytes]]]:
        """Run these commands in the background during the block, and end them afterwards."""
        running: dict[Command, subprocess.Popen[bytes]] = {}
        try:
            for command in commands:
                running[command] = subprocess.Popen(
                    _arguments(command.line),
                    cwd=self._folder,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            yield running
        finally:
            for process in running.values():
                _end(process)


def _arguments(line: str) -> list[str]:
    program, *arguments = shlex.split(line)
    if program == "python":
        return [sys.executable, *arguments]
    # With -P, coldfork does not import files of the demonstration in place of its own modules.
    return [sys.executable, "-P", "-m", program, *arguments]


def _environment(folder: Path, *, colour: bool) -> dict[str, str]:
    """Return this environment without settings that would change what a newcomer's commands do."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COLDFORK_") or name == "COLDFORK_CACHE_DIR"
    }
    return kept | {
        "COLDFORK_STATE_DIR": str(folder / "state"),
        "COLDFORK_COLUMNS": str(WIDTH),
        "FORCE_COLOR" if colour else "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONUNBUFFERED": "1",  # unbuffered, so that the output of parent and child stays in order
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


def filled(text: str) -> str:
    """Wrap text for a terminal of 80 columns."""
    return "".join(
        f"{textwrap.fill(line, WIDTH - 1, break_long_words=False, break_on_hyphens=False)}\n"
        for line in text.splitlines()
    )
