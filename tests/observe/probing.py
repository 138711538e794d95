"""Runs programs in fresh interpreters that ask for the states of accelerators and tell what they heard."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[2] / "src"

PRELUDE = """
import json, os, signal, sys, time
from coldfork.observe import states

_told = {}

def state(accelerator):
    '''The state of one accelerator, as [status, level].'''
    for found in states.examine():
        if found.accelerator == accelerator:
            return [found.status, found.level]

def reason(accelerator):
    return next(found.reason for found in states.examine() if found.accelerator == accelerator)

def tell(**facts):
    _told.update(facts)

def in_child(ask, seconds=20):
    '''What a forked child answers, or how it ended when it did not.'''
    receiving, sending = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(seconds)
        os.close(receiving)
        os.write(sending, json.dumps(ask()).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        answer = pipe.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(answer) if answer else f"ended with {status}"
"""

ENDING = """
print(json.dumps(_told), flush=True)
# Without the clean-up of runtimes that this program has woken: some hang there.
os._exit(0)
"""


def ask(
    program: str, *, python: str = sys.executable, environment: Mapping[str, str | None] | None = None
) -> dict[str, Any]:
    """Return what a program prints that a fresh interpreter runs after the prelude."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA", "COLDFORK"))}
    given["PYTHONPATH"] = str(SOURCES)
    for name, value in (environment or {}).items():
        given.pop(name, None)
        if value is not None:
            given[name] = value
    process = subprocess.run(
        [python, "-c", PRELUDE + textwrap.dedent(program) + ENDING],
        env=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    told: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return told
