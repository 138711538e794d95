"""Keep the accelerator cold until the right process wakes it, and name the line that woke it too early.

PYTEST_DONT_REWRITE: a process that is watched has imported this before pytest can load the plugin, and pytest
would warn in every such process that its assertions cannot be rewritten; there are none.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork import graphs, virtual
    from coldfork.checking.session import CheckSession, check
    from coldfork.launch.contexts import get_context
    from coldfork.launch.devices.choice import FreeDevices, Lease
    from coldfork.launch.devices.leases import lease
    from coldfork.launch.figures import Figures
    from coldfork.launch.pool.errors import (
        MemoryCapError,
        PoolBrokenError,
        PoolError,
        RemoteError,
        TaskKilledError,
        TaskTimeoutError,
        WorkerDiedError,
    )
    from coldfork.launch.pool.pool import WorkerPool
    from coldfork.launch.script.async_call import arun_script
    from coldfork.launch.script.call import run_script
    from coldfork.launch.script.result import ScriptError, ScriptResult
    from coldfork.launch.server.zygote.handle import Zygote, zygote
    from coldfork.launch.supervisor.entry_point import progress
    from coldfork.model.decisions import Decision
    from coldfork.model.errors import (
        CheckCancelledError,
        ColdforkError,
        LeaseError,
        UnsafeForkError,
        ZygoteError,
    )
    from coldfork.model.findings import Report
    from coldfork.start.canary import canary
    from coldfork.start.decide import decide
    from coldfork.start.guard import allow_fork, guard
    from coldfork.start.states import state

__version__ = "0.2.0"

__all__ = [
    "CheckCancelledError",
    "CheckSession",
    "ColdforkError",
    "Decision",
    "Figures",
    "FreeDevices",
    "Lease",
    "LeaseError",
    "MemoryCapError",
    "PoolBrokenError",
    "PoolError",
    "RemoteError",
    "Report",
    "ScriptError",
    "ScriptResult",
    "TaskKilledError",
    "TaskTimeoutError",
    "UnsafeForkError",
    "WorkerDiedError",
    "WorkerPool",
    "Zygote",
    "ZygoteError",
    "__version__",
    "allow_fork",
    "arun_script",
    "canary",
    "check",
    "decide",
    "get_context",
    "graphs",
    "guard",
    "lease",
    "progress",
    "run_script",
    "state",
    "virtual",
    "zygote",
]

_ROOMS = frozenset({"graphs", "virtual"})
_HOME_OF = {
    **dict.fromkeys(
        (
            "MemoryCapError",
            "PoolBrokenError",
            "PoolError",
            "RemoteError",
            "TaskKilledError",
            "TaskTimeoutError",
            "WorkerDiedError",
        ),
        "coldfork.launch.pool.errors",
    ),
    "WorkerPool": "coldfork.launch.pool.pool",
    "ScriptError": "coldfork.launch.script.result",
    "ScriptResult": "coldfork.launch.script.result",
    "Figures": "coldfork.launch.figures",
    "FreeDevices": "coldfork.launch.devices.choice",
    "Lease": "coldfork.launch.devices.choice",
    "arun_script": "coldfork.launch.script.async_call",
    "get_context": "coldfork.launch.contexts",
    "lease": "coldfork.launch.devices.leases",
    "progress": "coldfork.launch.supervisor.entry_point",
    "run_script": "coldfork.launch.script.call",
    "CheckCancelledError": "coldfork.model.errors",
    "CheckSession": "coldfork.checking.session",
    "check": "coldfork.checking.session",
    "ColdforkError": "coldfork.model.errors",
    "LeaseError": "coldfork.model.errors",
    "Decision": "coldfork.model.decisions",
    "Report": "coldfork.model.findings",
    "UnsafeForkError": "coldfork.model.errors",
    "Zygote": "coldfork.launch.server.zygote.handle",
    "ZygoteError": "coldfork.model.errors",
    "allow_fork": "coldfork.start.guard",
    "canary": "coldfork.start.canary",
    "decide": "coldfork.start.decide",
    "guard": "coldfork.start.guard",
    "state": "coldfork.start.states",
    "zygote": "coldfork.launch.server.zygote.handle",
}
_HOOKS = {
    "load_ipython_extension": "coldfork.plugins.notebook",
    "unload_ipython_extension": "coldfork.plugins.notebook",
}
"""Functions that other programs look up by name; people never call them."""
_VARIABLES = frozenset({"COLDFORK_GUARD", "COLDFORK_VIRTUAL"})
"""The variables that users expect to have an effect wherever coldfork is installed."""


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import coldfork` stays cheap."""
    import importlib

    if name in _ROOMS:
        return importlib.import_module(f"coldfork.{name}")
    home = _HOME_OF.get(name) or _HOOKS.get(name)
    if home is None:
        raise AttributeError(f"module 'coldfork' has no attribute {name!r}")
    if _VARIABLES & os.environ.keys():
        importlib.import_module("coldfork.plugins.unheard").watch()
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
