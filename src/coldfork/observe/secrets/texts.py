"""Find the secrets in any text: a word of a command, code, a variable's value, an exception's message."""

from __future__ import annotations

from coldfork.observe.secrets.looks import is_marked, is_random
from coldfork.observe.secrets.names import HARMLESS_VALUES, HEADERS, is_secret
from coldfork.observe.secrets.words import in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from coldfork.observe.secrets.words import Span

_QUOTES = "\"'`"
_BLANK = " \t"
_ENDS_VALUE = frozenset(" \t\r\n\"'`,;&{}[]|<>")
_ENDS_PIECE = frozenset(" \t\r\n\"'`,;:&{}[]()|<>?@")
_OF_NAMES = frozenset("_-.")
_SCHEMES = frozenset({"basic", "token", "digest", "apikey", "negotiate"})
_BEARER = "bearer"
_SHORTEST_BEARER = 4
_SHORTEST_SCHEME = 8
_LONGEST_NAME = 80
_BEGIN = "-----BEGIN "
_END = "-----END "
_NO_SCHEME = frozenset({"mailto", "sip", "sips", "acct", "pkg"})
_PREFIXES = frozenset("bBfFrRuU")


def secret_spans(text: str) -> list[Span]:
    """Return the positions of a text's secrets, from left to right and without overlap."""
    found: list[Span] = []
    if "=" in text or ":" in text:
        found += _named(text)
    if "@" in text:
        found += _user_infos(text)
    if _BEGIN in text:
        found += _key_blocks(text)
    found += _by_looks(text)
    if any(blank in text for blank in " \t\n"):
        found += _schemes(text)
        found += _as_words(text)
    return _merged(found)


def hidden(text: str, spans: list[Span], mark: str) -> str:
    """Replace the secrets in a text by a mark."""
    pieces, done = [], 0
    for start, end in _merged(spans):
        pieces += [text[done:start], mark]
        done = end
    return "".join([*pieces, text[done:]])


def _named(text: str) -> Iterator[Span]:
    """Find `name=value`, `name: value`, `"name": "value"`, `name => value`, and whole headers."""
    done = 0
    for at, letter in enumerate(text):
        if at < done or letter not in "=:" or _is_operator(text, at):
            continue
        name = _name_before(text, at)
        if not name:
            continue
        start = at + 1
        if text[start : start + 1] == ">":
            start += 1
        while text[start : start + 1] in tuple(_BLANK):
            start += 1
        if name.upper() in HEADERS:
            done = _end_of_line(text, start)
            yield start, done
            continue
        last = name.rpartition(".")[2]
        if not is_secret(last, text[start : start + 1] or "-"):
            continue
        start, done = _value_at(text, start)
        value = text[start:done]
        if value and is_secret(last, value) and not _is_harmless(value):
            yield start, done


def _is_operator(text: str, at: int) -> bool:
    """Return whether an `=` or `:` does not assign a value, but compares, or belongs to an address
    or `:=`.
    """
    if text[at : at + 2] in ("==", "::", ":=") or text[at : at + 3] == "://":
        return True
    return at > 0 and text[at] in "=:" and text[at - 1] in ("=!<>:" if text[at] == "=" else ":")


def _name_before(text: str, at: int) -> str:
    """Return the name before a sign: in `os.environ["API_KEY"] =` it is API_KEY."""
    end = at
    while end and text[end - 1] in "\"'`] )\t" and at - end < 6:
        end -= 1
    start = end
    while (
        start and end - start < _LONGEST_NAME and (text[start - 1].isalnum() or text[start - 1] in _OF_NAMES)
    ):
        start -= 1
    return text[start:end].strip("-.")


def _value_at(text: str, start: int) -> Span:
    """Return the span of a value: the text in quotes, or up to a character that cannot belong to it."""
    if text[start : start + 1] in _PREFIXES and text[start + 1 : start + 2] in tuple(_QUOTES):
        start += 1
    escaped = text[start : start + 2] in ('\\"', "\\'")
    quote = text[start + escaped : start + escaped + 1]
    if quote and quote in _QUOTES:
        start += 1 + escaped
        end = text.find(("\\" if escaped else "") + quote, start)
        return start, len(text) if end < 0 else end
    end = start
    while end < len(text) and text[end] not in _ENDS_VALUE:
        end += 1
    return start, end


def _is_harmless(value: str) -> bool:
    if value.lower().rstrip("):") in HARMLESS_VALUES:
        return True
    return value.startswith("$") and value.strip('${}()"').replace("_", "").isalnum()


