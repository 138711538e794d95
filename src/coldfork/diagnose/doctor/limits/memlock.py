"""How much memory a process may lock: `ulimit -l`.

NCCL and UCX lock the memory that they send over InfiniBand or RoCE; nothing else here needs the limit. CUDA's
pinned memory does not count.

- **ok**: there is no such network, or no limit.
- **warn**: there is one, and a limit.
- **skipped**: this system has no such limit.

It never fails, because programs fall back to slower transfers.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.limits.dev_shm import size
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_NETWORK = "/dev/infiniband"


def examine(facts: Facts) -> Answer:
    """Judge the soft limit on locked memory, if this machine has hardware that needs locked memory."""
    limit = facts.system.limits.get("MEMLOCK")
    if limit is None:
        return skipped("this system has no such limit")
    soft, _ = limit
    if soft is None:
        return ok("a process may lock any amount of memory")
    if not facts.files.names(_NETWORK):
        return ok(f"a process may lock {size(soft)}, and no InfiniBand is there to need more")
    return warn(
        f"a process may lock {size(soft)}, but InfiniBand needs more",
        "ulimit -l unlimited; in a container: docker run --ulimit memlock=-1",
    )
