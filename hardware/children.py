"""Interpreters that a validation starts: each runs one program of `programs/` and prints one JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
_TAIL = 2_000


@dataclass(frozen=True)
class Bench:
    """The settings of every program."""

    driver: str = "libcuda.so.1"
    management: str = "libnvidia-ml.so.1"
    python: str = sys.executable
    timeout: float = 120.0
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, program: str, *arguments: str, **environment: str) -> dict[str, Any]:
        """Run a program and return what it printed; `untestable` says why there is nothing."""
        surroundings = {**os.environ, **self.environment, **environment, "PYTHONPATH": str(SOURCE)}
        command = [self.python, str(HERE / "programs" / f"{program}.py"), *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=self.timeout, env=surroundings, check=False
            )
        except subprocess.TimeoutExpired:
            return {"untestable": f"{program} did not end within {self.timeout:g} s"}
        said = done.stdout.strip().splitlines()
        if done.returncode != 0 or not said:
            return {"untestable": f"{program} ended with {done.returncode}: {done.stderr[-_TAIL:].strip()}"}
        try:
            answer = json.loads(said[-1])
        except ValueError:
            return {"untestable": f"{program} printed no JSON: {said[-1][-_TAIL:]}"}
        return dict(answer)
