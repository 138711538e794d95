"""Whether tokenizers may start threads before a fork: TOKENIZERS_PARALLELISM.

Its thread pool does not survive a fork. If the variable is not set, a child that is forked after the pool was
used keeps to one thread, with a warning. Any value that does not mean no keeps the pool, and the child may
hang.

- **ok**: it is not set, or it is `false`.
- **warn**: it is `true`, or any other value that does not mean no, and processes are forked here.
- **skipped**: tokenizers is not installed, and it is not set.

It never fails: a child need not use tokenizers.
"""

from __future__ import annotations

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.python.start_method import default
from coldfork.model.diagnosis import Answer, ok, skipped, warn

_NAME = "TOKENIZERS_PARALLELISM"
_NO = frozenset({"", "off", "false", "f", "no", "n", "0"})


def examine(facts: Facts) -> Answer:
    """Interpret the variable in the same way as tokenizers."""
    value = facts.variables.get(_NAME)
    if value is None:
        if facts.packages.version("tokenizers") is None:
            return skipped("tokenizers is not installed")
        return ok(f"{_NAME} is not set: a forked child goes on with one thread, and warns")
    if value.lower() in _NO:
        return ok(f"{_NAME}={value}: one thread, which survives a fork")
    if default(facts.python, facts.system.platform) != "fork":
        return ok(f"{_NAME}={value}, and processes are forked only if a program asks for it")
    return warn(
        f"{_NAME}={value}: a child forked after the first use may hang",
        f"set {_NAME}=false before the fork, or start the child by spawn",
    )
