"""A virtual environment in which coldfork is installed, for the tests of the guard's pth file."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from coldfork.start.guard import pth_file
from tests.start.guarding import ROOT, environment

DEVELOPMENT = "_coldfork.pth"


@dataclass(frozen=True)
class Venv:
    """A virtual environment of this Python."""

    folder: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    @property
    def site(self) -> Path:
        """Its site-packages."""
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        return self.folder / "lib" / version / "site-packages"

    @property
    def pth_file_path(self) -> Path:
        """Where the pth file would be."""
        return self.site / pth_file.FILE

    def install(self, mode: str) -> None:
        """Write the pth file by hand."""
        self.pth_file_path.write_text(pth_file.written(mode, "0.0.1"), encoding="ascii")

    def run(
        self, *arguments: str, folder: Path | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python without anything of this process's path."""
        plain = {name: value for name, value in environment().items() if name != "PYTHONPATH"} | variables
        return subprocess.run(
            [self.python, *arguments],
            env=plain,
            cwd=folder or self.folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=120,
            check=False,
        )


def make(folder: Path, *, with_coldfork: bool = True) -> Venv:
    """Make one; coldfork is installed as an editable install does it, by a line with its path."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    made = Venv(folder)
    if with_coldfork:
        (made.site / DEVELOPMENT).write_text(f"{ROOT / 'src'}\n", encoding="utf-8")
    return made


def everything(folder: Path) -> dict[str, bytes]:
    """All files of a folder with what is in them, but for what Python compiles."""
    return {
        os.fspath(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and not path.is_symlink()
    }
