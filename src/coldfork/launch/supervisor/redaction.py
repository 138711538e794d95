"""Takes the secrets of one run out of everything that is written about it.

A secret is known by its name (`API_KEY=...`), by its look (a long random word) or by its value: what stood
under a secret name anywhere in the environment or the arguments is taken out wherever else it turns up.
"""

from __future__ import annotations

from coldfork.observe.recording import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

#: A shorter value would be found inside of ordinary words.
SHORTEST = 6
_ORDINARY = frozenset({"true", "false", "none", "null", "default", "disabled", "enabled", "wayland"})


class Veil:
    """Hides known values, and what looks like a secret, in whatever it is laid over."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        # The longest first: one secret may be the beginning of another.
        self.values = sorted(
            {value for value in values if len(value) >= SHORTEST and value.lower() not in _ORDINARY},
            key=len,
            reverse=True,
        )

    def over(self, value: Any) -> Any:
        """The same value with its secrets taken out; dictionaries, lists and texts are gone through."""
        if isinstance(value, str):
            return redaction.text(self.known(value))
        if isinstance(value, dict):
            return {self.known(key): self._field(key, held) for key, held in value.items()}
        if isinstance(value, list | tuple):
            return [self.over(held) for held in value]
        return value

    def known(self, text: str) -> str:
        """A text without the known values."""
        for value in self.values:
            if value in text:
                text = text.replace(value, redaction.REDACTED)
        return text

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Variables as they may be written down."""
        return {name: redaction.value_of(name, self.known(environment[name])) for name in sorted(environment)}

    def command(self, words: Sequence[str]) -> list[str]:
        """A command line as it may be written down."""
        return redaction.command([self.known(word) for word in words])

    def _field(self, key: str, held: Any) -> Any:
        if isinstance(held, str) and key.isupper() and redaction.is_secret(key):
            return redaction.REDACTED
        return self.over(held)
