"""Installs what was built as users do, in environments with nothing in them, and uses it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from release.building import Built
from release.pythons import Python
from release.running import ReleaseError, run, say

#: Waking, and so a finding; it is read and not run, so that nothing of torch has to be there.
PROGRAM = "import torch\n\nCAPABILITY = torch.cuda.get_device_capability()\n"
#: What stands in an environment and is nothing that coldfork needs.
NOT_NEEDED = ("coldfork", "pip", "setuptools")
COMPILED = "from coldfork.source.syntax.native import compiled; print(compiled.compiled_skeleton is not None)"
INSTALLED = """
import json
from importlib.metadata import distributions
print(json.dumps({found.metadata["Name"].lower(): found.version for found in distributions()}))
"""


def try_all(built: Built, pythons: list[Python], version: str, work: Path) -> dict[str, str]:
    """Try each artifact on each Python; return which versions of what it needs were installed beside it."""
    user = _User(work / "user", version)
    resolved: dict[str, str] = {}
    for python in pythons:
        say(
            f"trying pip on Python 3.{python.minor}: the wheel for any machine, the compiled one, the archive"
        )
        beside = user.pip(python, built.universal, compiled=False)
        user.pip(python, built.platform[python], compiled=True)
        user.pip(python, built.source, compiled=False)
        # The lowest Python's are listed: they are what most requirements have to agree with.
        resolved = resolved or beside
        say(f"trying uv and pipx on Python 3.{python.minor}")
        user.uv(python, built.universal)
        user.pipx(python, built.universal)
    return resolved


class _User:
    """Somebody with an empty home folder, no caches, and a small program to check."""

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder
        self._version = version
        self._tools = Path(sys.executable).parent
        self._code = folder / "code"
        self._code.mkdir(parents=True)
        (self._code / "engine.py").write_text(PROGRAM, encoding="utf-8")
        self._count = 0

    def pip(self, python: Python, artifact: Path, *, compiled: bool) -> dict[str, str]:
        """Install with pip in an environment of its own, use it, and take it out again without a trace."""
        home = self._home()
        environment = home / "environment"
        variables = self._variables(home)
        run([python.path, "-m", "venv", environment], home, variables)
        interpreter = environment / "bin" / "python"
        pip: list[str | Path] = [interpreter, "-m", "pip", "--disable-pip-version-check"]
        run([*pip, "install", "--quiet", artifact], home, variables)
        run([*pip, "check"], home, variables)
        self._use([environment / "bin" / "coldfork"], variables)
        self._use([interpreter, "-m", "coldfork"], variables)
        if (run([interpreter, "-c", COMPILED], home, variables).strip() == "True") is not compiled:
            raise ReleaseError(f"{artifact.name} is {'not ' if compiled else ''}compiled")
        beside: dict[str, str] = json.loads(run([interpreter, "-c", INSTALLED], home, variables))
        run([*pip, "uninstall", "--quiet", "--yes", "coldfork"], home, variables)
        if left := [path for path in environment.rglob("*coldfork*") if path.is_file()]:
            raise ReleaseError(f"uninstalling {artifact.name} leaves {left[0].relative_to(environment)}")
        return {name: beside[name] for name in sorted(beside) if name not in NOT_NEEDED}

    def uv(self, python: Python, artifact: Path) -> None:
        """Install as a tool of uv and use it."""
        home = self._home()
        variables = {**self._variables(home), "UV_PYTHON_DOWNLOADS": "never"}
        run(
            [self._tools / "uv", "tool", "install", "--quiet", "--python", python.path, artifact],
            home,
            variables,
        )
        self._use([home / ".local" / "bin" / "coldfork"], variables)

    def pipx(self, python: Python, artifact: Path) -> None:
        """Install as an application of pipx and use it."""
        home = self._home()
        variables = self._variables(home)
        pipx: list[str | Path] = [self._tools / "python", "-m", "pipx"]
        run([*pipx, "install", "--quiet", "--python", python.path, artifact], home, variables)
        self._use([home / ".local" / "bin" / "coldfork"], variables)

    def _use(self, coldfork: list[str | Path], variables: dict[str, str]) -> None:
        """Ask for the version, and check a program that wakes a device."""
        said = run([*coldfork, "--version"], self._code, variables)
        if self._version not in said:
            raise ReleaseError(f"{coldfork[0]} says {said}")
        report = json.loads(run([*coldfork, "check", "--format", "json"], self._code, variables, wanted=1))
        rules = [finding["rule"] for finding in report["findings"]]
        if rules != ["device-init-at-import"]:
            raise ReleaseError(f"a program that wakes a device is checked with {rules}")

    def _home(self) -> Path:
        self._count += 1
        home = self._folder / f"home-{self._count}"
        home.mkdir()
        return home

    def _variables(self, home: Path) -> dict[str, str]:
        """What a session of the user's knows: the way to the index is the machine's, all else is its own."""
        ways = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
        return {**ways, "HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}
