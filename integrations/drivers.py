"""Libraries below torch and their view of a virtual device: `./dev integration drivers`"""

from __future__ import annotations

import sys

from integrations.environment import Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment(
    "drivers",
    (
        *("cuda-bindings==13.5.0", "cuda-core==1.2.2", "numba-cuda==0.30.4"),
        *("triton==3.9.0", "nvidia-ml-py==13.615.71", "numpy"),
    ),
)

INTRODUCTION = """
`./dev integration drivers` installs libraries that ask the driver or NVML below torch, and lets each of them
look at two virtual H100s. The machine has no GPU.
"""


def run() -> Transcript:
    """Everything that is promised about these libraries."""
    ENVIRONMENT.prepare()
    transcript = Transcript("Libraries that ask the driver", INTRODUCTION)
    product, second = "NVIDIA H100 80GB HBM3", "c01df001-5eed-4000-8000-000000000001"
    transcript.step(
        "All see the same devices; NVML alone leaves the driver cold, and only cuda.core and Triton went "
        "as far as a context.",
        ENVIRONMENT.run("drivers"),
        r"^by_ctypes +\(0, 0, 2\); driver awake, level driver$",
        rf"^by_cuda_bindings +\(2, '{product}', 9\); driver awake, level driver$",
        rf"^by_cuda_core +\('{product}', \(9, 0\), '{second}'\); driver awake, level context$",
        rf"^by_numba +\(True, 2, '{product}'\); driver awake, level driver$",
        r"^by_triton +\(True, 90\); driver awake, level context$",
        rf"^by_pynvml +\(2, '{product}', 'GPU-{second}'\); driver cold, level None$",
    )
    return transcript


if __name__ == "__main__":
    sys.exit(main("drivers", run))
