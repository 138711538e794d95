"""Finds the secrets in an environment and in arguments: what stands under a secret name, in any shape."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus, unquote, urlsplit

from coldfork.observe.recording import redaction

_QUOTES = "\"'"
#: name=value, name: value, "name": "value", in any text; the name is judged afterwards. It begins at a word's
#: beginning and has a length, so that a long text without any costs no more than reading it.
_NAMED = re.compile(
    r"""(?<![\w.-])(?P<name>[A-Za-z_-][\w.-]{0,80}+)["']?\s*(?:=|:|=>)\s*(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<bare>[^\s"',;&{}\[\]]+))"""
)
_SCHEME = re.compile(r"\b(?:Bearer|Basic|Token|Digest|ApiKey)\s+(?P<value>[^\s\"',;]{4,})", re.IGNORECASE)
_USER_INFO = re.compile(r"://(?P<info>[^\s/@]+(?:@[^\s/@]+)*)@")
#: Beginnings by which services mark their keys.
_MARKED = re.compile(
    r"\b(?:hf_|sk-|sk_|pk_|rk_|ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|xox[abprs]-|npm_|pypi-|AKIA|ASIA|AIza|ya29\.|eyJ)"
    r"[A-Za-z0-9_.+/=-]{8,}"
)
_KEY_BLOCK = re.compile(r"-----BEGIN [^-]+-----(?P<body>.+?)-----END [^-]+-----", re.DOTALL)
_COOKIE = re.compile(r"\b(?:Set-)?Cookie:\s*(?P<all>[^\r\n\"']+)", re.IGNORECASE)
_SHORTEST_LINE = 12


def secrets(environment: Mapping[str, str], words: Sequence[str]) -> set[str]:
    """Every value that may not be written down, also as it would stand in a URL."""
    found = set(_in_environment(environment)) | set(_in_words(words))
    # What stands in a query is quoted in one place and plain in another.
    return {form for value in found for form in (value, quote(value, safe=""), quote_plus(value))}


def _in_environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if redaction.is_secret(name) or name.upper().endswith("_PWD"):
            # A secret that lies in a file is named by its path, which may be anybody's.
            if not value.startswith("/") or not os.path.exists(value):  # noqa: PTH110
                yield value
            yield from _lines(value)
        else:
            yield from _in_text(value)


def _in_words(words: Iterable[str]) -> Iterator[str]:
    secret_next = False
    for word in words:
        if secret_next and not word.startswith("-"):
            yield word
        secret_next = word.startswith("-") and "=" not in word and redaction.is_secret(word)
        yield from _in_text(word)


def _in_text(text: str) -> Iterator[str]:
    for match in _NAMED.finditer(text):
        if redaction.is_secret(match["name"].rpartition(".")[2]):
            yield match["double"] or match["single"] or match["bare"]
    for match in _SCHEME.finditer(text):
        yield match["value"]
    for match in _USER_INFO.finditer(text):
        user, colon, password = match["info"].partition(":")
        yield from _plain_and_quoted(password if colon else user)
    for match in _MARKED.finditer(text):
        yield match[0]
    for match in _KEY_BLOCK.finditer(text):
        yield from _lines(match["body"])
    for match in _COOKIE.finditer(text):
        for crumb in match["all"].split(";"):
            yield crumb.partition("=")[2].strip()
    if "://" in text:
        yield from _in_fields(text)


def _in_fields(text: str) -> Iterator[str]:
    for word in text.split():
        try:
            parts = urlsplit(word.strip(_QUOTES))
        except ValueError:
            continue
        # A web hook's address is its secret.
        yield from (part for part in parts.path.split("/") if redaction.text(part) != part)
        for field in f"{parts.query}&{parts.fragment}".split("&"):
            name, _, value = field.partition("=")
            if redaction.is_secret(name):
                yield from _plain_and_quoted(value)


def _plain_and_quoted(value: str) -> Iterator[str]:
    yield value
    yield unquote(value)


def _lines(value: str) -> Iterator[str]:
    """The lines of a key of many lines: each is long enough to be known by itself."""
    if "\n" in value:
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= _SHORTEST_LINE)
