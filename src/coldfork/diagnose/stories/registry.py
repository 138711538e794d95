"""The list of stories, and the search of a log for all of them; stories are loaded on demand."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import MappingProxyType
from typing import Protocol, cast

from coldfork.diagnose.case import Case
from coldfork.diagnose.logs.streaming import Signs
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story
from coldfork.model.errors import UsageError

_ROOM = "coldfork.diagnose.stories"

#: The stories and the folder of each; their names are those in `coldfork.knowledge.troubles`.
STORIES = MappingProxyType(
    {
        "cuda-in-forked-child": "forks",
        "initialization-error": "forks",
        "aborted-after-fork": "forks",
        "fork-refused": "forks",
        "threads-at-fork": "forks",
        "openmp-after-fork": "forks",
        "tokenizers": "forks",
        "hang": "forks",
        "no-main-guard": "starting",
        "context-already-set": "starting",
        "daemonic": "starting",
        "unpicklable-target": "starting",
        "forkserver-eof": "starting",
        "invalid-device": "devices",
        "duplicate-device": "devices",
        "out-of-memory": "devices",
        "device-busy": "devices",
        "driver-too-old": "devices",
        "binary-mismatch": "devices",
        "woken-too-early": "devices",
        "capture-invalidated": "devices",
        "lazy-state-in-capture": "devices",
        "shared-memory": "devices",
    }
)


class Teller(Protocol):
    """The interface of each story's module, whose docstring is part of the story's page."""

    NAME: str

    def tell(self, case: Case) -> Iterator[Story]:
        """Yield the story as this log tells it, or nothing."""


def teller(name: str) -> Teller:
    """Import the module of one story."""
    if name not in STORIES:
        raise UsageError(f"there is no story {name!r}; choose from {', '.join(STORIES)}")
    return cast(Teller, importlib.import_module(f"{_ROOM}.{STORIES[name]}.{name.replace('-', '_')}"))


def told(case: Case) -> Iterator[Story]:
    """Yield every story that this log tells, in the order of the list."""
    for name in STORIES:
        yield from teller(name).tell(case)


#: Part of the name of every error or warning whose message contains a sign. Other signs are their own
#: anchors.
_OF_ERRORS = ("Error", "Warning:")
#: Signs that a story also accepts outside the message of an error.
_ALONE = (
    "in forked subprocess",
    "driver on your system is too old",
    "Duplicate GPU detected",
    "Unexpected bus error",
    "in another thread when fork",
    "NOT_INITIALIZED",
    "devices cannot be modified after",
    "reads memory that",
    "THCudaCheck FAIL",
)


def signs() -> Signs:
    """Return the signs of all stories, with the anchors that must occur near them."""
    troubles = [named(name) for name in STORIES]
    alone = {needle for trouble in troubles if not trouble.kinds for needle in trouble.needles}
    words = {needle for trouble in troubles for needle in trouble.needles}
    return Signs(_encoded({*_OF_ERRORS, *_ALONE, *alone}), _encoded(words))


def _encoded(words: set[str]) -> tuple[bytes, ...]:
    return tuple(sorted(word.encode() for word in words))


def page(name: str) -> str:
    """Return the page of one story: the trouble's texts and the docstring of the story's module."""
    trouble = named(name)
    title, _, rest = inspect.cleandoc(teller(name).__doc__ or "").partition("\n")
    parts = [
        f"# {name}",
        title,
        f"## What is seen\n\n{trouble.sign}",
        f"## Why\n\n{trouble.cause}",
        "## What to do\n\n"
        + "\n".join(f"{number}. {text}" for number, text in enumerate(trouble.remedies, 1)),
    ]
    if trouble.command is not None:
        parts.append(f"```sh\n{trouble.command}\n```")
    return "\n\n".join([*parts, rest.strip()]) + "\n"
