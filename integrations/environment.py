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

ROOT = Path(__file__).resolve().parent.parent
WORKSHOP = ROOT / ".integration"


class IntegrationError(Exception):
    """The integration cannot be run here; the message says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program of an integration ended, and what it printed, the errors included."""

    status: int
    output: str


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with what an integration needs."""

    name: str
    requirements: tuple[str, ...]

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
        wanted = hashlib.sha256("\n".join((sys.version, *self.requirements)).encode()).hexdigest()
        if marker.is_file() and marker.read_text(encoding="utf-8") == wanted:
            return
        shutil.rmtree(self.folder / "venv", ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        _say(f"setting up .integration/{self.name} (once)")
        _must([sys.executable, "-m", "venv", str(self.folder / "venv")])
        _must([str(self.python), "-m", "pip", "install", "--quiet", *self.requirements])
        marker.write_text(wanted, encoding="utf-8")

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
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CUDA_", "VLLM_", "COLDFORK_", "PYTHON"))
        }
        done = subprocess.run(
            command,
            env=inherited | dict(variables),
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
        text = re.sub(r"\b\d\d-\d\d \d\d:\d\d:\d\d ", "", text)
        return re.sub(r"\b\d+\.\d s\b", "a few seconds", text)


def _must(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise IntegrationError(f"{' '.join(command[1:4])} failed:\n{done.stdout}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
