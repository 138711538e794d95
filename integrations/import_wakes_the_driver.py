"""An import of cutlass that wakes the driver without torch: `./dev integration import_wakes_the_driver`"""

from __future__ import annotations

import sys

from integrations.environment import Environment
from integrations.transcript import Transcript, main

WITH_JAX = Environment("import_wakes_the_driver", ("nvidia-cutlass-dsl==4.4.1", "jax==0.10.2"))

INTRODUCTION = """
`./dev integration import_wakes_the_driver` installs nvidia-cutlass-dsl 4.4.1 with jax beside it and imports
cutlass on a virtual H100 whose driver is coldfork's C library. torch is not installed, so no flag of torch
could show it. The machine has no GPU.
"""


def run() -> Transcript:
    """Everything that is promised about this import."""
    WITH_JAX.prepare()
    transcript = Transcript("Importing cutlass initialises the driver", INTRODUCTION)
    transcript.step(
        "The import alone initialises the driver, and a child forked after it never can.",
        WITH_JAX.run("import_wakes_the_driver"),
        r"^before: driver cold, cuDeviceGetCount 3$",
        r"^imported cutlass: driver awake, cuDeviceGetCount 0$",
        r"^jax imported: True, torch imported: False$",
        r"^a forked child: cuInit 3$",
    )
    transcript.step(
        "`coldfork probe --virtual h100 cutlass` names the line and the chain.",
        WITH_JAX.probe("--virtual", "h100", "cutlass"),
        r"^  --> .*cutlass/cute/__init__.py:223$",
        r"^ +\d\. detect_gpu_arch +.*env_manager.py:116$",
        status=1,
    )
    return transcript


if __name__ == "__main__":
    sys.exit(main("import_wakes_the_driver", run))
