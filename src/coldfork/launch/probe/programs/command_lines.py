"""How a program that a finding is about is started, as its users would start it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from coldfork.launch.probe.report_paths import root_by_name
from coldfork.model.effects import StartedProgram


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What Python is given to run a program."""

    words: tuple[str, ...]
    root: str | None
    """The folder from which its modules' names count; None where no name leads to its file."""

    @property
    def shown(self) -> str:
        """The command as somebody would type it."""
        return f"python {shlex.join(word for word in self.words if word != _SAFE_PATH)}"

    @property
    def before(self) -> tuple[str, ...]:
        """The folders in which modules are sought first."""
        return () if self.root is None else (self.root,)


_SAFE_PATH = "-P"
"""Has Python look for modules where it is told to only: the folder one stands in may hold another copy."""


def refusal(program: StartedProgram, locate: Callable[[str], str]) -> str | None:
    """Why a program cannot be run; None where it can."""
    if program.path.endswith(".ipynb"):
        return "it is a notebook, and only Jupyter runs its cells"
    if not Path(locate(program.path)).is_file():
        return f"the file of {program.module} is not there to be run"
    if program.function and _root(program, locate) is None:
        return f"its file is not where an import of {program.module} would look"
    return None


def command_line(program: StartedProgram, locate: Callable[[str], str]) -> CommandLine:
    """How to run a program: by its file outside of packages, by its module's name inside of them."""
    file, root = locate(program.path), _root(program, locate)
    if program.function:
        name = program.function.partition(".")[0]
        # As the command that pip installs does it.
        code = f"import sys; from {program.module} import {name}; sys.exit({program.function}())"
        return CommandLine((_SAFE_PATH, "-c", code), root)
    if root is None or not (Path(file).parent / "__init__.py").is_file():
        return CommandLine((file,), root)
    if Path(file).name == "__init__.py":  # a package cannot be started by its name
        return CommandLine((_SAFE_PATH, "-c", f"import {program.module}"), root)
    return CommandLine((_SAFE_PATH, "-m", program.module.removesuffix(".__main__")), root)


def _root(program: StartedProgram, locate: Callable[[str], str]) -> str | None:
    return root_by_name(str(Path(locate(program.path)).absolute()), program.module)
