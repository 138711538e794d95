"""Copies of the repository in which code may be changed, each with a python of its own that imports it."""

from __future__ import annotations

import importlib.util
import marshal
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

from mutants.operators import Mutant

_MADE = {".git", ".venv", ".bench", ".cache", ".hypothesis", ".integration", "site", "dist", "__pycache__"}


def files_of(root: Path) -> list[str]:
    """The files of a repository, or all that was not made here when there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [name.decode() for name in listed.stdout.split(b"\0") if name]
        return [name for name in names if (root / name).is_file()]
    paths = (path for path in root.rglob("*") if path.is_file())
    return [
        path.relative_to(root).as_posix() for path in paths if _MADE.isdisjoint(path.relative_to(root).parts)
    ]


class Copy:
    """A copy of a repository below a folder."""

    def __init__(self, original: Path, folder: Path) -> None:
        self.root = folder / "repository"
        self.temporary = folder / "temporary"
        self.log = folder / "log"
        for name in files_of(original):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(original / name, target)
        self.python = _environment(folder / "environment", self.root / "src")

    def freeze(self, path: str, code: CodeType) -> None:
        """Put a module's code where an import finds it, in place of what its file compiles to."""
        source = self.root / path
        state = source.stat()
        cached = Path(importlib.util.cache_from_source(str(source)))
        cached.parent.mkdir(exist_ok=True)
        head = importlib.util.MAGIC_NUMBER + bytes(4)
        numbers = (int(state.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little")
        numbers += (state.st_size & 0xFFFFFFFF).to_bytes(4, "little")
        cached.write_bytes(head + numbers + marshal.dumps(code))

    def compile(self, path: str) -> None:
        """Compile a module ahead of its import."""
        source = self.root / path
        self.freeze(path, compile(source.read_bytes(), str(source), "exec", dont_inherit=True))

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """The copy with one change."""
        file = self.root / mutant.path
        before, state = file.read_bytes(), file.stat()
        try:
            file.write_bytes(mutant.applied(before))
            self.compile(mutant.path)
            yield
        finally:
            file.write_bytes(before)
            os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
            self.compile(mutant.path)


def _environment(folder: Path, source: Path) -> Path:
    """A virtual environment that has what this one has, and imports our code from a copy; its python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    packages = folder / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    (packages / "a_copy.pth").write_text(f"{source}\n", encoding="utf-8")
    shared = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "z_shared.pth").write_text("\n".join(shared) + "\n", encoding="utf-8")
    return python
