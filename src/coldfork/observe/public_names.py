"""Describe a module's public names and their values, so that copies of the module can be compared."""

from __future__ import annotations

import sys

from coldfork.observe.recording import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    #: A value in words, and whether they describe it completely; of many objects they give only the type.
    Told = tuple[str, bool]

_PLAIN = frozenset({"bool", "bytes", "complex", "ellipsis", "float", "int", "NoneType", "range", "str"})
_LONGEST = 160
_DEEPEST = 4
_MOST = 200


def told(name: str, asked: Iterable[str], root: str) -> dict[str, Told]:
    """Return the described values of an imported module's public names, and of the names in `asked`.

    `root` is the folder of the copy, which is removed from paths.
    """
    module = sys.modules[name]
    listed = getattr(module, "__all__", ())
    names = [*vars(module), *(each for each in listed if isinstance(each, str)), *asked]
    found = {}
    for each in dict.fromkeys(names):
        if each.startswith("_") and each not in listed:
            continue
        try:
            text, is_exact = _described(getattr(module, each), name, 0)
        except AttributeError:
            continue
        except BaseException as error:
            text, is_exact = f"raises {type(error).__name__}", True
        found[each] = _short(redaction.text(text.replace(root, ""))), is_exact
    return found


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    from hashlib import blake2b

    sign = blake2b(text.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()
    return f"{text[:_LONGEST]}... ({len(text)} characters, {sign})"


def _described(value: object, module: str, depth: int) -> Told:
    kind = type(value)
    if kind.__module__ == "builtins" and kind.__name__ in _PLAIN:
        return repr(value), True
    if depth < _DEEPEST and kind in (list, tuple, set, frozenset, dict):
        return _of_container(value, module, depth)
    if kind.__name__ == "module":
        return f"the module {getattr(value, '__name__', '')}", True
    if isinstance(value, type):
        return _of_class(value, module, depth)
    code = getattr(value, "__code__", None)
    if code is not None:
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        return f"the function {getattr(value, '__qualname__', code.co_name)}({', '.join(named)})", True
    of_type = f"{kind.__module__}.{kind.__qualname__}"
    if kind.__repr__ is object.__repr__:
        return f"an object of {of_type}", False
    text = repr(value)
    # Removed, because addresses differ in every process.
    return (f"an object of {of_type}", False) if " at 0x" in text else (f"{of_type}: {text}", True)


def _of_container(value: object, module: str, depth: int) -> Told:
    kind = type(value).__name__
    if isinstance(value, dict):
        pairs = list(value.items())
        keys = _each([key for key, _ in pairs[:_MOST]], module, depth)
        values = _each([held for _, held in pairs[:_MOST]], module, depth)
        inside = [f"{key}: {held}" for (key, _), (held, _) in zip(keys, values, strict=True)]
        parts = [*keys, *values]
        size = len(pairs)
    else:
        every = list(value)  # type: ignore[call-overload]
        parts = _each(every[:_MOST], module, depth)
        inside = [text for text, _ in parts]
        size = len(every)
        if kind in ("set", "frozenset"):
            inside.sort()
    more = [f"and {size - _MOST} more"] if size > _MOST else []
    return f"{kind}({', '.join([*inside, *more])})", not more and all(exact for _, exact in parts)


def _each(values: Sequence[object], module: str, depth: int) -> list[Told]:
    return [_described(each, module, depth + 1) for each in values]


def _of_class(value: type, module: str, depth: int) -> Told:
    """Return the description of a class: its name and, if it is the module's own, its public attributes."""
    name = f"the class {value.__module__}.{value.__qualname__}"
    if value.__module__ != module or depth:
        return name, True
    inside, all_exact = [], True
    for each in sorted(vars(value)):
        if each.startswith("_"):
            continue
        try:
            text, is_exact = _described(getattr(value, each), module, depth + 1)
        except BaseException as error:
            text, is_exact = f"raises {type(error).__name__}", True
        inside.append(f"{each} = {text}")
        all_exact = all_exact and is_exact
    return f"{name}: {', '.join(inside)}" if inside else name, all_exact
