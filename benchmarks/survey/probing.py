"""Imports modules of the survey in an environment where they are installed, on a virtual device."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import tool
from published import places
from published.environment import VirtualEnvironment
from published.errors import UnavailableError

TORCH = "torch==2.13.0+cpu"
DEVICE = "h100"
SECONDS_EACH = 240


def environment(name: str, versions: Mapping[str, str]) -> VirtualEnvironment:
    """The environment that holds these releases and a torch that was built for CPUs."""
    pinned = (f"{package}=={version}" for package, version in versions.items())
    return VirtualEnvironment(f"survey-{name}", (TORCH, *pinned))


def probed(where: VirtualEnvironment, modules: Sequence[str]) -> dict[str, Any]:
    """What importing each of these modules did, as `coldfork probe` says it."""
    where.prepare()
    options = ("--virtual", DEVICE, "--python", str(where.python), "--timeout", str(SECONDS_EACH))
    done = subprocess.run(
        [sys.executable, "-m", "coldfork", "probe", *options, "--format", "json", *modules],
        env=tool.environment(places.workshop() / "cache"),
        cwd=where.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return {row["module"]: row for row in json.loads(done.stdout)["modules"]}
    except ValueError as error:
        raise UnavailableError(
            f"coldfork probe exits {done.returncode}: {done.stderr.strip()[-600:]}"
        ) from error
