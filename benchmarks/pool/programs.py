"""The environment that all contenders share, and the programs that are run in it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from published.environment import VirtualEnvironment
from published.places import ROOT

PEERS = ("billiard==4.3.2", "joblib==1.6.0", "loky==3.7.0", "mpire==2.10.2", "numpy>=2", "pebble==5.2.3")
WITH = {"torch": "torch==2.13.0", "ray": "ray==2.60.0", "dask": "distributed==2026.8.0"}
LIMIT = 400.0


class Lost(Exception):
    """A contender has not come to its end, and what it said."""


def environment(modules: Sequence[str], peers: Collection[str]) -> Path:
    """The Python in which everything runs, with what was asked for beyond the usual."""
    beyond = [WITH[name] for name in sorted({*modules, *peers}) if name in WITH]
    name = "-".join(["pool-peers", *(word.partition("=")[0] for word in beyond)])
    made = VirtualEnvironment(name, (*PEERS, *beyond))
    made.prepare()
    return made.python


@contextmanager
def running(python: Path, module: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A program in a session of its own; what is left of it is killed in the end. And what it says."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
    variables["PYTHONPATH"] = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "stderr"
        with said.open("w") as file:
            program = subprocess.Popen(
                [str(python), "-m", module, *arguments],
                env=variables,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                start_new_session=True,
            )
        try:
            yield program, said
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
            assert program.stdout is not None
            program.stdout.close()


def measure(python: Path, module: str, *arguments: str) -> Any:
    """The line of JSON that a program prints, once it has had ten seconds to tidy up."""
    with running(python, module, *arguments) as (program, said):
        answer = line(program, said)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(10)
    return answer


def line(program: subprocess.Popen[str], said: Path) -> Any:
    """The next line that a program prints."""
    assert program.stdout is not None
    if not select.select([program.stdout], [], [], LIMIT)[0]:
        raise Lost(f"nothing after {LIMIT:.0f} s")
    text = program.stdout.readline()
    if not text.startswith(("{", "[")):
        raise Lost((said.read_text(encoding="utf-8", errors="replace") or text).strip()[-300:])
    return json.loads(text)
