"""How many processes and threads this user may have: `ulimit -u`.

All threads of all the user's processes count. Once the limit is reached, starting a pool fails with
"Resource temporarily unavailable".

- **ok**: 4096 and more, or no limit.
- **warn**: fewer.
- **fail**: fewer than 256.
- **skipped**: this system has no such limit.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_ENOUGH = 4096
_TOO_FEW = 256


def examine(facts: Facts) -> Answer:
    """Judge the soft limit on processes and threads."""
    limit = facts.system.limits.get("NPROC")
    if limit is None:
        return skipped("this system has no such limit")
    soft, _ = limit
    if soft is None or soft >= _ENOUGH:
        return ok(f"this user may have {'any number of' if soft is None else soft} processes and threads")
    said = f"this user may have {soft} processes and threads in all programs together"
    return (fail if soft < _TOO_FEW else warn)(
        said, f"run ulimit -u {_ENOUGH}, or raise the limit: limits.conf, LimitNPROC"
    )
