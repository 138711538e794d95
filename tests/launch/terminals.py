"""A terminal with a shell in it, as a person has it in front of them."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import time
from pathlib import Path

from tests.launch.sidebyside import SECONDS, variables

PROMPT = "ready> "


class Screen:
    """A terminal with a shell in it, and all that was written on it."""

    def __init__(self, folder: Path, shell: str) -> None:
        settings = {"PS1": PROMPT, "HISTFILE": "", "COLUMNS": "1000"}
        self._shell, self._terminal = pty.fork()
        if self._shell == 0:
            os.chdir(folder)
            os.execve(shell, [shell, "--norc", "--noprofile", "--noediting", "-i"], variables(settings))
        self._written = ""
        self._read_to = 0
        self.expect(PROMPT)

    def type(self, keys: str) -> None:
        """Press these keys."""
        os.write(self._terminal, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size, as a window does."""
        import fcntl
        import termios

        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def expect(self, text: str) -> None:
        """Read until this was written after what was expected before."""
        deadline = time.monotonic() + SECONDS
        while (found := self._written.find(text, self._read_to)) < 0:
            ready, _, _ = select.select([self._terminal], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} was not written; the screen shows {self._written!r}"
            self._written += os.read(self._terminal, 4096).decode("utf-8", "replace")
        self._read_to = found + len(text)

    def expect_foreground(self) -> None:
        """Wait until the shell has given the terminal to its job; it writes the job's line before that."""
        deadline = time.monotonic() + SECONDS
        while os.tcgetpgrp(self._terminal) == self._shell:
            assert time.monotonic() < deadline, f"the shell kept the terminal; it shows {self._written!r}"
            time.sleep(0.01)

    def shows(self, command: str) -> str:
        """Return the visible text, with the program's command under one name."""
        return self._written.replace("\r", "").replace(command, "PYTHON")

    def hang_up(self) -> None:
        """Take the terminal away, as a closed window does."""
        os.close(self._terminal)
        self._terminal = -1

    def close(self) -> None:
        """Hang up, and let the shell go."""
        if self._terminal >= 0:
            self.hang_up()
        os.kill(self._shell, signal.SIGKILL)
        os.waitpid(self._shell, 0)
