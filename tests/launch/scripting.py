"""Writes scripts into a folder, runs them isolated, and asks the system what is left of them."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from coldfork.launch.script.call import ScriptResult, run_script

SECONDS = 60
SOURCE = Path(__file__).resolve().parents[2] / "src"


class Bench:
    """A folder of scripts and their runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"

    def write(self, text: str, name: str = "script.py") -> Path:
        """Write a script."""
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(textwrap.dedent(text), encoding="utf-8")
        return place

    def run(self, text: str, *args: str, **how: Any) -> ScriptResult:
        """Run a script to its end."""
        return run_script(self.write(text), args, **{"log_dir": self.runs, "timeout": SECONDS, **how})

    def only_run(self) -> Path:
        """The run directory, where there is one."""
        (run,) = self.runs.iterdir()
        return run

    def require_described_reports(self) -> None:
        """Hold every report that was written here against the schema; of those that differ in a name, one."""
        written = [path for path in self.folder.rglob("report.json") if path.parent.parent.name == "runs"]
        texts = {path: path.read_text(encoding="utf-8") for path in written}
        for text in {text.replace(path.parent.name, ""): text for path, text in texts.items()}.values():
            described().validate(json.loads(text))


@cache
def described() -> Any:
    """Return the validator of reports against their schema."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    text = files("coldfork.report").joinpath("schemas/script.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def until(true: Callable[[], Any], what: str = "it") -> Any:
    """Wait for something to become true."""
    deadline = time.monotonic() + SECONDS
    while not (value := true()):
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.01)
    return value


def alive(pid: int) -> bool:
    """Whether a process still runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def marked(text: str) -> list[int]:
    """The processes whose environment holds a text."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                carried = (place / "environ").read_bytes()
            except OSError:
                continue
            if text.encode() in carried and alive(int(place.name)):
                found.append(int(place.name))
    return found


def descriptors() -> dict[str, str]:
    """The open descriptors of this process and what they are."""
    found: dict[str, str] = {}
    for place in Path("/proc/self/fd").iterdir():
        try:
            found[place.name] = str(place.readlink())
        except OSError:
            continue
    return {name: what for name, what in found.items() if not what.startswith("/proc/")}


def variables(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which another interpreter finds coldfork."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), **(extra or {})}


def caller(text: str) -> list[str]:
    """The command of another process that runs this code."""
    return [sys.executable, "-c", textwrap.dedent(text)]
