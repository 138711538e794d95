"""How many files a process may have open: `ulimit -n`.

PyTorch passes each tensor between workers as an open file, and a server has one for each connection.

- **ok**: 4096 and more.
- **warn**: fewer; a program can raise the limit itself, up to the hard limit.
- **fail**: fewer than 256.
- **skipped**: this system has no such limit.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.model.diagnosis import Answer, fail, ok, skipped, warn

_ENOUGH = 4096
_TOO_FEW = 256


def examine(facts: Facts) -> Answer:
    """Judge the soft limit on open files."""
    limit = facts.system.limits.get("NOFILE")
    if limit is None:
        return skipped("this system has no such limit")
    soft, hard = limit
    if soft is None or soft >= _ENOUGH:
        return ok(f"a process may open {'any number of' if soft is None else soft} files")
    most = "any number" if hard is None else str(hard)
    reachable = hard is None or hard >= _ENOUGH
    remedy = (
        f"run ulimit -n {_ENOUGH} before the program"
        if reachable
        else "raise the hard limit: limits.conf, LimitNOFILE"
    )
    said = f"a process may open {soft} files, and may raise that to {most}"
    return (fail if soft < _TOO_FEW else warn)(said, remedy)
