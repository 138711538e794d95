"""JAX: which of its backends have a client, read from its own table without taking its lock."""

from __future__ import annotations

from coldfork.observe.probes.modules import namespace, replaced
from coldfork.observe.probes.pools import doubt, owned
from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, CONTEXT, POISONED, UNKNOWN, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.reading import Awake

ON_DEVICES = "jax"
ON_CPU = "jax-cpu"

_BRIDGE = "jax._src.xla_bridge"
LIBRARIES = ("libjax_common", "xla_extension", "xla_cuda", "xla_rocm", "libtpu", "_jax.")
_CPU_PLATFORMS = ("cpu", "interpreter")


class Clients:
    """The clients JAX has made."""

    module = _BRIDGE

    def awake(self) -> Awake:
        """The accelerators that have a client; a fraction of a microsecond."""
        names = namespace(_BRIDGE)
        backends = names.get("_backends") if names is not None else None
        if not backends or type(backends) is not dict:
            return ()
        return tuple((accelerator, CONTEXT) for accelerator in sorted(map(_accelerator_of, tuple(backends))))


def examine(accelerator: str, process: ProbedProcess) -> Reading:
    """The state of JAX's devices, or of its CPU client, which starts threads of its own."""
    names = process.module(_BRIDGE)
    library = process.library(*LIBRARIES)
    if names is None:
        return _without_bridge(accelerator, library)
    return _with_bridge(accelerator, names, process, library)


def _without_bridge(accelerator: str, library: str | None) -> Reading:
    if replaced(_BRIDGE):
        return Reading(accelerator, UNKNOWN, reason=f"{_BRIDGE} was replaced by something that is no module")
    if library is None:
        return Reading(accelerator, ABSENT)
    return Reading(accelerator, COLD, reason=f"{_BRIDGE} has not been imported", library=library)


def _with_bridge(
    accelerator: str, names: Mapping[str, Any], process: ProbedProcess, library: str | None
) -> Reading:
    backends = names.get("_backends")
    if type(backends) is not dict:
        return Reading(
            accelerator,
            UNKNOWN,
            reason=f"{_BRIDGE} has no table of backends that could be read",
            library=library,
        )
    platforms = sorted(
        str(platform) for platform in tuple(backends) if _accelerator_of(platform) == accelerator
    )
    threads = owned(process, LIBRARIES)
    lost = process.forked and threads == () and not doubt(accelerator, process, "")
    if platforms and lost:
        return Reading(
            accelerator,
            POISONED,
            reason=f"JAX has a client for {', '.join(platforms)} whose threads stayed behind at a fork",
            library=library,
        )
    if platforms:
        return Reading(
            accelerator,
            AWAKE,
            level=CONTEXT,
            reason=f"JAX has a client for {', '.join(platforms)}",
            library=library,
            copied=not threads,
        )
    if threads and not backends:
        return Reading(
            accelerator,
            UNKNOWN,
            reason="JAX lists no backends, and threads of its library are running",
            library=library,
        )
    return Reading(accelerator, COLD, reason="JAX has made no client for it", library=library)


def _accelerator_of(platform: object) -> str:
    return ON_CPU if platform in _CPU_PLATFORMS else ON_DEVICES
