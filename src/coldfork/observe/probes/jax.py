"""JAX: which backends have a client, read from JAX's own table without taking its lock."""

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
    """The clients that JAX has made."""

    module = _BRIDGE

    def awake(self) -> Awake:
        """Return the accelerators that have a client, in a fraction of a microsecond."""
        names = namespace(_BRIDGE)
        backends = names.get("_backends") if names is not None else None
        if not backends or type(backends) is not dict:
            return ()
        return tuple((accelerator, CONTEXT) for accelerator in sorted(map(_accelerator_of, tuple(backends))))


def examine(accelerator: str, process: ProbedProcess) -> Reading:
    """Return the state of JAX's devices, or of its CPU client, which starts threads of its own."""
    names = process.module(_BRIDGE)
    library = process.library(*LIBRARIES)
    if names is None:
        return _without_bridge(accelerator, library)
    return _with_bridge(accelerator, names, process, library)


def _without_bridge(accelerator: str, library: str | None) -> Reading:
    if replaced(_BRIDGE):
        return Reading(accelerator, UNKNOWN, f"{_BRIDGE} was replaced by an object that is not a module")
    if library is None:
        return Reading(accelerator, ABSENT)
    return Reading(accelerator, COLD, f"{_BRIDGE} has not been imported", library)


def _with_bridge(
    accelerator: str, names: Mapping[str, Any], process: ProbedProcess, library: str | None
) -> Reading:
    backends = names.get("_backends")
    if type(backends) is not dict:
        return Reading(accelerator, UNKNOWN, f"{_BRIDGE} has no readable table of backends", library)
    platforms = sorted(str(one) for one in tuple(backends) if _accelerator_of(one) == accelerator)
    threads = owned(process, LIBRARIES)
    lost = process.forked and threads == () and not doubt(accelerator, process, "")
    reason = f"JAX has a client for {', '.join(platforms)}"
    if platforms and lost:
        return Reading(accelerator, POISONED, f"{reason} whose threads stayed behind at a fork", library)
    if platforms:
        return Reading(accelerator, AWAKE, reason, library, level=CONTEXT, copied=not threads)
    if threads and not backends:
        return Reading(
            accelerator, UNKNOWN, "JAX lists no backends, but threads of its library are running", library
        )
    return Reading(accelerator, COLD, "JAX has made no client for it", library)


def _accelerator_of(platform: object) -> str:
    return ON_CPU if platform in _CPU_PLATFORMS else ON_DEVICES
