"""Models of paths: how they end is often known, where they begin never is."""

from __future__ import annotations

import posixpath

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, Model
from coldfork.source.values.kinds import Const, Keywords, Value
from coldfork.source.values.texts import Ending, ending


def _join(ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """`os.path.join` and `Path(...)`: the last part is the end."""
    texts = [part.value for part in positional if isinstance(part, Const) and isinstance(part.value, str)]
    if texts and len(texts) == len(positional):
        return Const(posixpath.join(*texts))
    return ending(positional)


def _same(ev: Interpreter, frame: Frame, positional: tuple[Value, ...], keywords: Keywords) -> Value | None:
    """What makes a path absolute, or writes it in another way, leaves its end."""
    only = positional[0] if len(positional) == 1 else None
    return only if isinstance(only, Ending) else None


PATHS: dict[str, Model] = {
    "os.path.join": _join,
    "posixpath.join": _join,
    "pathlib.Path": _join,
    "pathlib.PurePath": _join,
    "os.fspath": _same,
    "os.path.abspath": _same,
    "os.path.expanduser": _same,
    "os.path.normpath": _same,
    "os.path.realpath": _same,
}