def _end_of_line(text: str, start: int) -> int:
    """Return the end of a header: that of the line, or the quote that was opened before the header."""
    ends = [end for sign in ("\n", '"', "'") if (end := text.find(sign, start)) >= 0]
    return min(ends, default=len(text))


def _user_infos(text: str) -> Iterator[Span]:
    """Find `scheme://user:password@host`, and `user:password@host` without a scheme."""
    for start, end in _split(text, frozenset(" \t\r\n\"'`,;<>|")):
        word = text[start:end]
        scheme = word.find("://")
        if scheme >= 0:
            host = word[scheme + 3 :].partition("/")[0]
            if "?" in host and "@" not in host.partition("?")[0]:
                continue
            before = host.rpartition("@")[0]
            if before:
                yield start + scheme + 3, start + scheme + 3 + len(before)
            continue
        before, sign, behind = word.rpartition("@")
        user, colon, password = before.partition(":")
        user = user.rpartition("=")[2]
        if sign and colon and user and password and "/" not in before and user.lower() not in _NO_SCHEME:
            if behind[:1].isalnum() and not behind.startswith("sha256:"):
                yield start + len(before) - len(password), start + len(before)


def _key_blocks(text: str) -> Iterator[Span]:
    """Find the bodies of multi-line keys; a key without an end extends to the end of the text."""
    at = text.find(_BEGIN)
    while at >= 0:
        start = text.find("-----", at + len(_BEGIN))
        start = len(text) if start < 0 else start + 5
        end = text.find(_END, start)
        yield start, len(text) if end < 0 else end
        at = -1 if end < 0 else text.find(_BEGIN, end)


def _by_looks(text: str) -> Iterator[Span]:
    for start, end in _split(text, _ENDS_PIECE):
        piece = text[start:end]
        for begin, part in _parts(piece):
            if is_marked(part) or is_random(part):
                yield start + begin, start + begin + len(part)


def _parts(piece: str) -> Iterator[tuple[int, str]]:
    """Yield a piece, and the value in `name=value`; padding signs belong to a random word."""
    name, sign, value = piece.partition("=")
    if sign and value.strip("="):
        yield len(name) + 1, value
        return
    yield 0, piece
    # A key may be the last part of a path, or follow a dot.
    for joint in "/.":
        before, sign, last = piece.rpartition(joint)
        if sign and before:
            yield len(before) + 1, last


def _schemes(text: str) -> Iterator[Span]:
    """Find `Bearer X` and `Basic X`; without X, these are ordinary words."""
    scheme = ""
    for start, end in _split(text, frozenset(" \t\r\n\"'`,;")):
        word = text[start:end]
        if (scheme == _BEARER and len(word) >= _SHORTEST_BEARER and word.lower() not in HARMLESS_VALUES) or (
            scheme and len(word) >= _SHORTEST_SCHEME and not word.isalpha()
        ):
            yield start, end
        said = word.lower().rpartition("=")[2].rpartition(":")[2]
        scheme = said if said == _BEARER or said in _SCHEMES else ""


def _as_words(text: str) -> Iterator[Span]:
    """Read the text as a command line, as for `sh -c`, or as a variable with options."""
    tokens = list(_tokens(text))
    for (start, end), span in zip(tokens, in_words([text[a:b] for a, b in tokens]), strict=True):
        if span is not None:
            yield start + span[0], start + span[1]
        elif start and text[start - 1] in _QUOTES and " " in text[start:end]:
            # A quoted piece of a command may itself be a command, or the text of a file.
            yield from ((start + first, start + last) for first, last in _as_words(text[start:end]))


def _tokens(text: str) -> Iterator[Span]:
    """Yield words as a shell sees them, without their quotes."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        quote = text[at] if text[at] in _QUOTES else ""
        if quote and (end := text.find(quote, at + 1)) > 0:
            yield at + 1, end
            at = end + 1
            continue
        start = at
        while at < len(text) and not text[at].isspace():
            at += 1
        end = at
        while end > start + 1 and text[end - 1] in "\"'`;,)":
            end -= 1
        yield start, end


def _split(text: str, at: frozenset[str]) -> Iterator[Span]:
    start = 0
    for place, letter in enumerate(text):
        if letter in at:
            if place > start:
                yield start, place
            start = place + 1
    if len(text) > start:
        yield start, len(text)


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
