"""A host with eight virtual devices, as NVML shows them to every process, and locks of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from coldfork.virtual import management
from coldfork.virtual.management import VirtualBoard

HERE = Path(__file__).parent
SECONDS = 60


class Program:
    """A process that does as it is told, line by line."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "obedient.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self.pid = self._process.pid

    def tell(self, **what: Any) -> None:
        """Have it do something, and do not wait."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def heard(self) -> dict[str, Any]:
        """Return the answer to the first question that is still open."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it ended with {self._process.wait(SECONDS)}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **what: Any) -> dict[str, Any]:
        """Have it do something."""
        self.tell(**what)
        return self.heard()

    def kill(self) -> None:
        """End it as the kernel does when memory is short."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(SECONDS)

    def close(self) -> None:
        """Let nothing of it be left."""
        self._process.kill()
        self._process.communicate()


class Host:
    """The things that processes of one host share."""

    def __init__(self, folder: Path) -> None:
        self._boards = folder / "boards"
        self.environment = {
            **{name: value for name, value in os.environ.items() if "VISIBLE_DEVICES" not in name},
            "COLDFORK_STATE_DIR": str(folder / "state"),
            **management.variables(self._boards),
        }
        self.programs: list[Program] = []
        self.show(management.boards(8))

    def show(self, boards: Sequence[VirtualBoard]) -> None:
        """Have these devices from now on."""
        self.boards = list(boards)
        management.write(self._boards, boards)

    def sees(self, **variables: str) -> dict[str, str]:
        """The environment of a process with these variables."""
        return {**self.environment, **variables}

    def start(self, **variables: str) -> Program:
        """A process that takes leases."""
        program = Program(self.sees(**variables))
        self.programs.append(program)
        return program


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """Eight devices of one model, all of them free."""
    if not sys.platform.startswith("linux"):
        pytest.skip("devices are leased on Linux")
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("there is no C compiler")
    made = Host(tmp_path)
    yield made
    for program in made.programs:
        program.close()
