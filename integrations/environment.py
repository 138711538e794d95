"""An environment of its own for one integration, and how its programs are run in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from integrations import watchdog
from published.environment import WORKSHOP, VirtualEnvironment
from published.places import ROOT


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program of an integration ended, and what it printed, the errors included.

    `status` is None where it stood still, and the watchdog ended it.
    """

    status: int | None
    output: str

    def without(self, noise: str) -> Ended:
        """The same without the lines in which a pattern is found, and without empty ones."""
        lines = [line for line in self.output.splitlines() if line.strip() and not re.search(noise, line)]
        return Ended(self.status, "\n".join(lines))


@dataclass(frozen=True, slots=True)
class Environment(VirtualEnvironment):
    """A virtual environment with what an integration needs, and ways to run its programs there."""

    def install_coldfork(self) -> Path:
        """A folder with this checkout installed, entry points and all, for those who put it on their path."""
        folder = self.folder / "coldfork"
        shutil.rmtree(folder, ignore_errors=True)
        self.pip("install", "--quiet", "--no-deps", "--target", str(folder), str(ROOT))
        return folder

    def printed(self, arguments: Sequence[str], variables: Mapping[str, str]) -> str:
        """All that this environment's Python prints when it ends by itself, whatever its status."""
        done = subprocess.run(
            [str(self.python), *arguments],
            env=variables,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        return done.stdout

    def watch(
        self,
        command: Sequence[str | Path],
        *,
        ahead: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
        still: float = 20,
        seconds: float = 600,
    ) -> Ended:
        """Run a command that may hang, and which has of coldfork only what lies in the folders ahead."""
        path = {"PYTHONPATH": os.pathsep.join(map(str, ahead))} if ahead else {}
        environment = _inherited() | {"PYTHONUNBUFFERED": "1"} | path | dict(variables or {})
        watched = watchdog.run(command, environment, self.folder, still=still, seconds=seconds)
        return Ended(watched.status, self.anonymous(watched.output))

    def watch_program(
        self, program: str, *arguments: str, variables: Mapping[str, str] | None = None, still: float = 20
    ) -> Ended:
        """Run one of `integrations/programs` that may hang; it can import this checkout of coldfork."""
        script = ROOT / "integrations" / "programs" / f"{program}.py"
        return self.watch(
            [self.python, script, *arguments], ahead=[ROOT / "src"], variables=variables, still=still
        )

    def run(
        self,
        program: str,
        *arguments: str,
        ahead: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
        seconds: float = 300,
    ) -> Ended:
        """Run one of `integrations/programs` with this checkout of coldfork, folders ahead of the rest."""
        path = os.pathsep.join(map(str, (*ahead, ROOT / "src")))
        script = ROOT / "integrations" / "programs" / f"{program}.py"
        return self._run(
            [self.python, script, *arguments], {"PYTHONPATH": path, **(variables or {})}, seconds
        )

    def drive(
        self,
        command: Sequence[str | Path],
        folder: Path,
        *,
        variables: Mapping[str, str] | None = None,
        errors: int = subprocess.STDOUT,
    ) -> Ended:
        """Run a program from elsewhere in a folder, such as an editor that starts what is installed here."""
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            timeout=600,
            check=False,
        )
        return Ended(done.returncode, self.anonymous(done.stdout))

    def probe(self, *arguments: str, seconds: float = 300) -> Ended:
        """Run `coldfork probe` on modules of the environment; coldfork itself is this checkout."""
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "coldfork",
            "probe",
            "--python",
            self.python,
            *arguments,
        ]
        return self._run(command, {"PYTHONPATH": str(ROOT / "src")}, seconds)

    def _run(self, command: Sequence[str | Path], variables: Mapping[str, str], seconds: float) -> Ended:
        done = subprocess.run(
            command,
            env=_inherited() | dict(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            cwd=self.folder,
            check=False,
        )
        return Ended(done.returncode, self.anonymous(done.stdout))

    def anonymous(self, text: str) -> str:
        """A text without this machine's folders and without times, to be kept in the repository."""
        for folder, short in ((self.packages, "site-packages"), (WORKSHOP, ".integration"), (ROOT, ".")):
            text = text.replace(str(folder), short)
        text = text.replace(str(Path(sys.base_prefix)), "python")
        text = re.sub(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+)?( \+\d{4})?\b", "then", text)
        text = re.sub(r"\b\d\d-\d\d \d\d:\d\d:\d\d ", "", text)
        return re.sub(r"\b\d+\.\d+ s\b", "a few seconds", text)


def _inherited() -> dict[str, str]:
    """The environment of this process, without what would make a program behave differently elsewhere."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CUDA_", "VLLM_", "COLDFORK_", "PYTHON", "OMP_"))
    }


def undisturbed() -> dict[str, str]:
    """This process's variables, without what would change CPython's own tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("COLDFORK_", "PYTHON"))}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"}
