"""Whether gRPC is told to survive a fork: GRPC_ENABLE_FORK_SUPPORT.

Without it a child that was forked while channels were open may hang when it uses them. It is off unless the
variable asks for it, before grpc is imported.

- **ok**: it is asked for; or nothing forks here unless asked to.
- **warn**: grpc is installed beside a Python that forks, and the variable is not set.
- **skipped**: grpc is not installed.

It never fails: whether channels are open at a fork is known only when the program runs.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.python.start_method import default
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_NAME = "GRPC_ENABLE_FORK_SUPPORT"
_YES = frozenset({"yes", "true", "1", "on", "y", "t"})


def examine(facts: Facts) -> Answer:
    """Interpret the variable in the same way as gRPC."""
    version = facts.packages.version("grpcio")
    if version is None:
        return skipped("grpcio is not installed")
    if facts.variables.get(_NAME, "").lower() in _YES:
        return ok(f"grpcio {version}, with {_NAME}={facts.variables[_NAME]}")
    if default(facts.python, facts.system.platform) != "fork":
        return ok(f"grpcio {version}, and processes are forked only if a program asks for it")
    return warn(
        f"grpcio {version}: a child forked while channels are open may hang",
        f"set {_NAME}=1 before grpc is imported, and open channels of its own in the child",
        "or close the channels before the fork",
    )
