"""Whether this runs in a container, and whether the container was given the devices.

A container shares the kernel of its host, so `/proc/driver/nvidia` is present in each; device files and
libraries come in only through NVIDIA's container runtime, which reads NVIDIA_VISIBLE_DEVICES and
NVIDIA_DRIVER_CAPABILITIES.

- **ok**: no container, or one that has what its host has.
- **warn**: NVIDIA_VISIBLE_DEVICES asks for no device.
- **fail**: the host has an NVIDIA driver, and the container was started without its devices or its
  libraries.
- **skipped**: this is not Linux.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_NONE = frozenset({"", "void", "none"})
_CGROUPS = (("kubepods", "Kubernetes"), ("docker", "Docker"), ("libpod", "Podman"), ("lxc", "LXC"))
_SIGNS = (("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman"), ("/.singularity.d", "Apptainer"))
_START = (
    "start the container with them: docker run --gpus all, or resources.limits nvidia.com/gpu in Kubernetes"
)


def examine(facts: Facts) -> Answer:
    """Compare the devices of the host with those visible in this container."""
    if not facts.system.is_linux:
        return skipped(f"containers are detected only on Linux, and this is {facts.system.platform}")
    kind = container(facts)
    if kind is None:
        return ok("this is not a container")
    visible = facts.variables.get("NVIDIA_VISIBLE_DEVICES")
    if visible is not None and visible.strip().lower() in _NONE:
        return warn(f"{kind}, and NVIDIA_VISIBLE_DEVICES={visible} asks for no device", _START)
    if not facts.files.exists("/proc/driver/nvidia/version"):
        return ok(f"a container of {kind}, on a host without an NVIDIA driver")
    if not facts.files.exists("/dev/nvidiactl"):
        return fail(
            f"{kind}: the host has an NVIDIA driver, but the container has none of its devices", _START
        )
    able = facts.variables.get("NVIDIA_DRIVER_CAPABILITIES", "all").lower().replace(" ", "").split(",")
    if not facts.management.libcuda_loaded and not {"all", "compute"} & set(able):
        return fail(
            f"{kind}: NVIDIA_DRIVER_CAPABILITIES={','.join(able)} leaves CUDA out",
            "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        )
    return ok(f"a container of {kind}, with the devices of its host")


def container(facts: Facts) -> str | None:
    """Return the kind of container that this process runs in; None if none is recognised."""
    if "KUBERNETES_SERVICE_HOST" in facts.variables:
        return "Kubernetes"
    for file, name in _SIGNS:
        if facts.files.exists(file):
            return name
    groups = facts.files.text("/proc/1/cgroup") or ""
    return next((name for word, name in _CGROUPS if word in groups), facts.variables.get("container"))
