"""The names of signals, without the module `signal`, which loads a good deal."""

from __future__ import annotations

import _signal

#: Where a number has two names, the one that people know.
_KNOWN_AS = {"SIGCLD": "SIGCHLD", "SIGIOT": "SIGABRT", "SIGPOLL": "SIGIO"}


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11."""
    for name, value in vars(_signal).items():
        if name.startswith("SIG") and not name.startswith("SIG_") and value == number:
            return _KNOWN_AS.get(str(name), str(name))
    return f"signal {number}"
