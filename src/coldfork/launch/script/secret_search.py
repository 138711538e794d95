"""Find the secrets in an environment and in arguments: every value under a secret name, in all its forms."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus, unquote

from coldfork.launch.supervisor.report_file import SHORTEST
from coldfork.observe.recording import redaction
from coldfork.observe.secrets.names import is_secret
from coldfork.observe.secrets.texts import secret_spans
from coldfork.observe.secrets.words import in_words

_SHORTEST_LINE = 12
_BETWEEN_CRUMBS = ";"


def secrets(environment: Mapping[str, str], words: Sequence[str]) -> set[str]:
    """Return every value that must not be written down, also in its URL-quoted forms."""
    found = set(_in_environment(environment)) | set(_in_words(words))
    # The same value may appear quoted in one place and plain in another.
    return {form for value in found for form in (value, quote(value, safe=""), quote_plus(value))}


def _in_environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if is_secret(name, value):
            # A secret file's path is itself no secret.
            if not value.startswith("/") or not os.path.exists(value):  # noqa: PTH110
                yield value
            yield from _lines(value)
        else:
            yield from _in_text(value)


def _in_words(words: Sequence[str]) -> Iterator[str]:
    for word, span in zip(words, in_words(words), strict=True):
        if span is not None:
            yield from _forms(word[slice(*span)])
        yield from _in_text(word)


def _in_text(text: str) -> Iterator[str]:
    for start, end in secret_spans(text):
        yield from _forms(text[start:end])
    if "://" in text:
        for word in text.split():
            # The secret of a web hook is part of its URL.
            yield from (
                part for part in word.split("/") if len(part) > SHORTEST and redaction.text(part) != part
            )


def _forms(found: str) -> Iterator[str]:
    """Yield a secret and those of its parts that may appear elsewhere, such as a password or a cookie."""
    yield found
    yield unquote(found)
    yield from _lines(found)
    scheme, _, value = found.partition(" ")
    if scheme.isalpha():
        yield value
    user, colon, password = found.partition(":")
    if colon and " " not in user:
        yield password
        yield unquote(password)
    if "=" in found:
        yield from (crumb.partition("=")[2].strip() for crumb in found.split(_BETWEEN_CRUMBS))


def _lines(value: str) -> Iterator[str]:
    """Yield those lines of a multi-line key that are long enough to be recognised on their own."""
    if "\n" in value:
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE)
