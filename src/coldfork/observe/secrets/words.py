"""Find the secrets in a command line: values of options, and words that a program takes as a password."""

from __future__ import annotations

from coldfork.observe.secrets.names import HARMLESS_VALUES, is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Span = tuple[int, int]

#: Options that take `user:password`.
_USERS = frozenset({"-u", "-U", "--user", "--proxy-user", "--http-user", "--ftp-user", "--userpwd"})
#: Programs that take a password after a one-letter option: first in the same word, then as the next word.
_ATTACHED = dict.fromkeys(("mysql", "mariadb", "sshpass", "7z", "7za", "7zr", "unrar"), "-p")
_NEXT = {
    **dict.fromkeys(("sshpass", "mongo", "impacket"), "-p"),
    **dict.fromkeys(("zip", "unzip", "sqlcmd", "bcp", "isql", "ipmitool"), "-P"),
    "redis-cli": "-a",
    "ldap": "-w",
}
_LOGIN = "login"
_SEPARATORS = frozenset({";", "|", "||", "&", "&&", "(", "{"})
#: A password follows these words anywhere; after the plain word, only in a file of logins or in a command
#: that sets one.
_ALWAYS = frozenset({"requirepass", "masterauth"})
_PLAIN = frozenset({"password", "passwd", "passphrase"})
_BEFORE_PLAIN = frozenset({"machine", "login", "account", "set", "requirepass", "alter", "create"})
_JOINTS = frozenset({"=", "to", "is", ":"})
_SHORTEST_ATTACHED = 3


def in_words(words: Sequence[str]) -> list[Span | None]:
    """Return the secret piece of each word of a command line, or None."""
    found: list[Span | None] = [None] * len(words)
    for place, span in _found(words):
        if found[place] is None:
            found[place] = span
    return found


def _found(words: Sequence[str]) -> Iterator[tuple[int, Span]]:
    program = ""
    expected = True
    login = set[str]()
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if expected and "=" not in word and not word.startswith("-"):
            program, expected = word.rpartition("/")[2].lower(), False
        if word in _SEPARATORS or word.endswith(";"):
            program, expected = "", True
        yield from _of_option(place, word, following, login)
        yield from _of_program(place, word, following, program, login)
        yield from _of_plain(place, word, words, login)
        login.add(word.lower().strip("\"'"))


def _of_option(place: int, word: str, following: str, before: set[str]) -> Iterator[tuple[int, Span]]:
    if word in _USERS or (word.startswith("-u") and ":" in word and not word.startswith("-u:")):
        at, held, skip = (place + 1, following, 0) if word in _USERS else (place, word, 2)
        user, colon, password = held[skip:].partition(":")
        # Two numbers are the ids of a user and a group; a path follows the name of another machine.
        numbers = user.isdigit() and password.isdigit()
        if colon and user and password and not numbers and not password.startswith(("/", "~")):
            yield at, (skip + len(user) + 1, len(held))
    elif word.startswith("-") and "=" not in word and following and not following.startswith("-"):
        if is_secret(word) and following.lower() not in HARMLESS_VALUES and not _is_reference(following):
            yield place + 1, (0, len(following))


def _of_program(
    place: int, word: str, following: str, program: str, before: set[str]
) -> Iterator[tuple[int, Span]]:
    attached = _option_of(_ATTACHED, program)
    if attached and word.startswith(attached) and len(word) >= len(attached) + _SHORTEST_ATTACHED - 1:
        yield place, (len(attached), len(word))
    apart = _option_of(_NEXT, program) or ("-p" if _LOGIN in before else "")
    if apart and word == apart and following and not following.startswith("-"):
        yield place + 1, (0, len(following))


def _option_of(table: dict[str, str], program: str) -> str:
    return next((option for name, option in table.items() if program.startswith(name)), "")


def _of_plain(place: int, word: str, words: Sequence[str], before: set[str]) -> Iterator[tuple[int, Span]]:
    """Find `machine host login user password X`, `set password X`, `identified by X`."""
    said = word.lower().strip("\"'")
    at = place + 1
    while at < len(words) and words[at].lower() in _JOINTS:
        at += 1
    if at >= len(words):
        return
    by = said == "by" and "identified" in before
    if by or said in _ALWAYS or (said in _PLAIN and not _BEFORE_PLAIN.isdisjoint(before)):
        yield at, (0, len(words[at]))


def _is_reference(value: str) -> bool:
    """Return whether a value is a shell variable, which refers to a secret but is none itself."""
    return value.startswith("$") and value.strip("${}").replace("_", "").isalnum()
