"""Whether the parts of the JAX that is installed fit each other and this machine.

jaxlib is made for one release of jax, and for NVIDIA devices JAX needs a plugin of the same release.

- **ok**: they fit.
- **warn**: there is no plugin for the device beside an NVIDIA driver, so that JAX computes on the CPU.
- **fail**: jaxlib is newer than jax, or the plugin is another release than jaxlib.
- **skipped**: JAX is not installed.
"""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_PLUGINS = ("jax-cuda13-plugin", "jax-cuda12-plugin", "jax-rocm7-plugin", "jax-rocm60-plugin")
_REMEDY = "install them together: pip install --upgrade 'jax[cuda12]'"


def examine(facts: Facts) -> Answer:
    """Compare the versions of JAX's parts, and look for a driver that no part uses."""
    jax, jaxlib = facts.packages.version("jax"), facts.packages.version("jaxlib")
    if jax is None:
        return skipped("JAX is not installed")
    plugin = facts.packages.first(*_PLUGINS)
    if jaxlib is not None and _is_newer(jaxlib, jax):
        return fail(f"jax {jax} beside jaxlib {jaxlib}, which needs a newer jax", _REMEDY)
    version = None if plugin is None else facts.packages.version(plugin)
    if version is not None and jaxlib is not None and version != jaxlib:
        return fail(f"jaxlib {jaxlib} beside {plugin} {version}", _REMEDY)
    if plugin is None and facts.management.driver is not None:
        return warn(f"jax {jax} has no plugin for the devices here, so it computes on the CPU", _REMEDY)
    return ok(f"jax {jax}" if plugin is None else f"jax {jax} with {plugin}")


def _is_newer(one: str, other: str) -> bool:
    try:
        return Version(one) > Version(other)
    except InvalidVersion:
        return False
