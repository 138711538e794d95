"""Starts the process that asks NVML and the driver, and reads what it says.

A process of its own, because a broken driver may hang or kill whoever asks, and because whatever its
libraries do is gone when it ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coldfork.launch.devices import answers
from coldfork.launch.devices.management import Device, Instance, Management, Touched
from coldfork.launch.plumbing.ask import ask

_SECONDS = 10.0
_TOUCH_SECONDS = 60.0
"""The first context on a large machine takes ten seconds and more."""


class NoAnswerError(Exception):
    """The process that asks did not answer; the message says why."""


def management(variables: Mapping[str, str]) -> Management:
    """What NVML and the driver say; no device is woken."""
    try:
        said = _of_virtual_device() or _said(variables, _SECONDS)
    except NoAnswerError as error:
        return Management(unanswered=str(error))
    nvml, cuda = said["nvml"], said["cuda"]
    return Management(
        nvml_error=nvml["error"],
        nvml_loaded=nvml["loaded"],
        nvml_code=nvml["code"],
        driver=nvml.get("driver"),
        cuda=nvml.get("cuda") or cuda["version"],
        libcuda_error=cuda["error"],
        libcuda_loaded=cuda["loaded"],
        devices=tuple(map(_device, nvml.get("devices", ()))),
    )


def _of_virtual_device() -> dict[str, Any] | None:
    """What the virtual device of this process says, which no other process has."""
    room = sys.modules.get("coldfork.virtual.installation")
    device = None if room is None else room.installed()
    if device is None or device.library is None:
        return None
    return {"nvml": answers.management(), "cuda": answers.driver()}


def _device(said: dict[str, Any]) -> Device:
    listed = said.pop("instances", None)
    instances = None if listed is None else tuple(map(_instance, listed))
    return Device(**said | {"processes": tuple(said.get("processes", ()))}, instances=instances)


def _instance(said: dict[str, Any]) -> Instance:
    gpu, compute = said["numbers"]
    return Instance(said["uuid"], (gpu, compute), said["memory_total"], said["memory_free"])


def touched(variables: Mapping[str, str]) -> Touched:
    """Wake the devices in a process that ends at once."""
    said = _said(variables, _TOUCH_SECONDS, "touch")
    return Touched(said["code"], said["step"], tuple(said["devices"]), said["seconds"])


def _said(variables: Mapping[str, str], seconds: float, *words: str) -> dict[str, Any]:
    file = Path(answers.__file__)
    try:
        done = ask([sys.executable, "-I", "-S", str(file), *words], seconds, variables)
    except subprocess.TimeoutExpired:
        raise NoAnswerError(f"the driver did not answer within {seconds:.0f} seconds") from None
    except OSError as error:
        raise NoAnswerError(f"no process could be started: {error.strerror}") from None
    if done.returncode < 0:
        raise NoAnswerError(f"the process that asked the driver was killed by signal {-done.returncode}")
    try:
        said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
        raise NoAnswerError(f"the process that asked the driver failed: {last}") from None
    return said
