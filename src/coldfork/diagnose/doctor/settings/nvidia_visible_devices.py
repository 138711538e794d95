"""Whether NVIDIA_VISIBLE_DEVICES is set where it is read.

NVIDIA's container runtime reads it when it starts a container. Inside, and on a machine without containers,
it hides nothing: CUDA_VISIBLE_DEVICES does.

- **ok**: it is set in a container.
- **warn**: it is set outside of one, or CUDA_VISIBLE_DEVICES counts beyond the devices it let in.
- **skipped**: it is not set.

It never fails: it does nothing.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.driver.container import container
from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_NAME = "NVIDIA_VISIBLE_DEVICES"


def examine(facts: Facts) -> Answer:
    """Judge whether the variable is set in a place where it has an effect."""
    value = facts.variables.get(_NAME)
    if value is None:
        return skipped(f"{_NAME} is not set")
    if container(facts) is None:
        return warn(
            f"{_NAME}={value} hides nothing outside a container",
            "set CUDA_VISIBLE_DEVICES instead",
        )
    inside = [entry for entry in value.split(",") if entry]
    wanted = [
        entry for entry in facts.variables.get("CUDA_VISIBLE_DEVICES", "").split(",") if entry.isdecimal()
    ]
    numbered = all(entry.isdecimal() for entry in inside)
    if numbered and any(int(entry) >= len(inside) for entry in wanted):
        return warn(
            f"{_NAME}={value} admits {len(inside)} devices, but CUDA_VISIBLE_DEVICES counts beyond them",
            "inside the container, devices are counted from 0",
        )
    return ok(f"{_NAME}={value}, which the container's runtime has read")
