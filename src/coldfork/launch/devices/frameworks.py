"""Which frameworks an interpreter has that can be told how much of a device they may use."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from coldfork.launch.plumbing.ask import ask

_SECONDS = 20.0
#: What an interpreter is asked; nothing of theirs is imported. The key is sought in torch's own headers,
#: because one that it does not know is an error there.
_PROGRAM = """
import glob, importlib.util, json, os

def folder(name):
    found = importlib.util.find_spec(name)
    return next(iter(found.submodule_search_locations or ()), None) if found else None

def holds(word, place, *names):
    if place is None:
        return False
    for path in glob.glob(os.path.join(glob.escape(place), *names)):
        with open(path, encoding="utf-8", errors="replace") as stream:
            if word in stream.read():
                return True
    return False

torch, jaxlib = folder("torch"), folder("jaxlib")
print(json.dumps({
    "torch": holds('"per_process_memory_fraction"', torch, "include", "c10", "*", "*AllocatorConfig.h"),
    "old_torch": torch is not None,
    "jax": jaxlib is not None,
    "new_jax": holds("'XLA_CLIENT_MEM_FRACTION'", jaxlib, "xla_client.py"),
    "cupy": folder("cupy") is not None,
}))
"""


@dataclass(frozen=True, slots=True)
class Frameworks:
    """What an interpreter has."""

    torch: bool = False
    """One whose allocator takes a fraction for the process from its variable."""
    old_torch: bool = False
    """One at all."""
    jax: bool = False
    new_jax: bool = False
    """One that knows the newer of the two variables for a fraction."""
    cupy: bool = False


def of(python: str, environment: Mapping[str, str]) -> Frameworks:
    """The frameworks of an interpreter; none where it does not answer."""
    try:
        done = ask([python, "-c", _PROGRAM], _SECONDS, environment)
        said = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, OSError, ValueError, IndexError):
        return Frameworks()
    return Frameworks(**said)
