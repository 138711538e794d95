"""Turn events into lines and lines into events, without the `json` package.

Importing `json` loads `re`, `enum` and a dozen more modules. A watched program may not have needed them yet,
and its own imports of them would then be missing from the recording. The C code behind `json` is enough here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Event = dict[str, Any]
    #: An import that has ended, with the fields in the order of `IMPORT`.
    Ended = tuple[str, str | None, float, float, str | None, float, int, int]
    Sink = Callable[[Event], None]


IMPORT = ("module", "path", "start", "seconds", "parent", "t", "pid", "tid")
"""The keys of an import in a recording."""
_IMPORT = (
    '{"event":"import","module":%s,"path":%s,"start":%de-6,"seconds":%de-6,'
    '"parent":%s,"t":%de-6,"pid":%d,"tid":%d}\n'
)


def as_event(state: Any) -> Event:
    """Return a state in a recording's form."""
    if isinstance(state, dict):
        return state
    names = ("accelerator", "status", "level", "reason", "library")
    return {name: getattr(state, name, None) for name in names}


def encode(event: Event) -> bytes:
    """Return one event as one line, ASCII only; values that JSON cannot hold are written as their text."""
    return encoder()(event)


def encoder() -> Callable[[Event], bytes]:
    """Return the function that `encode` calls, for repeated use."""
    pieces, join = _encoder(), "".join

    def encode(event: Event) -> bytes:
        return (join(pieces(event, 0)) + "\n").encode("ascii")

    return encode


def import_encoder() -> Callable[[Iterable[Ended]], bytes]:
    """Return a fast function that encodes ended imports as lines, of which there are thousands."""
    quoted, join = _quoter(), "".join

    def encode(ended: Iterable[Ended]) -> bytes:
        # In whole microseconds, because formatting a float takes a microsecond by itself.
        lines = [
            _IMPORT
            % (
                quoted(module),
                "null" if path is None else quoted(path),
                start * 1e6,
                seconds * 1e6,
                "null" if parent is None else quoted(parent),
                at * 1e6,
                pid,
                tid,
            )
            for module, path, start, seconds, parent, at, pid, tid in ended
        ]
        return join(lines).encode("ascii")

    return encode


def as_events(ended: Iterable[Ended]) -> list[Event]:
    """Return ended imports as events, for sinks that write no lines."""
    return [{"event": "import", **dict(zip(IMPORT, one, strict=True))} for one in ended]


def decode(text: str) -> Any:
    """Return the value of a JSON text; raise `ValueError` if the text is not JSON."""
    try:
        value, end = _scanner()(text, 0)
    except (StopIteration, SystemError):
        # The C code raises these because `json`, which has the proper error class, is not loaded.
        raise ValueError("not a JSON value") from None
    if text[end:].strip():
        raise ValueError("text follows the JSON value")
    return value


def read(data: bytes) -> tuple[list[Event], bool]:
    """Return the events of a recording up to where it was cut, and whether every line could be read.

    If a line in the middle is unreadable, because the disk was full or a process was killed, only that line
    is lost.
    """
    events: list[Event] = []
    whole = True
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            event = decode(line.decode("ascii"))
        except ValueError:
            whole = False
            continue
        if isinstance(event, dict):
            events.append(event)
        else:
            whole = False
    return events, whole


class _Reading:
    """The options of the C scanner, which reads them from attributes of these names."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str]

    def __init__(self) -> None:
        self.memo = {}


def _quoter() -> Callable[[str], str]:
    try:
        import _json

        quoted: Any = _json.encode_basestring_ascii
        return quoted  # type: ignore[no-any-return]
    except (ImportError, AttributeError):
        import json

        return json.encoder.encode_basestring_ascii


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        import _json

        scanner: Any = _json.make_scanner
        return scanner(_Reading())  # type: ignore[no-any-return]
    except (ImportError, AttributeError, TypeError):  # an interpreter without the C code
        import json

        return json.JSONDecoder().raw_decode


def _encoder() -> Callable[[Any, int], Any]:
    try:
        import _json

        encoder: Any = _json.make_encoder
        return encoder(  # type: ignore[no-any-return]
            None, str, _json.encode_basestring_ascii, None, ":", ",", False, True, True
        )
    except (ImportError, AttributeError, TypeError):
        import json

        whole = json.JSONEncoder(default=str, skipkeys=True, separators=(",", ":"))
        return lambda value, _: whole.encode(value)
