"""Methods of texts that are completely or partly known."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coldfork.source.semantics.classes import any_of
from coldfork.source.semantics.constants import STARTED
from coldfork.source.values.kinds import UNKNOWN, Const, Keywords, Sequence, Value, Values
from coldfork.source.values.texts import PartialText, ending, formatted, joined_text, partial
from coldfork.source.values.unions import each_text

# fmt: off
_METHODS = frozenset((
    "capitalize", "casefold", "count", "endswith", "find", "format", "index", "isalpha", "isdigit",
    "isidentifier", "islower", "isnumeric", "isupper", "join", "lower", "lstrip", "partition",
    "removeprefix", "removesuffix", "replace", "rfind", "rpartition", "rsplit", "rstrip", "split",
    "splitlines", "startswith", "strip", "title", "upper", "zfill",
))
# fmt: on
#: Methods of a path that keep its end.
_REWRITTEN = frozenset({"absolute", "expanduser", "resolve"})
_LETTERS = frozenset({"casefold", "lower", "upper"})


def text_method(receiver: Const, name: str, positional: Values, keywords: Keywords) -> Value:
    """Return the result of a method of a constant text."""
    text = receiver.value
    if not isinstance(text, str) or name not in _METHODS:
        return UNKNOWN
    if name == "format":
        names = tuple(keywords)
        count = len(positional)
        if None in keywords:
            return UNKNOWN
        return each_text(
            (*positional, *keywords.values()),
            lambda parts: formatted(text, parts[:count], dict(zip(names, parts[count:], strict=True))),
        )
    if keywords:
        return UNKNOWN
    arguments: list[object] = []
    for value in positional:
        if isinstance(value, Const):
            arguments.append(value.value)
        elif isinstance(value, Sequence) and value.exact and all(isinstance(i, Const) for i in value.items):
            arguments.append([i.value for i in value.items if isinstance(i, Const)])
        elif isinstance(value, Sequence) and value.exact and name == "join" and len(positional) == 1:
            return each_text(value.items, lambda parts: joined_text(_between(receiver, parts)))
        else:
            return UNKNOWN
    try:
        result = getattr(text, name)(*arguments)
    except Exception:  # a method may raise any exception for wrong arguments
        return UNKNOWN
    if isinstance(result, list):
        return Sequence("list", tuple(Const(item) for item in result))
    return Const(result)


def _between(separator: Const, parts: Iterable[Value]) -> list[Value]:
    """Return the parts, with a separator between every two of them."""
    found: list[Value] = []
    for part in parts:
        found += [separator, part] if found else [part]
    return found


def partial_text_method(text: PartialText, name: str, positional: Values, keywords: Keywords) -> Value:
    """Return the result of a method of a partly known text or path."""
    if text.is_path:
        if name == "joinpath":
            return ending(positional, is_path=True) or UNKNOWN
        if name == "as_posix":
            return PartialText(text.start, text.end)
        return text if name in _REWRITTEN else UNKNOWN
    given = [value.value for value in positional if isinstance(value, Const)]
    if keywords or len(given) < len(positional):
        return UNKNOWN
    if name in _LETTERS and not given:
        change: Callable[[str], str] = getattr(str, name)
        return PartialText(change(text.start), change(text.end))
    if name in ("strip", "lstrip", "rstrip") and len(given) <= 1:
        return _stripped(text, name, given[0] if given else None)
    if len(given) == 2 and name == "replace" and all(isinstance(one, str) for one in given):
        return _replaced(text, *given)
    if not given or name not in _ABOUT:
        return UNKNOWN
    return _ABOUT[name](text, given[0])


def _stripped(text: PartialText, name: str, characters: object) -> Value:
    """Return the result of `strip` or a similar method, as far as the known characters determine it."""
    if characters is not None and not isinstance(characters, str):
        return UNKNOWN
    start, end = text.start, text.end
    if name != "rstrip":
        start = start.lstrip(characters)
        end = end if start else end.lstrip(characters)
    if name != "lstrip":
        end = end.rstrip(characters)
        start = start if end else start.rstrip(characters)
    return partial(start, end)


def _replaced(text: PartialText, old: str, new: str) -> Value:
    """Return the result of `replace`; unknown if a text to replace may extend into the unknown part."""
    if not old:
        return UNKNOWN
    done, _, rest = text.start.rpartition(old) if old in text.start else ("", "", text.start)
    kept = next((n for n in range(len(rest) + 1) if old.startswith(rest[n:])), len(rest))
    start = (done + old if old in text.start else "") + rest[:kept]
    return partial(start.replace(old, new), text.end.replace(old, new) if len(old) == 1 else "")


def _startswith(text: PartialText, given: object) -> Value:
    return _any([_begins(text.start, one) for one in (given if isinstance(given, tuple) else (given,))])


def _endswith(text: PartialText, given: object) -> Value:
    wanted = given if isinstance(given, tuple) else (given,)
    return _any([_begins(text.end[::-1], one[::-1] if isinstance(one, str) else one) for one in wanted])


def _begins(known: str, wanted: object) -> bool | None:
    """Return whether a text with this known beginning starts with another text; None if unknown."""
    if not isinstance(wanted, str):
        return None
    if known.startswith(wanted):
        return True
    return None if wanted.startswith(known) else False


def _any(outcomes: list[bool | None]) -> Value:
    outcome = any_of(outcomes)
    return UNKNOWN if outcome is None else Const(outcome)


def _split(text: PartialText, separator: object) -> Value:
    """Return the result of `split`: the known parts, followed by an unknown number of others."""
    if not isinstance(separator, str) or not separator or separator not in text.start:
        return UNKNOWN
    *first, _ = text.start.split(separator)
    return Sequence(STARTED, (*map(Const, first), UNKNOWN), exact=False, doubtful=False)


def _partition(text: PartialText, separator: object) -> Value:
    if not isinstance(separator, str) or not separator or separator not in text.start:
        return UNKNOWN
    before, _, after = text.start.partition(separator)
    return Sequence("tuple", (Const(before), Const(separator), partial(after, text.end)))


def _removeprefix(text: PartialText, prefix: object) -> Value:
    begins = _begins(text.start, prefix)
    if begins is None or not isinstance(prefix, str):
        return UNKNOWN
    return partial(text.start.removeprefix(prefix), text.end)


def _removesuffix(text: PartialText, suffix: object) -> Value:
    if not isinstance(suffix, str) or _begins(text.end[::-1], suffix[::-1]) is None:
        return UNKNOWN
    return partial(text.start, text.end.removesuffix(suffix))


_ABOUT: dict[str, Callable[[PartialText, object], Value]] = {
    "endswith": _endswith,
    "partition": _partition,
    "removeprefix": _removeprefix,
    "removesuffix": _removesuffix,
    "split": _split,
    "startswith": _startswith,
}
