"""Find names of persons and machines in a text: hosts, users, home folders, device ids."""

from __future__ import annotations

from coldfork.observe.secrets.texts import hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coldfork.observe.secrets.words import Span

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_GROUPS = (8, 4, 4, 4, 12)
_UUID_LENGTH = sum(_GROUPS) + len(_GROUPS) - 1
#: Folders that contain users' homes.
_HOMES = ("/home/", "/Users/", "/export/home/", "C:\\Users\\")
_ENDS_NAME = frozenset("/\\ \t\r\n\"'`,;:()[]{}<>")
#: Names of users and hosts that exist everywhere, and so identify nobody.
_NOBODY = frozenset({"root", "localhost", "localhost.localdomain", "nobody", "user", "ubuntu", "app"})

HOME = "~"
USER = "<user>"
HOST = "<host>"
UUID = "<uuid>"


class Identity:
    """The names that identify a user and a machine."""

    def __init__(self, hosts: Iterable[str] = (), users: Iterable[str] = (), home: str = "") -> None:
        self.hosts: list[str] = _naming(hosts)
        self.users: list[str] = _naming(users)
        self.home: str = home.rstrip("/\\")


def anonymous(text: str, who: Identity) -> str:
    """Return a text with `~` and similar marks in place of all names of the user and the machine."""
    if who.home:
        text = hidden(text, list(_paths(text, who.home)), HOME)
    text = hidden(text, list(_homes(text)), USER)
    text = hidden(text, list(_uuids(text)), UUID)
    for names, mark in ((who.hosts, HOST), (who.users, USER)):
        for name in names:
            text = hidden(text, list(_words(text, name)), mark)
    return text


def _naming(names: Iterable[str]) -> list[str]:
    # The longest names first, because a full host name begins with the short one.
    return sorted({name for name in names if name and name not in _NOBODY}, key=len, reverse=True)


def _paths(text: str, folder: str) -> Iterator[Span]:
    """Yield the positions at which a folder occurs alone or as the beginning of a path."""
    for start, end in _found(text, folder):
        if text[end : end + 1] in ("", *_ENDS_NAME) and (not start or text[start - 1] in _BEFORE_PATH):
            yield start, end


_BEFORE_PATH = _ENDS_NAME - {"/", "\\"} | {"="}


def _homes(text: str) -> Iterator[Span]:
    """Yield the names of users in the paths of their homes."""
    for parent in _HOMES:
        for _, start in _found(text, parent):
            end = start
            while end < len(text) and text[end] not in _ENDS_NAME:
                end += 1
            if end > start:
                yield start, end


def _uuids(text: str) -> Iterator[Span]:
    at = text.find("-")
    while at >= 0:
        start = at - _GROUPS[0]
        if start >= 0 and _is_uuid(text[start : start + _UUID_LENGTH]):
            yield start, start + _UUID_LENGTH
            at = start + _UUID_LENGTH
        at = text.find("-", at + 1)


def _is_uuid(word: str) -> bool:
    parts = word.split("-")
    return tuple(map(len, parts)) == _GROUPS and all(_HEXADECIMAL.issuperset(part) for part in parts)


def _words(text: str, name: str) -> Iterator[Span]:
    """Yield the positions at which a name occurs by itself, and not inside another word."""
    for start, end in _found(text, name):
        before, behind = text[start - 1 : start] if start else "", text[end : end + 1]
        if not _belongs(before) and not _belongs(behind):
            yield start, end


def _belongs(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _found(text: str, words: str) -> Iterator[Span]:
    at = text.find(words)
    while at >= 0:
        yield at, at + len(words)
        at = text.find(words, at + len(words))
