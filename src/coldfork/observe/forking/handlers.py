"""Find out who will catch an error being raised: the program, or a package that called the program.

A server that calls an application catches its errors, answers with an error, and continues. If only the
server catches an error, it has left the program, even if the process later ends well.
"""

from __future__ import annotations

import builtins

from coldfork.observe.installation import is_of_a_package, is_of_the_library
from coldfork.observe.late_imports import LATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from dis import Instruction
    from types import FrameType
    from typing import Any

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_CONST")
_MATCHES = "CHECK_EXC_MATCH"


def leaves_the_program(error: BaseException, frame: FrameType | None) -> bool:
    """Return whether an error raised in this frame will leave the program's code for a package that calls it.

    Return False if the program catches it, or a package that the program called. Also return False if only
    the standard library catches it, because that may return it to the program, as a future does.
    """
    LATE.load("dis")
    passed_own = False
    while frame is not None:
        file = frame.f_code.co_filename
        is_package = is_of_a_package(file)
        if catches(error, frame):
            return passed_own and is_package
        passed_own = passed_own or not (is_package or is_of_the_library(file))
        frame = frame.f_back
    return False


def catches(error: BaseException, frame: FrameType) -> bool:
    """Return whether this frame is inside a `try` that has an `except` for the error."""
    import dis

    entries = dis._parse_exception_table(frame.f_code)  # type: ignore[attr-defined]
    if not entries:
        return False
    code = {one.offset: one for one in dis.get_instructions(frame.f_code)}
    at = frame.f_lasti
    for _ in range(len(entries)):
        handler = next((one.target for one in entries if one.start <= at < one.end), None)
        if handler is None or handler == at:
            return False
        if _has_clause(error, frame, code, handler):
            return True
        # A `finally` or the end of a `with` raises the error again, from the handler's position.
        at = handler
    return False


def _has_clause(
    error: BaseException, frame: FrameType, code: Mapping[int, Instruction], handler: int
) -> bool:
    """Return whether a handler has a clause for the error; a clause that cannot be read counts as one."""
    rest = _from(code, handler)
    if next(rest).opname != "PUSH_EXC_INFO":
        return False
    clause: int | None = None
    while True:
        types, after = _types(rest if clause is None else _from(code, clause), frame)
        if after is None:
            return False
        if after.opname != _MATCHES:
            # A bare `except` begins by dropping the error from the stack; a `finally` begins with its body.
            return after.opname == "POP_TOP" and not types
        if any(one is None or _is_for(one, error) for one in types):
            return True
        jump = next(one for one in _from(code, after.offset) if "JUMP" in one.opname)
        clause = jump.argval


def _types(code: Iterator[Instruction], frame: FrameType) -> tuple[list[Any], Instruction | None]:
    """Return the types that a clause names, with None for unknown ones, and the instruction that follows."""
    names: Mapping[str, Any] = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    types: list[Any] = []
    for one in code:
        if one.opname in _LOADS:
            types.append(names.get(str(one.argval)) if one.opname != "LOAD_CONST" else one.argval)
        elif one.opname == "LOAD_ATTR" and types:
            types[-1] = getattr(types[-1], str(one.argval), None)
        elif one.opname not in ("BUILD_TUPLE", "NOP", "CACHE"):
            return types, one
    return types, None


def _is_for(kind: Any, error: BaseException) -> bool:
    try:
        return isinstance(error, kind)
    except TypeError:
        return True


def _from(code: Mapping[int, Instruction], offset: int) -> Iterator[Instruction]:
    return (one for place, one in code.items() if place >= offset)
