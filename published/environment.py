"""A virtual environment of published packages, in the git-ignored folder `.integration`."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from published.errors import UnavailableError
from published.places import ROOT

WORKSHOP = ROOT / ".integration"


@dataclass(frozen=True, slots=True)
class VirtualEnvironment:
    """A virtual environment with what an integration or a benchmark needs."""

    name: str
    requirements: tuple[str, ...]
    unwanted: tuple[str, ...] = ()
    """What comes along with the requirements and does not work here; removed again."""

    @property
    def folder(self) -> Path:
        """The folder that holds the environment, and room beside it."""
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
        self.pip("install", "--quiet", *self.requirements)
        if self.unwanted:
            self.pip("uninstall", "--yes", *self.unwanted)
        marker.write_text(wanted, encoding="utf-8")

    def must(self, command: Sequence[str | Path]) -> None:
        """Run a command of the preparation, which must not fail."""
        _must([str(part) for part in command])

    def pip(self, *arguments: str) -> None:
        """Run pip in the environment."""
        _must([str(self.python), "-m", "pip", *arguments])


def _must(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"{' '.join(command[1:4])} failed:\n{done.stdout}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
