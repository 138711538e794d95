"""A run's report, as an object and as `report.json`: without secrets, and replaced only as a whole.

Like the supervisor of a script, this uses only the lightest modules of the standard library.

A secret is recognised by its name (`API_KEY=...`), by its look (a long random word) or by its value: a value
that has a secret name in the environment or the arguments is removed wherever else it occurs.
"""

from __future__ import annotations

import os

from coldfork.observe.recording import redaction
from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

#: Shorter values are not hidden, because they occur inside ordinary words.
SHORTEST = 6
_ORDINARY = frozenset({"true", "false", "none", "null", "default", "disabled", "enabled", "wayland"})


class Veil:
    """A filter that hides known secrets, and text that looks like one, in texts and data."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        # Longer secrets come first, because a shorter one may be their beginning.
        self.values: list[str] = sorted(
            {value for value in values if len(value) >= SHORTEST and value.lower() not in _ORDINARY},
            key=len,
            reverse=True,
        )

    def over(self, value: Any) -> Any:
        """Return a value without secrets; strings inside dictionaries and lists are included."""
        if isinstance(value, str):
            return redaction.text(self.known(value))
        if isinstance(value, dict):
            return {self.known(key): self._field(key, held) for key, held in value.items()}
        if isinstance(value, list | tuple):
            return [self.over(held) for held in value]
        return value

    def known(self, text: str) -> str:
        """Return a text without the known secrets."""
        for value in self.values:
            if value in text:
                text = text.replace(value, redaction.REDACTED)
        return text

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return environment variables in a form that may be written down, without secrets."""
        return {name: redaction.value_of(name, self.known(environment[name])) for name in sorted(environment)}

    def command(self, words: Sequence[str]) -> list[str]:
        """Return a command line in a form that may be written down, without secrets."""
        return redaction.command([self.known(word) for word in words])

    def _field(self, key: str, held: Any) -> Any:
        if isinstance(held, str) and key.isupper() and redaction.is_secret(key):
            return redaction.REDACTED
        return self.over(held)


NAME = "report.json"
_UNFINISHED = ".report.json.new"
_OUTPUTS = ("stdout", "stderr")
_BEGINNING = 1024
"""The number of bytes at the beginning that surely contain the state, which is among the first keys."""


_OF_ATTEMPT = ("id", "outcome", "status", "signal", "seconds")


class Report:
    """The report of one run: begun by the caller, and completed by the supervisor.

    The fields are in the order of the file; None means not known yet.
    """

    schema_version: int
    tool: dict[str, str]
    id: str
    state: str
    """`started`, `ended`, or `abandoned` if no supervisor saw the end."""
    started: str
    ended: str | None
    seconds: float | None
    outcome: str | None
    status: int | None
    signal: str | None
    command: list[str]
    cwd: str
    start_method: str
    warm: dict[str, Any] | None
    """The modules of the requested server, and why it did not start the script."""
    timeout: float | None
    retries: int
    attempts: list[Mapping[str, Any]]
    caps: dict[str, Any] | None
    environment: dict[str, Any]
    parent: dict[str, Any]
    child: dict[str, Any] | None
    exception: dict[str, Any] | None
    peak_memory_bytes: int | None
    output: Any
    left_behind: list[str]
    unreachable: list[int]
    noticed: str | None
    """When it was discovered that no supervisor saw the end."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        # Keep keys that other versions have written.
        self.__dict__ = {**dict.fromkeys(Report.__annotations__), **told}

    def told(self) -> dict[str, Any]:
        """Return the report in the form that it has in the file."""
        return {name: value for name, value in vars(self).items() if name != "noticed" or value is not None}

    @property
    def cold_because(self) -> str | None:
        """Return why no server started the script, if the user wanted one."""
        return None if self.warm is None else self.warm["cold_because"]

    def begin_attempts(self, earlier: Sequence[Mapping[str, Any]]) -> None:
        """List the earlier attempts, followed by this one."""
        self.attempts = [*earlier, self._attempt()]

    def end(self, outcome: str) -> None:
        """Record how the run ended, also in the list of attempts."""
        self._settle("ended", outcome)

    def abandon(self, outcome: str, noticed: str) -> None:
        """Record that no supervisor observed the run's end."""
        self.noticed = noticed
        self._settle("abandoned", outcome)

    def _settle(self, state: str, outcome: str) -> None:
        self.state, self.outcome = state, outcome
        if self.attempts:
            self.attempts = [*self.attempts[:-1], self._attempt()]

    def _attempt(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OF_ATTEMPT}


def write(folder: str, report: Report) -> None:
    """Replace the report in a run directory as a whole, so that readers see the old or the new one."""
    lines = [f"  {_text(key)}: {_text(value)}" for key, value in report.told().items()]
    place = os.path.join(folder, _UNFINISHED)
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii"))
        os.replace(place, os.path.join(folder, NAME))
    except OSError:
        tidy(folder)
        raise


def write_last(folder: str, report: Report) -> None:
    """Replace the report of an ended run; if the disk is full, delete the old report first.

    The old report says that the script still runs; if there is no room for the new one, it is better to have
    none.
    """
    try:
        write(folder, report)
    except OSError:
        _remove(os.path.join(folder, NAME))
        write(folder, report)


def read(folder: str) -> Report | None:
    """Read the report in a run directory; None if there is none, or it cannot be read."""
    try:
        with open(os.path.join(folder, NAME), "rb") as stream:
            value = decode(stream.read().decode("ascii"))
    except (OSError, ValueError):
        return None
    return Report(value) if isinstance(value, dict) else None


def may_run(folder: str) -> bool:
    """Return whether, judging by the beginning of its report, a run may still be in progress."""
    try:
        descriptor = os.open(os.path.join(folder, NAME), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return b'"state": "started"' in os.read(descriptor, _BEGINNING)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def tidy(folder: str) -> None:
    """Remove the unfinished file of a process that was killed during `write`."""
    _remove(os.path.join(folder, _UNFINISHED))


def _remove(place: str) -> None:
    try:
        os.unlink(place)
    except OSError:
        pass


def delete(folder: str) -> None:
    """Delete the files that coldfork has written in a run directory, and the directory if that empties it."""
    for name in (*_OUTPUTS, _UNFINISHED, NAME):
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            continue
    try:
        os.rmdir(folder)
    except OSError:
        pass


def _text(value: object) -> str:
    # The encoder accepts only objects, so encode one with a single key and cut out its value.
    return encode({"_": value}).decode("ascii").strip().removeprefix('{"_":').removesuffix("}")
