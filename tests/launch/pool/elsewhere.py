"""A fresh Python process that calls what it is sent, and a main module without a file to send it from."""

from __future__ import annotations

import io
import pickle
import struct
import subprocess
import sys
from types import ModuleType
from typing import Any

from coldfork.launch.pool.by_value.sender import dumps

RECEIVER = """
import pickle, struct, sys, traceback
from coldfork.launch.pool.by_value.sender import dumps

questions, answers = sys.stdin.buffer, sys.stdout.buffer
sys.stdout = sys.stderr
while head := questions.read(8):
    question = questions.read(struct.unpack("<Q", head)[0])
    try:
        call, arguments = pickle.loads(question)
        answer = dumps((True, call(*arguments)), main_by_value=True)
    except BaseException as error:
        answer = pickle.dumps((False, traceback.format_exc()))
    answers.write(struct.pack("<Q", len(answer)) + answer)
    answers.flush()
"""


class CallFailed(Exception):
    """The call raised over there; the text is its traceback."""


class Elsewhere:
    """The other process, which knows nothing of the main module here unless it is given its file."""

    def __init__(self, main: str | None = None) -> None:
        code = RECEIVER
        if main is not None:
            code = f"import runpy; globals().update(runpy.run_path({main!r}, run_name='elsewhere'))\n" + code
        self._by_value = main is None
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __call__(self, call: object, *arguments: object, onward: bool = False) -> Any:
        """Return the result of `call(*arguments)` in the other process."""
        return self.load(dumps((call, arguments), main_by_value=self._by_value, onward=onward))

    def load(self, question: bytes) -> Any:
        """Return the pickled call's result in the other process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(struct.pack("<Q", len(question)) + question)
        self._process.stdin.flush()
        size = struct.unpack("<Q", self._process.stdout.read(8))[0]
        good, value = pickle.load(io.BytesIO(self._process.stdout.read(size)))
        if not good:
            raise CallFailed(value)
        return value

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


class Notebook:
    """A main module that has no file, and whose cells are run one by one."""

    def __init__(self) -> None:
        self.module = ModuleType("__main__")

    def run(self, cell: str) -> None:
        """Run one cell."""
        exec(compile(cell, "<cell>", "exec"), vars(self.module))

    def __getitem__(self, expression: str) -> Any:
        return eval(expression, vars(self.module))
