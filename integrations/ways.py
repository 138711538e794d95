"""The three ways in which the tests of others are run: as they are, watched, and with the guard."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from integrations.environment import Environment, undisturbed


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which tests are run."""

    name: str
    before: tuple[str, ...] = ()
    """What stands between the interpreter and `-m`."""
    guard: bool = False


PLAIN = Way("as they are")
FOLLOWED = Way(
    "under `coldfork run --follow`", ("-m", "coldfork", "run", "--follow", "--output", "recording")
)
GUARDED = Way("with the guard in mode `raise`", guard=True)


def install_guard(environment: Environment, way: Way) -> None:
    """Have the environment's programs guarded, or not, as this way asks."""
    command = ["-m", "coldfork", "guard", *(("install", "--mode", "raise") if way.guard else ("uninstall",))]
    subprocess.run(
        [environment.python, *command],
        env=undisturbed(),
        cwd=environment.folder,
        capture_output=True,
        check=True,
    )
