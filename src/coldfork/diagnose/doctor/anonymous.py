"""A checkup for strangers: without host names, user names, home folders, ids of devices, and secrets."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from coldfork.model.diagnosis import Answer, Checkup
from coldfork.observe.recording import redaction
from coldfork.observe.secrets import identities
from coldfork.observe.secrets.identities import Identity


def anonymous(checkup: Checkup, who: Identity | None = None) -> Checkup:
    """The same checkup with every text gone through."""
    somebody = identity() if who is None else who

    def clear(text: str) -> str:
        return redaction.text(identities.anonymous(text, somebody))

    return replace(
        checkup,
        results=tuple(replace(result, answer=_answer(result.answer, clear)) for result in checkup.results),
        python=None if checkup.python is None else clear(checkup.python),
        named=None if checkup.named is None else clear(checkup.named),
        folders=tuple(map(clear, checkup.folders)),
    )


def _answer(answer: Answer, clear: Callable[[str], str]) -> Answer:
    return replace(
        answer,
        message=clear(answer.message),
        remedies=tuple(map(clear, answer.remedies)),
        details=tuple(map(clear, answer.details)),
    )


def identity() -> Identity:
    """Who runs this process, and on which machine."""
    users = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")}
    with suppress(ImportError, KeyError, AttributeError):
        import pwd

        users.add(pwd.getpwuid(os.getuid()).pw_name)
    hosts = {socket.gethostname(), platform.node(), os.environ.get("HOSTNAME", "")}
    return Identity({*hosts, *(host.partition(".")[0] for host in hosts)}, users, os.path.expanduser("~"))  # noqa: PTH111
