"""Models of paths: how they end is often known, where they begin never is."""

from __future__ import annotations

import posixpath

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.values.kinds import Const, Keywords, Value
from coldfork.source.values.texts import PartialText, ending


def _join(ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`os.path.join`: the last part is the end."""
    texts = [part.value for part in positional if isinstance(part, Const) and isinstance(part.value, str)]
    if texts and len(texts) == len(positional):
        return Const(posixpath.join(*texts))
    return ending(positional)


def _path(ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`Path(...)`."""
    whole = _join(ev, frame, positional, keywords)
    return whole if isinstance(whole, Const) else ending(positional, is_path=True)


def _same(ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """What makes a path absolute, or writes it in another way, leaves its end."""
    only = positional[0] if len(positional) == 1 else None
    return only if isinstance(only, PartialText) else None


def _text(ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """A path as the text that it is written as."""
    only = positional[0] if len(positional) == 1 else None
    return PartialText(only.start, only.end) if isinstance(only, PartialText) else None


PATHS: dict[str, Model] = {
    "os.path.join": _join,
    "posixpath.join": _join,
    "pathlib.Path": _path,
    "pathlib.PurePath": _path,
    "os.fspath": _text,
    "os.path.abspath": _same,
    "os.path.expanduser": _same,
    "os.path.normpath": _same,
    "os.path.realpath": _same,
}
