"""Use `coldfork check` to find lines that woke no device here but may wake one on other machines."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.preloads import Doubt
from coldfork.observe.processes.asking import ask, last_line
from coldfork.start.static_reach.check_process import COMMAND, RULES, WAKING

_FIND = (
    "import importlib.util, json, os, sys\n"
    "found = []\n"
    "for name in sys.argv[1:]:\n"
    "    spec = importlib.util.find_spec(name)\n"
    "    if spec is None: continue\n"
    "    place = next(iter(spec.submodule_search_locations or ()), None) or spec.origin\n"
    "    if place and os.path.exists(place): found.append(os.path.abspath(place))\n"
    "version = '%d.%d' % sys.version_info[:2]\n"
    "folders = [os.path.abspath(one or os.curdir) for one in sys.path]\n"
    "print(json.dumps([found, version, [one for one in folders if os.path.isdir(one)]]))\n"
)
_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Sources:
    """The lines that were found in the sources, or why the sources could not be read."""

    doubts: tuple[Doubt, ...] = ()
    unread: str | None = None
    """Why the sources could not be read."""


def read_sources(modules: Sequence[str], setup: ProbeSetup, stop: Callable[[], bool]) -> Sources:
    """Return the lines that certainly or possibly wake a device when one of these modules is imported."""
    try:
        found, version, folders = _places(modules, setup, stop)
        if not found:
            return Sources(unread="none of them has a readable source")
        done = _asked(COMMAND, setup, stop, _question(modules, found, version, folders))
        if done.returncode:
            return Sources(unread=f"coldfork check failed: {last_line(done.stderr)}")
        return Sources(tuple(_doubts(json.loads(done.stdout)["findings"])))
    except (OSError, ValueError, TimeoutError) as error:
        return Sources(unread=str(error))


def _places(
    modules: Sequence[str], setup: ProbeSetup, stop: Callable[[], bool]
) -> tuple[list[str], str, list[str]]:
    """Return the paths of the top-level packages, the Python version, and the folders of the import path."""
    tops = list(dict.fromkeys(module.partition(".")[0] for module in modules))
    done = _asked([setup.python, "-c", _FIND, *tops], setup, stop)
    if done.returncode:
        raise ValueError(f"cannot find their sources: {last_line(done.stderr)}")
    found, version, folders = json.loads(done.stdout.splitlines()[-1])
    return found, version, folders


def _question(modules: Sequence[str], places: Sequence[str], version: str, folders: Sequence[str]) -> str:
    beside = {str(Path(place).parent) for place in places}
    standard = [folder for folder in folders if Path(folder, "os.py").exists()]
    loaded = tuple(f"{one}{os.sep}lib-dynload" for one in standard)
    inside = [folder for folder in folders if folder in standard or folder.startswith(loaded)]
    return json.dumps(
        {
            "paths": places,
            "entries": modules,
            "rules": RULES,
            "search": [folder for folder in folders if folder not in beside and folder not in inside],
            "profile": "cuda",
            "target_version": version,
        }
    )


def _doubts(findings: Sequence[dict[str, Any]]) -> list[Doubt]:
    return [
        Doubt(
            finding["module"],
            finding["accelerator"],
            finding["verdict"],
            finding["condition"],
            finding["path"],
            finding["line"],
        )
        for finding in findings
        if finding["effect"] in WAKING
    ]


def _asked(
    command: Sequence[str], setup: ProbeSetup, stop: Callable[[], bool], question: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in the environment in which the modules will be imported."""
    surroundings = setup.variables().items()
    variables = {name: value for name, value in surroundings if not name.startswith("COLDFORK_")}
    done = ask(command, question, _SECONDS, variables, stop)
    if done is None:
        raise TimeoutError(f"reading the sources took longer than {_SECONDS:g} s")
    return done
