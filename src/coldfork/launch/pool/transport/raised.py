"""An exception on its way from the worker that it was raised in to the caller that is to see it."""

from __future__ import annotations

import pickle
import traceback

from coldfork.launch.pool.errors import RemoteError, RemoteTraceback
from coldfork.launch.pool.transport.payloads import Payload, pack, unpack
from coldfork.launch.pool.transport.pickling import by_reference


def raised(error: BaseException) -> Payload:
    """An exception as it travels, with where it was raised.

    One that cannot be pickled, or not unpickled again, travels as its name and its words.
    """
    text = "".join(traceback.format_exception(error))
    return pack((_pickled(error), _named(error), text))


def arrived(data: bytes, memory: int) -> BaseException:
    """The exception that a worker has sent."""
    content, named, text = unpack(data, memory)
    error: BaseException
    try:
        if content is None:
            raise pickle.UnpicklingError
        error = pickle.loads(content)
    except BaseException:
        error = RemoteError(f"the task raised {named}, which cannot be handed over to this process")
    error.__cause__ = RemoteTraceback(f'\n"""\n{text}"""')
    return error


def _pickled(error: BaseException) -> bytes | None:
    try:
        content = by_reference(error)
        if not isinstance(pickle.loads(content), BaseException):
            return None
    except BaseException:
        return None
    return content


def _named(error: BaseException) -> str:
    try:
        said = str(error)
    except Exception:
        said = ""
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    return f"{name}: {said}" if said else name
