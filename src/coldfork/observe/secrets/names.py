"""Decide by its name whether a value is secret: the name of a variable, an option, a field, a header."""

from __future__ import annotations

#: A name that contains one of these anywhere has a secret value.
_ANYWHERE = ("PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "REQUIREPASS")
#: A name with one of these as a part, or at the end of a part, has a secret value: `oauth`, `ACCESSKEY`.
_AT_THE_END = ("SECRET", "SECRETS", "TOKEN", "KEY", "AUTH", "COOKIE", "COOKIES", "AUTHORIZATION", "BEARER")
#: A name with one of these as a whole part has a secret value: `--pin`, but not `--pinned`.
_PARTS = frozenset({
    "AUTHENTICATION", "CERT", "CERTIFICATE", "DSN", "LICENSE", "PASS", "PAT", "PIN", "PRIVATE", "PW", "PWD",
    "SALT", "SAS", "SESSION", "SESSIONID", "SIG", "SIGNATURE",
})  # fmt: skip
#: Ordinary words that end in KEY.
_ORDINARY = frozenset({"DONKEY", "HOCKEY", "HOTKEY", "JOCKEY", "MONKEY", "TURKEY", "WHISKEY"})
#: A plural is usually a count and not a secret, except after a word such as API.
_PLURALS = frozenset({"KEYS", "TOKENS"})
_OF_ACCESS = frozenset({"ACCESS", "API", "AUTH", "BEARER", "REFRESH", "SECRET"})
_SHORTEST_KEY = 8
#: Variables that contain folders: `PWD` does, but `Pwd=` in a connection string is a password.
_FOLDERS = frozenset({"PWD", "OLDPWD"})
_BEGIN_A_PATH = ("/", "~", "$", ".", "%")

#: Values that are not secret, even under a name that suggests it.
HARMLESS_VALUES = frozenset({
    "true", "false", "none", "null", "yes", "no", "on", "off", "auto", "default", "disabled", "enabled",
    "str", "int", "float", "bool", "bytes",
})  # fmt: skip
#: Headers whose whole line is secret.
HEADERS = frozenset({"AUTHORIZATION", "PROXY-AUTHORIZATION", "COOKIE", "SET-COOKIE"})


def is_secret(name: str, value: str = "") -> bool:
    """Return True for a name, option or key whose value is secret."""
    parts = _parts(name)
    if len(parts) == 1 and parts[0] in _FOLDERS:
        return bool(value) and not value.startswith(_BEGIN_A_PATH)
    if name == "key" and value.isalpha() and len(value) < _SHORTEST_KEY:
        # code such as `sorted(names, key=len)`
        return False
    return any(_is_secret(part, parts) for part in parts)


def _is_secret(part: str, parts: list[str]) -> bool:
    if part in _ORDINARY:
        return False
    if part in _PARTS or part.endswith(_AT_THE_END) or any(word in part for word in _ANYWHERE):
        return True
    return part in _PLURALS and not _OF_ACCESS.isdisjoint(parts)


def _parts(name: str) -> list[str]:
    """Return the parts of a name, in upper case and without numbers: `maxNewTokens2` is MAX, NEW, TOKENS."""
    parts = [""]
    lower = False
    for letter in name:
        if not letter.isalpha():
            parts.append("")
            lower = False
            continue
        if letter.isupper() and lower:
            parts.append("")
        lower = letter.islower()
        parts[-1] += letter.upper()
    return [part for part in parts if part]
