"""An environment of its own for one integration, in the git-ignored folder `.integration`."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from integrations import watchdog

ROOT = Path(__file__).resolve().parent.parent
WORKSHOP = ROOT / ".integration"


class IntegrationError(Exception):
    """The integration cannot be run here; the message says why."""


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
class Environment:
    """A virtual environment with what an integration needs."""

    name: str
    requirements: tuple[str, ...]
    unwanted: tuple[str, ...] = ()
    """What comes along with the requirements and does not work here; removed again."""

    @property
    def folder(self) -> Path:
        """Where everything of this integration lies."""
        return WORKSHOP / self.name

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def packages(self) -> Path:
        """The folder of installed packages."""
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return self.folder / "venv" / "lib" / version / "site-packages"

    def prepare(self) -> None:
        """Install what is needed, unless the environment is complete already."""
        marker = self.folder / "complete"
        described = (sys.version, *self.requirements, *self.unwanted)
        wanted = hashlib.sha256("\n".join(described).encode()).hexdigest()
        if marker.is_file() and marker.read_text(encoding="utf-8") == wanted:
            return
        shutil.rmtree(self.folder / "venv", ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        _say(f"setting up .integration/{self.name} (once)")
        _must([sys.executable, "-m", "venv", str(self.folder / "venv")])
        self._pip("install", "--quiet", *self.requirements)
        if self.unwanted:
            self._pip("uninstall", "--yes", *self.unwanted)
        marker.write_text(wanted, encoding="utf-8")

    def install_coldfork(self) -> Path:
        """A folder with this checkout installed, entry points and all, for those who put it on their path."""
        folder = self.folder / "coldfork"
        shutil.rmtree(folder, ignore_errors=True)
        self._pip("install", "--quiet", "--no-deps", "--target", str(folder), str(ROOT))
        return folder

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

    def must(self, command: Sequence[str | Path]) -> None:
        """Run a command of the preparation, which must not fail."""
        _must([str(part) for part in command])

    def _pip(self, *arguments: str) -> None:
        _must([str(self.python), "-m", "pip", *arguments])

    def anonymous(self, text: str) -> str:
        """A text without this machine's folders and without times, to be kept in the repository."""
        for folder, short in ((self.packages, "site-packages"), (WORKSHOP, ".integration"), (ROOT, ".")):
            text = text.replace(str(folder), short)
        text = text.replace(str(Path(sys.base_prefix)), "python")
        text = re.sub(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+)?( \+\d{4})?\b", "then", text)
        text = re.sub(r"\b\d\d-\d\d \d\d:\d\d:\d\d ", "", text)
        return re.sub(r"\b\d+\.\d s\b", "a few seconds", text)


def _inherited() -> dict[str, str]:
    """The environment of this process, without what would make a program behave differently elsewhere."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CUDA_", "VLLM_", "COLDFORK_", "PYTHON", "OMP_"))
    }


def _must(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise IntegrationError(f"{' '.join(command[1:4])} failed:\n{done.stdout}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
