"""Reads with `coldfork check` what may wake a device elsewhere, though it did not here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from coldfork.launch.plumbing.ask import LOOK_SECONDS
from coldfork.launch.probe.trial import ProbeSetup
from coldfork.model.forking.preloads import Doubt
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
    """What reading came to."""

    doubts: tuple[Doubt, ...] = ()
    unread: str | None = None
    """Why it could not be read."""


def read_sources(modules: Sequence[str], setup: ProbeSetup, stop: Callable[[], bool]) -> Sources:
    """The lines that may wake a device when one of these is imported, certain or not."""
    try:
        found, version, folders = _places(modules, setup, stop)
        if not found:
            return Sources(unread="none of them has a source that could be read")
        status, said, complaint = _asked(COMMAND, setup, stop, _question(modules, found, version, folders))
        if status:
            return Sources(unread=f"coldfork check failed: {(complaint.strip().splitlines() or [''])[-1]}")
        return Sources(tuple(_doubts(json.loads(said)["findings"])))
    except (OSError, ValueError, TimeoutError) as error:
        return Sources(unread=str(error))


def _places(
    modules: Sequence[str], setup: ProbeSetup, stop: Callable[[], bool]
) -> tuple[list[str], str, list[str]]:
    """Where the top packages lie, for which Python, and the folders of its path."""
    tops = list(dict.fromkeys(module.partition(".")[0] for module in modules))
    status, said, complaint = _asked([setup.python, "-c", _FIND, *tops], setup, stop)
    if status:
        raise ValueError(f"their sources were not found: {(complaint.strip().splitlines() or [''])[-1]}")
    found, version, folders = json.loads(said.splitlines()[-1])
    return found, version, folders


def _question(modules: Sequence[str], places: Sequence[str], version: str, folders: Sequence[str]) -> str:
    beside = {str(Path(place).parent) for place in places}
    standard = [folder for folder in folders if Path(folder, "os.py").exists()]
    inside = [folder for folder in folders if any(_is_standard(folder, one) for one in standard)]
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


def _is_standard(folder: str, standard: str) -> bool:
    return folder == standard or folder.startswith(f"{standard}{os.sep}lib-dynload")


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
) -> tuple[int, str, str]:
    """Status, output and errors of a command; ended when the time is up or somebody wants to stop."""
    until = monotonic() + _SECONDS
    environment = {name: value for name, value in setup.base.items() if not name.startswith("COLDFORK_")}
    path = [*setup.before, *filter(None, [setup.base.get("PYTHONPATH")]), *setup.after]
    if path:
        environment["PYTHONPATH"] = os.pathsep.join(path)
    with subprocess.Popen(
        list(command),
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        told: str | None = question
        while True:
            try:
                said, complaint = process.communicate(told, timeout=LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                told = None  # it is being written, and to give it again is refused
                if stop() or monotonic() > until:
                    process.kill()
                    raise TimeoutError(f"reading the sources took longer than {_SECONDS:g} s") from None
            else:
                return process.returncode, said, complaint
